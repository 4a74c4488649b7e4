"""What a target imports from outside of its bundle, through all of the bundle's own modules that it reaches."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from outlast.bundle.environment.imports import Import, Surely, imports_of
from outlast.dataclass import dataclass
from outlast.spec.plain_file import read_plain

FILES_MAX = 3000
FILE_BYTES_MAX = 4 << 20
CACHE_BYTES_MAX = 32 << 20
LOOKED_AT_MAX = 5000
"""A directory with more files holds data, not modules."""


@dataclass(frozen=True)
class Outside:
    """One import of something that the bundle itself does not have."""

    module: str
    """Its top-level name."""

    dotted: str
    path: str
    """The file, as it stands in the bundle."""

    line: int
    surely: Surely


@dataclass(frozen=True)
class Reached:
    outside: tuple[Outside, ...]
    """Of each module the surest import, the first of them."""

    files: tuple[str, ...]
    moves_path: bool
    """One of the files changes `sys.path`: what cannot be found may be found all the same."""


class Reach:
    """`roots`: where Python looks for modules, in order, all of them inside of what is shipped."""

    def __init__(self, directory: Path, roots: Sequence[Path], cache: Path | None) -> None:
        self.directory = directory
        self.roots = roots
        self._kept = _Kept(cache, directory)
        self._outside: dict[str, Outside] = {}
        self._seen: dict[Path, Surely] = {}
        self._moves_path = False

    def from_file(self, start: Path) -> Reached:
        queue = [(start, Surely.YES, self._package_of(start))]
        while queue and len(self._seen) < FILES_MAX:
            path, surely, package = queue.pop()
            if self._seen.get(path, Surely.GUARDED + 1) <= surely:
                continue
            self._seen[path] = surely
            imports, moves = self._kept.imports_of(path, is_target=path == start)
            self._moves_path = self._moves_path or moves
            for one in imports:
                worst = Surely(max(surely, one.surely))
                found = list(self._files(one, path, package))
                if not found and not one.module.startswith("."):
                    self._note(one, path, worst)
                queue += [(file, worst, owner) for file, owner in found]
        self._kept.keep(self._seen)
        files = tuple(sorted(_inside(path, self.directory) for path in self._seen))
        return Reached(tuple(self._outside.values()), files, self._moves_path)

    def _note(self, one: Import, path: Path, surely: Surely) -> None:
        top = one.module.split(".")[0]
        before = self._outside.get(top)
        if before is None or surely < before.surely:
            self._outside[top] = Outside(top, one.module, _inside(path, self.directory), one.line, surely)

    def _files(self, one: Import, path: Path, package: str) -> Iterator[tuple[Path, str]]:
        """The bundle's own files that this import runs, each with the package that it is in."""
        dots = len(one.module) - len(one.module.lstrip("."))
        if dots:
            base = path.parent
            for _ in range(dots - 1):
                base = base.parent
            owner = ".".join(package.split(".")[: len(package.split(".")) - dots + 1]) if package else ""
            yield from _below(base, one.module[dots:], one.names, owner)
            return
        for root in self.roots:
            found = list(_below(root, one.module, one.names, ""))
            if found or _is_package(root / one.module.split(".")[0]):
                yield from found
                return

    def _package_of(self, path: Path) -> str:
        parts = []
        folder = path.parent
        while (folder / "__init__.py").is_file() and folder != self.directory:
            parts.append(folder.name)
            folder = folder.parent
        return ".".join(reversed(parts))


def _is_package(path: Path) -> bool:
    """A directory without `__init__.py` is one too, if there is something in it that can be imported."""
    if (path / "__init__.py").is_file():
        return True
    try:
        with os.scandir(path) as entries:
            return any(entry.name.endswith(".py") for entry in islice(entries, LOOKED_AT_MAX))
    except OSError:
        return False


def _below(base: Path, dotted: str, names: Sequence[str], package: str) -> Iterator[tuple[Path, str]]:
    folder = base
    for part in dotted.split(".") if dotted else ():
        file = folder / f"{part}.py"
        folder = folder / part
        inner = folder / "__init__.py"
        if inner.is_file():
            package = f"{package}.{part}".lstrip(".")
            yield inner, package
        elif file.is_file():
            yield file, package
            return
        elif not folder.is_dir():
            return
    for name in names:
        if (folder / f"{name}.py").is_file():
            yield folder / f"{name}.py", package
        elif (folder / name / "__init__.py").is_file():
            yield folder / name / "__init__.py", f"{package}.{name}".lstrip(".")


def _inside(path: Path, directory: Path) -> str:
    return os.path.relpath(path, directory)


class _Kept:
    """The imports of files that have not changed since they were read last."""

    def __init__(self, cache: Path | None, directory: Path) -> None:
        name = hashlib.sha256(os.fsencode(directory)).hexdigest()[:24]
        self._path = cache / "imports" / f"{name}.json" if cache is not None else None
        self._known: dict[str, list[object]] = self._read()
        self._changed = False

    def _read(self) -> dict[str, list[object]]:
        try:
            known = json.loads(read_plain(self._path, CACHE_BYTES_MAX)) if self._path is not None else {}
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}

    def imports_of(self, path: Path, *, is_target: bool) -> tuple[list[Import], bool]:
        try:
            status = os.stat(path)
            mark = f"{status.st_mtime_ns} {status.st_size} {status.st_ino} {is_target:d}"
            known = self._known.get(str(path))
            if known and known[0] == mark:
                return _decoded(known)
            source = read_plain(path, FILE_BYTES_MAX)
        except (OSError, ValueError, TypeError, IndexError, KeyError):
            return [], False
        imports = imports_of(source, is_target=is_target)
        moves = b"sys.path" in source
        self._known[str(path)] = [mark, moves, *([one.module, one.names, one.line, one.surely] for one in imports)]
        self._changed = True
        return imports, moves

    def keep(self, reached: Mapping[Path, object]) -> None:
        """Only what this target reaches: files come and go."""
        if self._path is None or not self._changed:
            return
        reached_now = {str(path) for path in reached}
        known = {path: one for path, one in self._known.items() if path in reached_now or os.path.exists(path)}
        temporary = self._path.with_name(f".{self._path.name}-{os.getpid()}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_text(json.dumps(known))
            temporary.replace(self._path)
        except OSError:
            pass  # read again next time


def _decoded(known: Sequence[object]) -> tuple[list[Import], bool]:
    imports = []
    rows: Any = known[2:]
    for module, names, line, surely in rows:
        imports.append(Import(str(module), tuple(map(str, names)), int(line), Surely(surely)))
    return imports, bool(known[1])
