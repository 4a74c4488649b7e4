"""Secrets in Google's Secret Manager: kept there, listed, deleted, and named in a spec by the number of their version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from outlast.errors import Denied, NotFound, OutlastError, UsageError
from outlast.google.connect import connect
from outlast.google.errors import ApiError
from outlast.google.project_apis import ProjectApis
from outlast.google.secrets import SecretApi
from outlast.google.wire import NoAnswer
from outlast.jobs import roles
from outlast.jobs.cloud import Cloud
from outlast.pattern import pattern
from outlast.spec.secrets import LATEST, Reference, parse_reference

LABEL = ("outlast", "1")
_NAME = pattern(r"[A-Za-z0-9_-]{1,255}", re.ASCII)


def pinned_version(text: str) -> str:
    """Every attempt of a job has the same value: the newest version is looked up once, and named by its number."""
    reference = parse_reference(text, Path("/"))
    if not reference.what.endswith(f"/{LATEST}"):
        return text
    manager = SecretApi(connect())
    try:
        found = manager.find_version(reference.what)
    except (ApiError, NoAnswer) as error:
        explained = manager.transport.explain(error, f"secret `{reference}`")
        explained.state = "nothing was started, nothing is being spent"
        explained.hint = _hint(reference, explained)
        raise explained from error
    version = str(found["name"]).rpartition("/")[2]
    return str(Reference(reference.kind, f"{reference.what.rpartition('/')[0]}/{version}"))


def set_secret(cloud: Cloud, name: str, value: str) -> str:
    """Keeps a new version of it, which machines may read and nobody else who could not before; the reference to it."""
    check_cloud_name(name)
    manager = SecretApi(cloud.transport)
    secret = f"projects/{cloud.project}/secrets/{name}"
    runner = ProjectApis(cloud.transport, cloud.project).account_email(roles.RUNNER_ACCOUNT)
    try:
        manager.create(cloud.project, name, dict([LABEL]), cloud.region)
        # Before the value: a death in between leaves a secret without one, which the next call completes.
        manager.bind(secret, roles.SECRET_ROLE, f"serviceAccount:{runner}")
        manager.add(secret, value.encode())
    except (ApiError, NoAnswer) as error:
        explained = cloud.transport.explain(error, f"keeping secret `{name}` in project `{cloud.project}`")
        if isinstance(error, ApiError) and error.status == 400:
            explained.hint = f"`outlast init` makes `{runner}`, who is to read it"
        raise explained from error
    return f"sm:{secret}"


def list_secrets(cloud: Cloud) -> Iterator[str]:
    try:
        for one in SecretApi(cloud.transport).list(cloud.project, "=".join(LABEL)):
            yield str(one["name"]).rpartition("/")[2]
    except (ApiError, NoAnswer) as error:
        raise cloud.transport.explain(error, f"the secrets of project `{cloud.project}`") from error


def delete_secrets(cloud: Cloud, names: tuple[str, ...]) -> None:
    """With all their versions: a job that is started again will miss them. Only those that outlast has made."""
    known = set(list_secrets(cloud))
    for name in names:
        if check_cloud_name(name) not in known:
            listed = ", ".join(f"`{one}`" for one in sorted(known)) or "none"
            raise NotFound(
                f"outlast has kept no secret `{name}` in project `{cloud.project}`; there are {listed}",
                state="nothing was deleted",
            )
    manager = SecretApi(cloud.transport)
    for name in names:
        try:
            manager.delete(f"projects/{cloud.project}/secrets/{name}")
        except (ApiError, NoAnswer) as error:
            raise cloud.transport.explain(error, f"deleting secret `{name}`") from error


def check_cloud_name(name: str) -> str:
    if _NAME.fullmatch(name):
        return name
    raise UsageError(
        "a secret's name in Secret Manager has at most 255 letters, digits, `_` and `-`, and this is none",
        hint="`outlast secret set HF_TOKEN --on compute`",
    )


def _hint(reference: Reference, error: OutlastError) -> str:
    _, project, _, name, *_ = reference.what.split("/")
    if isinstance(error, Denied):
        return f"name its version, as in `.../{name}/versions/1`: then it need not be looked up"
    if isinstance(error, NotFound):
        return f"`outlast secret set {name} --on compute --project {project}`"
    return error.hint
