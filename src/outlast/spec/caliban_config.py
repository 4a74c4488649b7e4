"""`.calibanconfig.json`: what another tool's projects say about their images, as far as it still means something."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.plain_file import read_plain

NAME = ".calibanconfig.json"
BYTES_MAX = 1 << 20
MODES = ("cpu", "gpu")

MEANINGLESS: Mapping[str, str] = {
    "build_time_credentials": "no credential is ever put into an image",
    "julia_version": "no Julia is installed; `--dockerfile` can",
    "mlflow_config": "no MLflow proxy is started; metrics are kept with the job",
    "uv": "no MLflow proxy is started; metrics are kept with the job",
}
"""Key -> why it has no meaning any more."""

_COMMENTS = pattern(r'("(?:\\.|[^"\\])*")|#[^\n]*|//[^\n]*|/\*.*?\*/', re.DOTALL)


@dataclass(frozen=True)
class CalibanConfig:
    path: Path
    base_image: str = ""
    """As `--base-image` takes it."""

    apt_packages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By variant."""

    default_mode: str = ""
    project: str = ""
    cloud_key: str = ""
    notes: tuple[str, ...] = ()
    content: bytes = b""

    def is_trusted(self, user_dir: Path) -> bool:
        """Whether it may say who pays, and with which key."""
        from outlast.spec.trust import is_trusted

        return is_trusted(self.path, self.content, user_dir)


def find_caliban_config(directory: Path) -> CalibanConfig | None:
    """Of that very directory. `UsageError`, naming the file, for what cannot be read."""
    path = directory / NAME
    try:
        content = read_plain(path, BYTES_MAX)
        text = content.decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"`{path}` cannot be read: {error}") from error
    try:
        document = json.loads(_COMMENTS.sub(lambda found: found[1] or " ", text))
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"`{path}` is no JSON: {error}", hint="`#` and `//` begin comments; all else is JSON"
        ) from None
    if not isinstance(document, dict):
        raise _wrong(path, "the file", document, "an object")
    return replace(_read(path, document), content=content)


def _read(path: Path, document: Mapping[str, Any]) -> CalibanConfig:
    notes = [f"`{NAME}`: `{key}` means nothing here: {why}" for key, why in MEANINGLESS.items() if key in document]
    known = {"base_image", "apt_packages", "default_mode", "gcloud", *MEANINGLESS}
    notes += [f"`{NAME}`: `{key}` is not known, and left out" for key in sorted(document.keys() - known)]
    mode = document.get("default_mode", "")
    if mode != "" and (not isinstance(mode, str) or mode.strip().lower() not in MODES):
        raise _wrong(path, "default_mode", mode, '"cpu" or "gpu"')
    google = document.get("gcloud", {})
    if not isinstance(google, dict):
        raise _wrong(path, "gcloud", google, "an object")
    return CalibanConfig(
        path,
        _base_image(path, document.get("base_image", "")),
        _apt_packages(path, document.get("apt_packages", [])),
        mode.strip().lower(),
        _text(path, "gcloud.project_id", google.get("project_id", "")),
        _text(path, "gcloud.cloud_key", google.get("cloud_key", "")),
        tuple(notes),
    )


def _base_image(path: Path, value: Any) -> str:
    if isinstance(value, dict) and value and all(key in MODES and isinstance(one, str) for key, one in value.items()):
        return ",".join(f"{key}={one}" for key, one in sorted(value.items()))
    if isinstance(value, dict):
        raise _wrong(path, "base_image", value, 'a name, or {"cpu": NAME, "gpu": NAME}')
    return _text(path, "base_image", value)


def _apt_packages(path: Path, value: Any) -> dict[str, tuple[str, ...]]:
    by_mode = value if isinstance(value, dict) else dict.fromkeys(MODES, value)
    for key, packages in by_mode.items():
        if key not in MODES or not isinstance(packages, list) or not all(isinstance(one, str) for one in packages):
            raise _wrong(path, "apt_packages", value, 'a list of names, or {"cpu": [...], "gpu": [...]}')
    return {mode: tuple(by_mode.get(mode, ())) for mode in MODES}


def _text(path: Path, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(path, key, value, "text")
    return value


def _wrong(path: Path, key: str, value: Any, legal: str) -> UsageError:
    return UsageError(f"`{path}`: {key} is {json.dumps(value)[:100]}", hint=f"it is to be {legal}")
