"""What a machine boots: a family, an image or `PROJECT/FAMILY` becomes the one image that it means now."""

from __future__ import annotations

from typing import Any

from outlast.catalog.table import Catalog
from outlast.dataclass import dataclass
from outlast.errors import Denied, NotFound, UsageError
from outlast.google.compute import ComputeClient
from outlast.google.errors import ApiError, is_off
from outlast.google.transport import Transport
from outlast.google.wire import NoAnswer
from outlast.pattern import pattern
from outlast.spec.names import shown

_WHOLE = pattern(r"(?:.*/)?projects/(?P<project>[^/]+)/global/images/(?P<family>family/)?(?P<name>[^/]+)")
ENVIRONMENT_LABEL, PYTHON_LABEL = "outlast-environment", "outlast-python"
ARCHITECTURES = {"X86_64": "x86_64", "ARM64": "arm64", "": ""}


@dataclass(frozen=True)
class Image:
    path: str
    """`projects/P/global/images/NAME`."""

    disk_gb: int
    """The least that its disk must have."""

    architecture: str
    """Empty: it does not say."""

    family: str = ""
    note: str = ""
    python: str = ""
    """Of the environment that `outlast image build` has put into it; empty: it has none."""


def find_image(transport: Transport, catalog: Catalog, project: str, text: str) -> Image:
    """NotFound: it is neither a family nor an image; the answer says where was looked."""
    looked = []
    for owner, family, name in _readings(catalog, project, text):
        client = ComputeClient(transport, owner)
        try:
            found = client.get_image_of_family(name) if family else client.get_image(name)
        except (ApiError, NoAnswer) as error:
            status = error.status if isinstance(error, ApiError) else 0
            if status == 404 or (status == 403 and owner != project and not _off(error)):
                looked.append(f"{'family' if family else 'image'} `{owner}/{name}`")
                continue
            told = transport.explain(error, f"image `{owner}/{name}`")
            if status == 403 and not _off(error):
                raise Denied(told.message, hint="`outlast doctor` says which right is missing") from error
            raise told from error
        return _image(found, owner)
    raise NotFound(
        f"there is no image {shown(text)}" + (f": neither {' nor '.join(looked)}" if len(looked) > 1 else ""),
        hint=f"`--image {catalog.image}`, or `gcloud compute images list` for others",
    )


def _off(error: ApiError | NoAnswer) -> bool:
    """A project whose API is off may not even ask for what is everybody's."""
    return isinstance(error, ApiError) and is_off(error)


def _readings(catalog: Catalog, project: str, text: str) -> list[tuple[str, bool, str]]:
    """(project, whether a family is meant, name): what it may mean, in the order in which it is looked for."""
    whole = _WHOLE.fullmatch(text)
    if whole:
        return [(whole["project"], bool(whole["family"]), whole["name"])]
    owner, slash, name = text.partition("/")
    if slash and (not owner or not name or "/" in name):
        raise UsageError(
            f"{shown(text)} is no image", hint="a family, an image, `PROJECT/FAMILY`, or `projects/P/global/images/I`"
        )
    if slash:
        return [(owner, True, name), (owner, False, name)]
    known = [(catalog.images[text], True, text)] if text in catalog.images else []
    return [(project, True, text), (project, False, text), *known]


def _image(document: dict[str, Any], owner: str) -> Image:
    name = str(document.get("name", ""))
    state = document.get("deprecated", {}).get("state", "")
    return Image(
        path=f"projects/{owner}/global/images/{name}",
        disk_gb=int(document.get("diskSizeGb", 0) or 0),
        architecture=ARCHITECTURES.get(str(document.get("architecture", "")), ""),
        family=str(document.get("family", "")),
        python=_python(document.get("labels", {})),
        note=f"image `{owner}/{name}` is {state.lower()}" if state not in ("", "ACTIVE") else "",
    )


def _python(labels: dict[str, str]) -> str:
    """Labels have no dots."""
    return str(labels.get(PYTHON_LABEL, "")).replace("-", ".") if labels.get(ENVIRONMENT_LABEL) else ""
