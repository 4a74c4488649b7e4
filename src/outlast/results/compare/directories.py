"""Two directories compared file by file: the final checkpoint and outputs of two jobs."""

from __future__ import annotations

import fnmatch
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from outlast.dataclass import dataclass
from outlast.results.compare.checkpoint import steady_path
from outlast.results.compare.rules import BYTES, Compared, compare_files
from outlast.results.compare.source import file_source

PRESENCE = "presence"
"""The rule of a file that is on one side only."""

IN_REFERENCE, IN_OTHER = "only in the reference", "only in the other"


@dataclass(frozen=True)
class Comparison:
    files: tuple[Compared, ...]
    left_out: tuple[str, ...] = ()
    """Paths that `ignore` or `compare` took out."""

    @property
    def differences(self) -> tuple[Compared, ...]:
        return tuple(file for file in self.files if file.difference)

    @property
    def same(self) -> bool:
        """No difference, but for what the tolerance let pass."""
        return not self.differences

    @property
    def identical(self) -> bool:
        """Not even such a one."""
        return self.same and all(file.within is None for file in self.files)

    def rules(self) -> str:
        """`bytes (4), npz members (1)`: how many files were compared by which rule."""
        counts = Counter(file.rule for file in self.files)
        return ", ".join(f"{rule} ({counts[rule]})" for rule in sorted(counts, key=lambda rule: (-counts[rule], rule)))


def compare_directories(
    reference: Path,
    other: Path,
    *,
    compare: Sequence[str] = (),
    ignore: Sequence[str] = (),
    tolerance: float | None = None,
) -> Comparison:
    """`compare` and `ignore` are globs over a file's path, its path below the first directory, or its name alone."""
    left, right = dict(_files(reference)), dict(_files(other))
    chosen = sorted(path for path in left.keys() | right.keys() if _chosen(path, compare, ignore))
    files = []
    for path in chosen:
        if path not in right or path not in left:
            files.append(Compared(path, PRESENCE, IN_REFERENCE if path in left else IN_OTHER))
        else:
            files.append(compare_files(path, file_source(left[path], path), file_source(right[path], path), tolerance))
    left_out = sorted((left.keys() | right.keys()) - set(chosen))
    return Comparison(tuple(files), tuple(left_out))


def unfit(directory: Path, compare: Sequence[str], ignore: Sequence[str]) -> tuple[str, list[str]]:
    """The option that leaves nothing to be compared (`--compare *.zip`), or nothing; and all files that there are."""
    paths = [path for path, _ in _files(directory)]
    for glob in compare:
        if not any(_fits(path, glob) for path in paths):
            return f"--compare {glob}", paths
    everything = bool(paths) and not any(_chosen(path, compare, ignore) for path in paths)
    return " ".join(f"--ignore {glob}" for glob in ignore) if everything else "", paths


def describe(file: Compared) -> str:
    """One line: what was compared, how, and with what result."""
    how = "to the byte" if file.rule == BYTES and not file.difference else f"by {file.rule}"
    if file.difference:
        return f"`{file.path}` differs ({how}): {file.difference}"
    if file.within is not None:
        return f"`{file.path}` is the same within the tolerance ({how}, largest difference {file.within:.3g})"
    return f"`{file.path}` is the same ({how})"


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """Regular files only, links are not followed: they could lead anywhere."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield steady_path(path.relative_to(root).as_posix()), path


def _chosen(path: str, compare: Sequence[str], ignore: Sequence[str]) -> bool:
    wanted = not compare or any(_fits(path, pattern) for pattern in compare)
    return wanted and not any(_fits(path, pattern) for pattern in ignore)


def _fits(path: str, pattern: str) -> bool:
    pure = PurePosixPath(path)
    below = "/".join(pure.parts[1:])
    return any(fnmatch.fnmatchcase(text, pattern) for text in (path, below, pure.name) if text)
