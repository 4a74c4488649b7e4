"""The trainer's root: the part of this package that travels to the script, and alone is on its PYTHONPATH."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

PARTS = ("__init__.py", "errors.py", "clock.py", "training")
TRIES_MAX = 10
"""How often a directory that somebody has damaged is put aside because another one keeps coming back."""


def trainer_root(cache: Path) -> Path:
    """A directory that holds `outlast` and nothing else, named by its content. Made once; whoever comes second uses the first's."""
    files = _files(Path(__file__).resolve().parent.parent)
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name} {len(data)}\n".encode())
        digest.update(data)
    root = cache / f"trainer-{digest.hexdigest()[:16]}"
    for _ in range(TRIES_MAX):
        if _is_whole(root, files):
            return root
        _make(root, files)
    raise OSError(errno.EIO, "something keeps changing the trainer's root", str(root))


def _files(package: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for part in PARTS:
        path = package / part
        paths = [path] if path.is_file() else sorted(path.rglob("*.py"))
        found.update((one.relative_to(package).as_posix(), one.read_bytes()) for one in paths)
    return found


def _is_whole(root: Path, files: dict[str, bytes]) -> bool:
    """It came by a rename, so it was whole once; but caches are cleaned, and power fails."""
    try:
        return all(os.stat(root / "outlast" / name).st_size == len(data) for name, data in files.items())
    except OSError:
        return False


def _make(root: Path, files: dict[str, bytes]) -> None:
    root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".trainer-", dir=root.parent))
    try:
        for name, data in files.items():
            path = made / "outlast" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            _compile(path, root / "outlast" / name)
        made.chmod(0o755)
        if os.path.lexists(root) and not _is_whole(root, files):
            _put_aside(root)
        made.rename(root)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        # Somebody else was faster, with the same content.
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _compile(path: Path, final: Path) -> None:
    """For this interpreter; others compile for themselves. The content never changes, so nothing need be checked at import."""
    import py_compile

    py_compile.compile(
        str(path),
        dfile=str(final),
        doraise=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def _put_aside(root: Path) -> None:
    aside = Path(tempfile.mkdtemp(prefix=".damaged-", dir=root.parent))
    try:
        root.rename(aside / "root")
    except FileNotFoundError:
        pass  # another process has done it
    shutil.rmtree(aside, ignore_errors=True)
