"""The agent's root: the part of this package that a rented machine needs, and what it needs itself, in one archive.

The machine has a Python and nothing else. The archive is named by its content and written once: a launch's record names it,
so that attempt 7 runs the agent of attempt 1.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from outlast.errors import OutlastError, PreconditionFailed
from outlast.folder import layout
from outlast.store.store import Store

PARTS = (
    "__init__.py",
    "agent",
    "bundle",
    "clock.py",
    "dataclass.py",
    "engines",
    "errors.py",
    "folder",
    "google",
    "host",
    "machine",
    "pattern.py",
    "results",
    "spec",
    "store",
    "training",
)
NEEDED = ("urllib3",)
WELCOME = ("certifi",)
"""A machine has certificates of its own; where it has none, these are there."""

EPOCH = (1980, 1, 1, 0, 0, 0)
FILE_MODE = 0o644 << 16


def ship_agent(store: Store, cache: Path, *, testing: bool = False) -> str:
    """The digest of `agents/<digest>`, which is in the home afterwards. `testing`: with the programs that stand for the agent."""
    data = archive(cache, (*PARTS, "testing") if testing else PARTS)
    digest = hashlib.sha256(data).hexdigest()
    try:
        store.put(layout.agent(digest), data, if_generation=0)
    except PreconditionFailed:
        pass  # shipped before, by us or by somebody with the same version
    return digest


def archive(cache: Path, parts: Sequence[str] = PARTS) -> bytes:
    """Packed once per state of what is installed here."""
    files = dict(sorted(_files(parts)))
    state = hashlib.sha256("\n".join(f"{name} {_stamp(path)}" for name, path in files.items()).encode()).hexdigest()
    kept = cache / f"agent-{state[:16]}.zip"
    try:
        return kept.read_bytes()
    except OSError:
        pass
    data = _pack(files)
    temporary = cache / f".agent-{os.getpid()}"
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(kept)
    except OSError:
        pass  # packed again next time
    return data


def _files(parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name in the archive -> path."""
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    for part in parts:
        yield from _below(os.path.join(package, part), f"outlast/{part}")
    for name in (*NEEDED, *WELCOME):
        found = find_spec(name)
        if found is None or found.origin is None:
            if name in NEEDED:
                raise OutlastError(f"`{name}`, which a machine's agent needs, is not installed here")
            continue
        yield from _below(os.path.dirname(found.origin), name)


def _below(path: str, name: str) -> Iterator[tuple[str, str]]:
    """By text: hundreds of them are looked at with every launch."""
    if os.path.isfile(path):
        yield name, path
        return
    with os.scandir(path) as entries:
        for entry in entries:
            inside = f"{name}/{entry.name}"
            if not entry.is_dir():
                yield inside, entry.path
            elif entry.name != "__pycache__":
                yield from _below(entry.path, inside)


def _stamp(path: str) -> str:
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _pack(files: dict[str, str]) -> bytes:
    import zipfile  # once for each state

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, path in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = FILE_MODE
            packed.writestr(entry, Path(path).read_bytes(), zipfile.ZIP_DEFLATED)
    return made.getvalue()
