"""A job's environment on this machine: made once for each digest out of the home's own wheels, then only looked at.

Each maker works in a directory of its own, `<name>.<its process>-<random>`, whose path never changes: what is installed may remember
it. What is finished has a seal in it, and `<name>`, a link, names the one that counts. Whoever is killed leaves a directory that nothing
names.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from outlast.bundle.environment.record import read_manifest
from outlast.bundle.listing import DIGEST_FORM
from outlast.dataclass import dataclass
from outlast.errors import Damaged, NotFound
from outlast.host import files, system
from outlast.pattern import pattern
from outlast.store.store import Store

SEAL = "sealed.json"
_VERSION = pattern(r"3\.\d{1,3}")

Prepare = Callable[[Path], None]
"""What a setup script does to an environment before it is sealed."""


@dataclass(frozen=True)
class Wanted:
    digest: str
    python_version: str
    base: str
    """The interpreter that it is made of, on this machine."""


def environment_of(store: Store, wanted: Wanted, cache: Path, prepare: Prepare | None = None) -> Path:
    """Its directory, whole. `Damaged` if the home's wheels are not what was shipped; what `prepare` raises."""
    if not DIGEST_FORM.fullmatch(wanted.digest) or not _VERSION.fullmatch(wanted.python_version):
        raise Damaged(f"`{wanted.digest[:80]}` for Python `{wanted.python_version[:20]}` names no environment")
    folder = cache / "environments"
    link = folder / f"{wanted.digest}-{hashlib.sha256(os.fsencode(wanted.base)).hexdigest()[:8]}"
    found = _named(link, wanted)
    if found is not None:
        return found
    from outlast.machine.environment_making import make  # with the reader of wheels: needed once

    manifest = read_manifest(store, wanted.digest)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    finished = _sweep(link, wanted)
    if finished is not None:
        return _name(link, finished, wanted)
    root = Path(tempfile.mkdtemp(prefix=f"{link.name}.{os.getpid()}-", dir=folder))
    try:
        make(store, manifest, wanted.python_version, wanted.base, root, cache)
        if prepare is not None:
            prepare(root)
        _seal(root, wanted)
        named = _name(link, root, wanted)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    if named != root:
        shutil.rmtree(root, ignore_errors=True)  # somebody else was faster
    return named


def find_base(python: str, python_version: str, path: str) -> str:
    """The interpreter that the spec names, if it is here; on another machine, one of the same version on the PATH."""
    if os.access(python, os.X_OK):
        return python
    name = f"python{python_version}"
    found = shutil.which(name, path=path)
    if found is None:
        raise NotFound(f"there is no `{name}` on this machine, and the job's packages were resolved for it")
    return os.path.realpath(found)


# The seal, and the link that names what is sealed.


def _seal(root: Path, wanted: Wanted) -> None:
    """Nothing here is made durable: after a power cut a seal that is lost, or not true any more, means one more making."""
    document = {
        "digest": wanted.digest,
        "base": wanted.base,
        "state": _state(root, wanted),
        "content": _content(root),
        "boot": system.boot_id(),
    }
    files.put_json(root / SEAL, document)


def _state(root: Path, wanted: Wanted) -> list[int]:
    """Changes when something is installed into it, or removed from it."""
    packages = root / "lib" / f"python{wanted.python_version}" / "site-packages"
    return [os.stat(path).st_mtime_ns for path in (packages, root / "bin")]


def _content(root: Path) -> list[int]:
    """How many files it has and how large they are, without what Python compiles by itself."""
    count = total_bytes = 0
    for at, directories, names in os.walk(root):
        directories[:] = [one for one in directories if one != "__pycache__"]
        for name in names:
            if name != SEAL:
                count += 1
                total_bytes += os.lstat(os.path.join(at, name)).st_size
    return [count, total_bytes]


def _named(link: Path, wanted: Wanted) -> Path | None:
    """What the link names, if it is whole."""
    try:
        root = link.parent / os.readlink(link)
    except OSError:
        return None
    if not _is_whole(root, wanted):
        return None
    try:
        os.utime(link, follow_symlinks=False)  # `outlast prune` goes by it
    except OSError:
        pass
    return root


def _is_whole(root: Path, wanted: Wanted) -> bool:
    """Sealed, and as it was then; after a restart of the computer, if all of it has reached the disk."""
    try:
        seal = files.read_json(root / SEAL)
        if not isinstance(seal, dict) or seal.get("digest") != wanted.digest or seal.get("base") != wanted.base:
            return False
        if seal.get("state") != _state(root, wanted) or not os.access(wanted.base, os.X_OK):
            return False
        boot = system.boot_id()
        if seal.get("boot") != boot:
            if seal.get("content") != _content(root):
                return False
            files.put_json(root / SEAL, {**seal, "boot": boot})
    except OSError:
        return False
    return True


def _name(link: Path, root: Path, wanted: Wanted) -> Path:
    """The first that is whole counts; one that is not gives way, and stays for whoever still uses it."""
    try:
        os.symlink(root.name, link)
    except FileExistsError:
        there = _named(link, wanted)
        if there is not None:
            return there
        new = link.with_name(f".{root.name}")
        os.symlink(root.name, new)
        os.replace(new, link)
    return root


def _sweep(link: Path, wanted: Wanted) -> Path | None:
    """What makers have left that are no longer alive; one that had only to be named is answered.

    What is sealed and no longer whole stays: somebody may run in it.
    """
    finished = None
    for path in link.parent.glob(f"{link.name}.*"):
        maker = path.name.removeprefix(f"{link.name}.").partition("-")[0]
        if not maker.isdigit() or system.start_time(int(maker)):
            continue
        if not (path / SEAL).exists():
            shutil.rmtree(path, ignore_errors=True)
        elif _is_whole(path, wanted):
            finished = path
    return finished


def variables(root: Path, path: str) -> dict[str, str]:
    """With these, whatever is started finds the environment's Python and programs first."""
    return {
        "VIRTUAL_ENV": str(root),
        "OUTLAST_ENVIRONMENT": str(root),
        "PATH": os.pathsep.join([str(root / "bin"), path]) if path else str(root / "bin"),
    }
