"""The agent's root: the part of this package that a rented machine needs, and what it needs itself, in one archive.

The machine has a Python and nothing else. The archive is named by its content and written once: a launch's record names it,
so that attempt 7 runs the agent of attempt 1.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
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


def _files(parts: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Name in the archive -> path."""
    package = Path(__file__).resolve().parent.parent
    for part in parts:
        yield from _below(package / part, f"outlast/{part}")
    for name in (*NEEDED, *WELCOME):
        found = find_spec(name)
        if found is None or found.origin is None:
            if name in NEEDED:
                raise OutlastError(f"`{name}`, which a machine's agent needs, is not installed here")
            continue
        yield from _below(Path(found.origin).parent, name)


def _below(path: Path, name: str) -> Iterator[tuple[str, Path]]:
    if path.is_file():
        yield name, path
        return
    for at, directories, files in os.walk(path):
        directories[:] = [one for one in directories if one != "__pycache__"]
        inside = f"{name}{at.removeprefix(str(path))}".replace(os.sep, "/")
        for file in files:
            yield f"{inside}/{file}", Path(at, file)


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _pack(files: dict[str, Path]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, path in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = FILE_MODE
            packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return made.getvalue()
