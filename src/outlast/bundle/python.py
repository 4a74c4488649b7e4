"""Which Python a job uses: the one that the user works with, never the tool's own by accident."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outlast.errors import UsageError

VERSION_MIN = (3, 10)
ASK_SECONDS_MAX = 30.0


@dataclass(frozen=True)
class Interpreter:
    path: str
    why: str
    version: str


def choose_python(directory: Path, environ: Mapping[str, str]) -> Interpreter:
    """`$VIRTUAL_ENV`, `$CONDA_PREFIX`, `./.venv`, `python3` on the PATH: the first that is there."""
    for path, why in _candidates(directory, environ):
        if os.access(path, os.X_OK):
            return Interpreter(path, why, _checked_version(path))
    raise UsageError(
        "no Python was found for the job",
        hint="activate an environment, make `./.venv`, or put `python3` on the PATH",
    )


def _candidates(directory: Path, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environ.get(name):
            found.append((str(Path(environ[name]) / "bin" / "python"), f"${name}"))
    found.append((str(directory / ".venv" / "bin" / "python"), "./.venv"))
    on_path = _on_path(environ)
    if on_path:
        found.append((on_path, "python3 on the PATH"))
    found.append((sys.executable, "outlast's own, there is no other"))
    return found


def _on_path(environ: Mapping[str, str]) -> str | None:
    """Passing over the tool's own environment, which may stand first on the PATH of a pipx or uv installation."""
    own = os.path.join(sys.prefix, "bin") if sys.prefix != sys.base_prefix else ""
    directories = [one for one in environ.get("PATH", os.defpath).split(os.pathsep) if one and one != own]
    return shutil.which("python3", path=os.pathsep.join(directories))


def _checked_version(path: str) -> str:
    version = _recorded_version(path) or _asked_version(path)
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if numbers < VERSION_MIN:
        needed = ".".join(str(part) for part in VERSION_MIN)
        raise UsageError(f"`{path}` is Python {version}, a job needs {needed} or newer", hint="activate another environment")
    return version


def _recorded_version(path: str) -> str:
    """As an environment's own pyvenv.cfg has it: nothing needs to be run."""
    try:
        lines = (Path(path).parent.parent / "pyvenv.cfg").read_text().splitlines()
    except OSError:
        return ""
    for line in lines:
        name, _, value = line.partition("=")
        if name.strip() in ("version", "version_info"):
            parts = value.strip().split(".")
            if len(parts) >= 2 and all(part.isdigit() for part in parts[:2]):
                return ".".join(part for part in parts[:3] if part.isdigit())
    return ""


def _asked_version(path: str) -> str:
    if os.path.realpath(path) == os.path.realpath(sys.executable):
        return ".".join(str(part) for part in sys.version_info[:3])
    ask = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    try:
        answer = subprocess.run(
            [path, "-I", "-S", "-c", ask], capture_output=True, text=True, timeout=ASK_SECONDS_MAX, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"`{path}` cannot be run: {error}", hint="activate another environment") from error
    return answer.stdout.strip()
