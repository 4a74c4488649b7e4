"""From a working directory to a bundle in the home.

The order of writes: packs, then the bundle that names them, create-only. A submit that dies in between leaves packs that nothing
names; the next one makes the same packs, finds them there, and goes on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from outlast.bundle.apart import Apart
from outlast.bundle.contents import Contents
from outlast.bundle.git import Dirty
from outlast.bundle.listing import File, excess_of
from outlast.bundle.memory import Kept, Memory
from outlast.bundle.publish import find_record, serves
from outlast.bundle.report import (
    HEAVY_BYTES,
    REPORTED_MAX,
    LeftOut,
    heaviest,
    is_shipped,
    named_by,
    named_by_args,
    script_of,
)
from outlast.bundle.see import Seen, see
from outlast.bundle.ship import nothing_to_ship, ship_all, ship_changes
from outlast.clock import Clock
from outlast.dataclass import dataclass
from outlast.errors import Denied, NotFound, UsageError
from outlast.folder.prunes import read_prunes
from outlast.spec.names import one_spelling
from outlast.spec.progress import OnProgress, silent
from outlast.spec.spec import Target
from outlast.store.store import Store

__all__ = ["LeftOut", "Packed", "pack"]


@dataclass(frozen=True)
class Packed:
    digest: str
    files: int
    bytes: int
    uploaded_bytes: int
    left_out: tuple[LeftOut, ...] = ()
    heaviest: tuple[tuple[str, int], ...] = ()
    """Of a heavy bundle: its largest files, with their sizes."""

    commit: str = ""
    dirty: bool = False
    """The working directory is not what the commit says."""


def pack(
    store: Store,
    directory: Path,
    *,
    extra: Sequence[Path] = (),
    cache: Path,
    clock: Clock,
    target: Target | None = None,
    args: Sequence[str] = (),
    setup: str = "",
    links: Sequence[str] = (),
    given: Sequence[Path] = (),
    apart: Sequence[Path] = (),
    plain: bool = False,
    may_be_empty: bool = False,
    on_progress: OnProgress = silent,
) -> Packed:
    """Ships the directory as it is now. With a target, it and the `setup` must be among what is shipped, and what it and `args` name is
    looked for too.

    `links`: names that something else takes in the working directory. `given`: directories that reach the machine in another way.
    `apart`: files and directories that are never shipped. `plain`: the directory is a commit's, see `see`.
    """
    directory = _checked(directory)
    extra = [Path(os.path.abspath(one)) for one in extra]
    memory = Memory(cache)
    contents = Contents(store, lambda: memory.recall_places(store.url), read_prunes(store), on_progress)
    given = [path for path in given if target is None or not _holds(path, directory, target)]
    otherwise = tuple(name + b"/" for name in Apart(directory, given).names)
    apart = [Path(store.url.removeprefix("file://")), cache, *given, *apart]
    with ExitStack() as stack:
        seen = see(directory, extra, apart, memory, clock.now(), stack, plain=plain)
        if _is_there(seen, store, contents):
            assert seen.before is not None
            kept = seen.before
        else:
            kept = _ship(seen, store, contents, memory, may_be_empty=may_be_empty)
            if not seen.as_before or seen.before is None or kept.commit != seen.before.commit:
                memory.keep(seen.name, kept)
    left_out = [LeftOut(*one) for one in kept.left_out]
    if target is not None:
        shipped = set(kept.tree.complete().paths)
        _check_target(target, shipped, directory)
        _check_setup(setup, shipped, directory)
        _check_links(links, shipped)
        left_out = [one for one in left_out if not os.fsencode(f"{one.path}/").startswith(otherwise)]
        told = {one.path for one in left_out}
        named = [*named_by(directory, target, shipped), *named_by_args(directory, args, shipped)]
        left_out += [one for one in named if one.path not in told and one.path.partition("/")[0] not in links]
        # A script may well say `data` and mean its dataset; a file in it that it names is not where it looks.
        left_out = [one for one in left_out if os.fsencode(f"{one.path}/") not in otherwise]
    return Packed(
        digest=kept.digest,
        files=kept.files,
        bytes=kept.bytes,
        uploaded_bytes=contents.uploaded_bytes,
        left_out=tuple(left_out[:REPORTED_MAX]),
        heaviest=heaviest(kept.tree.complete().paths, kept.tree.sizes) if kept.bytes > HEAVY_BYTES else (),
        commit=kept.commit,
        dirty=kept.dirty,
    )


def _is_there(seen: Seen, store: Store, contents: Contents) -> bool:
    """Nothing has changed since this home was given the same listing, and it still has all of it."""
    before = seen.before
    if before is None or before.state is None or seen.fresh or seen.unread or before.state.url != store.url:
        return False
    if before.state.prune != contents.prunes.number:
        return False
    if seen.commit != before.commit or not contents.has_packs(before.state.packs):
        return False
    return find_record(store, contents, before.digest) is not None


def _ship(seen: Seen, store: Store, contents: Contents, memory: Memory, *, may_be_empty: bool) -> Kept:
    before = seen.before
    if seen.fresh is not None:
        _check_files(seen.tree.files(), seen.directory, may_be_empty=may_be_empty)
    if (
        before is not None
        and seen.fresh is None
        and seen.unread
        and serves(store, contents, before.state, before.files)
        and find_record(store, contents, before.digest) is not None
    ):
        digest, state = ship_changes(seen, store, contents, memory)
    else:
        digest, state = ship_all(seen, store, contents, memory)
    if seen.fresh is not None:
        seen.left_out += seen.fresh.large(seen.directory)
    dirty, clean = _dirty(seen, digest)
    return Kept(
        # A file that was refused for its content is in no row: only a new look sees it change.
        key="" if seen.refused else seen.key,
        digest=digest,
        tree=seen.tree,
        files=len(seen.tree.paths),
        bytes=sum(seen.tree.sizes),
        left_out=[(one.path, one.bytes, one.why) for one in seen.left_out],
        reported_at=seen.reported_at,
        commit=seen.commit,
        dirty=dirty,
        clean=clean,
        state=state,
    )


def _dirty(seen: Seen, digest: str) -> tuple[bool, str]:
    """Whether the commit has something else, and the digest of what it has, as far as it is known."""
    if seen.survey is None or seen.survey.has_untracked:
        return seen.survey is not None, ""
    before = seen.before
    if seen.fresh is not None and seen.fresh.dirty is not None:
        dirty = seen.fresh.dirty.finish()
    elif before is not None and before.clean and before.commit == seen.commit:
        return digest != before.clean, before.clean
    elif before is not None and before.digest == digest and before.commit == seen.commit:
        return before.dirty, ""
    else:
        with closing(Dirty(seen.survey.program, seen.directory)) as question:
            question.go_on()
            dirty = question.finish()
    return dirty, "" if dirty else digest


def _checked(directory: Path) -> Path:
    directory = Path(os.path.abspath(directory))
    if not directory.is_dir():
        raise NotFound(f"there is no directory `{directory}`", hint="stand in the project's directory")
    if not os.access(directory, os.R_OK | os.X_OK):
        raise Denied(f"`{directory}` cannot be read", hint=f"`chmod u+rx {directory}`")
    return directory


def _check_files(files: Mapping[bytes, File], directory: Path, *, may_be_empty: bool) -> None:
    if not files and not may_be_empty:
        raise nothing_to_ship(directory)
    problem = excess_of(files)
    if problem:
        largest = sorted(files.values(), key=lambda file: -file.bytes)[:3]
        named = ", ".join(f"`{os.fsdecode(file.path)}` ({file.bytes:,} bytes)" for file in largest)
        raise UsageError(
            f"`{directory}` cannot be shipped: {problem}",
            hint=f"list data in `.outlastignore`; the largest files are {named}",
        )


def _check_target(target: Target, shipped: set[bytes], directory: Path) -> None:
    if not is_shipped(target, shipped):
        script = script_of(target)
        if not (directory / script).resolve().is_relative_to(directory.resolve()):
            raise UsageError(
                f"`{script}` is a link to outside of `{directory}`, and only what is inside of it is shipped",
                hint="put a copy of the script itself there, or stand where it is",
            )
        raise _not_shipped(script, shipped, directory, "outlast run {}")


def _check_setup(setup: str, shipped: set[bytes], directory: Path) -> None:
    if setup and os.fsencode(os.path.normpath(setup)) not in shipped:
        raise _not_shipped(setup, shipped, directory, "--setup {}")


def _not_shipped(script: str, shipped: set[bytes], directory: Path, typed: str) -> UsageError:
    """It is there; `typed`: how it is named on the command line."""
    spelled = next((path for path in map(os.fsdecode, shipped) if one_spelling(path) == one_spelling(script)), "")
    if spelled:
        return UsageError(
            f"`{script}` is spelled `{spelled}`, and not every file system takes the two for one",
            hint=f"`{typed.format(spelled)}`",
        )
    return UsageError(
        f"`{script}` is there and is left out of the bundle, by git's or `.outlastignore`'s rules",
        hint=f"`git -C {directory} check-ignore -v {script}` tells which; `git add -f {script}` ships it",
    )


def _check_links(links: Sequence[str], shipped: set[bytes]) -> None:
    for link in links:
        name = os.fsencode(link)
        if any(path == name or path.startswith(name + b"/") for path in shipped):
            raise UsageError(
                f"`--link {link}`: the bundle has a `{link}` of its own",
                hint=f"list `{link}` in `.outlastignore`, or link a directory of another name",
            )


def _holds(path: Path, directory: Path, target: Target) -> bool:
    """Whether the target lies there: then it is code, whatever else it may be."""
    return (directory / script_of(target)).is_relative_to(path)
