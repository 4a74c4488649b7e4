"""The trainer's root: the few files of outlast that a training script sees, by themselves, so that they shadow nothing."""

from __future__ import annotations

import compileall
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import outlast

SHIPPED = ("__init__.py", "version.py", "errors.py", "clock.py", "training")


def trainer_root(cache: Path) -> Path:
    """A directory for PYTHONPATH with `outlast` in it; made once per content. Two makers at once make the same."""
    package = Path(outlast.__file__).parent
    sources = dict(_sources(package))
    digest = hashlib.sha256()
    for name, content in sorted(sources.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    root = cache / f"trainer-{digest.hexdigest()[:16]}"
    if root.is_dir():
        return root
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    making = cache / f".trainer-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        for name, content in sources.items():
            path = making / "outlast" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        compileall.compile_dir(making, quiet=2)
        making.rename(root)
    except OSError:
        # Somebody else's was there first: rename onto a directory that is not empty fails.
        if not root.is_dir():
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return root


def _sources(package: Path) -> Iterator[tuple[str, bytes]]:
    for name in SHIPPED:
        path = package / name
        if path.is_dir():
            for source in path.rglob("*.py"):
                yield source.relative_to(package).as_posix(), source.read_bytes()
        elif path.exists():
            yield name, path.read_bytes()
