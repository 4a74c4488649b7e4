"""What an interpreter knows about itself, asked once and remembered as long as it stays as it is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from outlast.bundle.environment.ask import ASK_ERRORS, ask, keep, recall
from outlast.dataclass import dataclass
from outlast.errors import UsageError

QUESTION = """
import json, os, sys
base = getattr(sys, "_base_executable", None) or sys.executable
if sys.prefix == sys.base_prefix:
    base = sys.executable
stdlib = {os.path.realpath(os.path.dirname(os.__file__))}
system = os.uname()
paths = [path for path in sys.path if os.path.isabs(path) and not path.endswith(".zip")]
print(json.dumps({
    "version": ".".join(map(str, sys.version_info[:3])),
    "base": os.path.realpath(base),
    "stdlib": sorted(set(sys.stdlib_module_names) | set(sys.builtin_module_names)),
    "paths": [path for path in paths if os.path.realpath(path) not in stdlib and not path.endswith("lib-dynload")],
    "platform": "%s-%s" % (system.sysname.lower(), system.machine),
}))
"""


@dataclass(frozen=True)
class Facts:
    version: str
    base: str
    """The interpreter that environments are made of: that of an environment is the one that it was made of itself."""

    stdlib: tuple[str, ...]
    paths: tuple[str, ...]
    """Where its packages lie."""

    platform: str

    @property
    def minor(self) -> str:
        return ".".join(self.version.split(".")[:2])


def facts_of(python: str, cache: Path | None, meanwhile: Callable[[], None] = lambda: None) -> Facts:
    """Runs it if it has changed since it was asked last, and not otherwise; `meanwhile` is called while it runs."""
    state = _state(python)
    kept = cache / "interpreters" / f"{hashlib.sha256(state.encode()).hexdigest()[:32]}.json" if cache else None
    if kept is not None and (answer := recall(kept)) is not None:
        try:
            return _read(answer)
        except (TypeError, KeyError):
            pass  # asked again
    try:
        document = ask(python, QUESTION, meanwhile=meanwhile)
        facts = _read(document)
    except (*ASK_ERRORS, KeyError, TypeError) as error:
        raise UsageError(f"`{python}` does not answer: {error}", hint="activate another environment") from error
    if kept is not None:
        keep(kept, document)
    return facts


def _state(python: str) -> str:
    """Changes when the interpreter, its environment's description, or what starts with it does."""
    parts = [python]
    for path in (python, os.path.realpath(python), os.path.join(os.path.dirname(python), "..", "pyvenv.cfg")):
        try:
            status = os.stat(path)
        except OSError:
            parts.append("-")
        else:
            parts.append(f"{path} {status.st_mtime_ns} {status.st_size}")
    return "\n".join(parts)


def _read(document: dict[str, object]) -> Facts:
    version, base, platform = (document[name] for name in ("version", "base", "platform"))
    stdlib, paths = document["stdlib"], document["paths"]
    if not (isinstance(version, str) and isinstance(base, str) and isinstance(platform, str)):
        raise TypeError("no text")
    if not (isinstance(stdlib, list) and isinstance(paths, list)):
        raise TypeError("no list")
    return Facts(version, base, tuple(map(str, stdlib)), tuple(map(str, paths)), platform)
