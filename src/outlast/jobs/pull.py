"""Results to this machine: outputs and the last checkpoint, or what was asked for; what is there already is skipped."""

from __future__ import annotations

import errno
import fnmatch
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from outlast.dataclass import dataclass
from outlast.errors import Damaged, Denied, NotFound, OutlastError, StoreFull
from outlast.folder.content import download_many, named, pinned, select
from outlast.folder.publish import OUTPUT
from outlast.folder.records import File, Head, Manifest
from outlast.host.files import NO_NAME
from outlast.jobs.job import Job
from outlast.jobs.partial import WRITERS_MAX, begin, partial
from outlast.spec.names import one_spelling
from outlast.spec.progress import OnProgress, counted, silent

CHECKPOINT = "checkpoint/"
READ_BYTES = 1 << 20


@dataclass
class Pulled:
    to: str
    files: list[str] = field(default_factory=list)
    bytes: int = 0
    skipped: int = 0
    """Files that were there already, with the same content."""

    replaced: int = 0
    """Of `files`, those in whose place there was another one: of an earlier step, or edited since."""

    @property
    def found(self) -> int:
        return len(self.files) + self.skipped


def pull(
    job: Job,
    pattern: str = "",
    *,
    checkpoint: str = "last",
    to: str = "",
    on_progress: OnProgress = silent,
) -> Pulled:
    """`checkpoint`: `last`, `best`, a step, or `all`. `pattern` fits the path below the job's directory or below
    its `outputs/`, the file's name, or a directory, which is all that is in it."""
    root = Path(to or job.id)
    pulled = Pulled(str(root))
    there = copy_matching(job, root, "", pattern, checkpoint, pulled, own=not to, on_progress=on_progress)
    if pattern and not pulled.found:
        raise no_match("job", job.id, pattern, there)
    return pulled


def copy_matching(
    job: Job,
    root: Path,
    below: str,
    pattern: str,
    checkpoint: str,
    pulled: Pulled,
    *,
    own: bool,
    on_progress: OnProgress = silent,
) -> list[str]:
    """Adds to `pulled`, and answers all that there is. `below`: stands before every path; `own`: the directory is ours to make."""
    with pinned(job.folder, lambda head: _chosen(head, checkpoint, bool(pattern))) as manifests:
        head = job.folder.existing_head().head
        every = {below + path: file for path, file in _files(head, manifests, several=checkpoint == "all")}
        wanted = {path: file for path, file in every.items() if not pattern or _fits(path, below, pattern)}
        if wanted and own:
            _keep_out(root)
        left_out = dict(_unnamed(root, wanted))
        left_out.update(_confused(root, {path: file for path, file in wanted.items() if path not in left_out}))
        distinct = {path: file for path, file in wanted.items() if path not in left_out}
        missing = {path: file for path, file in distinct.items() if not _is_there(safe_path(root, path), file)}
        pulled.skipped += len(distinct) - len(missing)
        pulled.replaced += sum(os.path.lexists(safe_path(root, path)) for path in missing)
        total = 0 if below else sum(file.bytes for file in missing.values())
        for path, (file, chunks) in zip(missing, download_many(job.folder, list(missing.values())), strict=True):
            _write(file, counted(chunks, "copying", total, on_progress, pulled.bytes), safe_path(root, path))
            pulled.files.append(path)
            pulled.bytes += file.bytes
    if left_out:
        raise _incomplete(job.id, root, left_out)
    return list(every)


def _unnamed(root: Path, wanted: Mapping[str, File]) -> Iterator[tuple[str, str]]:
    """(path, why it has no place): the file system at `root` cannot have that name."""
    if _cannot_be_named(root):
        return  # it is the directory that was asked for, and no file of the job's
    for path in wanted:
        if _cannot_be_named(root / path):
            yield path, f"has no name like `{path}`"


def _cannot_be_named(path: Path) -> bool:
    try:
        os.lstat(path)
    except ValueError:
        return False  # no path at all, see `safe_path`
    except OSError as error:
        return error.errno in NO_NAME
    return False


def _confused(root: Path, wanted: Mapping[str, File]) -> Iterator[tuple[str, str]]:
    """(path, why it has no place): another one is the same to the file system at `root`. As few have it, it is asked by trying."""
    first: dict[str, str] = {}
    for path, file in wanted.items():
        other = first.setdefault(one_spelling(path), path)
        if file.sha256 != wanted[other].sha256 and _is_one(safe_path(root, other), safe_path(root, path)):
            yield path, f"takes `{path}` and `{other}` for one"


def _is_one(target: Path, other: Path) -> bool:
    number = WRITERS_MAX + os.getpid()  # of no writer, and of no other process that asks the same
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial(target, number).touch()
        return partial(other, number).exists()
    except OSError as error:
        raise _translated(error, target) from error
    finally:
        _discard(partial(target, number))


def _incomplete(id: str, root: Path, left_out: Mapping[str, str]) -> OutlastError:
    path, why = next(iter(left_out.items()))
    count = f"{len(left_out)} files were" if len(left_out) > 1 else f"`{path}` was"
    return OutlastError(
        f"{count} not copied: the file system of `{root}` {why}; all others are there",
        hint=f"`outlast pull {id} '{path}' --to` another directory, or another disk",
    )


def no_match(kind: str, id: str, pattern: str, there: list[str]) -> NotFound:
    listed = ", ".join(f"`{path}`" for path in there[:8])
    return NotFound(f"no file of {kind} `{id}` fits `{pattern}`", hint=f"there are {listed}" if there else "")


def _keep_out(root: Path) -> None:
    """A directory that is made here, beside the code, is nothing to commit, nor to ship with the next job: git and bundles leave it out."""
    try:
        root.mkdir()
        (root / ".gitignore").write_text("*\n")
    except OSError:
        return  # it was there, and is whose it is; or cannot be made, which the first file tells


def _chosen(head: Head, checkpoint: str, optional: bool) -> list[str]:
    if checkpoint == "all":
        return sorted(named(head))
    names = [head.outputs] if head.outputs else []
    if head.checkpoints or checkpoint != "last" or not (names or optional or head.state.final):
        names.append(select(head, checkpoint).name)
    return names


def _files(head: Head, manifests: list[Manifest], *, several: bool) -> Iterator[tuple[str, File]]:
    """Outputs as the final swap named them, else as the newest of these checkpoints has them."""
    checkpoints = [manifest for manifest in manifests if manifest.name != head.outputs]
    outputs = next((one for one in manifests if one.name == head.outputs), checkpoints[-1] if checkpoints else None)
    for file in outputs.files if outputs else ():
        if file.path.startswith(OUTPUT):
            yield f"outputs/{file.path.removeprefix(OUTPUT)}", file
    for manifest in checkpoints:
        directory = f"checkpoints/{manifest.step}" if several else "checkpoint"
        for file in manifest.files:
            if file.path.startswith(CHECKPOINT):
                yield f"{directory}/{file.path.removeprefix(CHECKPOINT)}", file


def _fits(path: str, below: str, pattern: str) -> bool:
    pattern = pattern.removeprefix("./").rstrip("/")
    here = path.removeprefix(below)
    names = (path, here, here.partition("/")[2], path.rpartition("/")[2])
    # As it is typed, too: a name may hold brackets.
    return any(name == pattern or fnmatch.fnmatchcase(name, pattern) for name in names) or any(
        name.startswith(f"{pattern}/") or fnmatch.fnmatchcase(name, f"{pattern}/*") for name in names[:3]
    )


def safe_path(root: Path, path: str) -> Path:
    """Names out of a home are never trusted: nothing is written outside `root`, and through no link inside it."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise Damaged(f"`{path}` is no path that outlast would have written")
    walked = root
    for part in parts:
        walked = walked / part
        if walked.is_symlink():
            raise Denied(f"`{walked}` is a link: nothing is written through it", hint="remove it, or use `--to`")
    return walked


def _is_there(target: Path, file: File) -> bool:
    try:
        if not target.is_file() or target.stat().st_size != file.bytes:
            return False
        check = hashlib.sha256()
        with target.open("rb") as stream:
            while chunk := stream.read(READ_BYTES):
                check.update(chunk)
    except OSError:
        return False
    return check.hexdigest() == file.sha256


def _write(file: File, chunks: Iterator[bytes], target: Path) -> None:
    """Beside its place and then renamed: an interrupted pull leaves no half file under a real name, nor does one beside another."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        path, stream = begin(target)
        with stream:
            try:
                for chunk in chunks:
                    stream.write(chunk)
                stream.flush()
                os.fchmod(stream.fileno(), 0o755 if file.mode & 0o100 else 0o644)
                os.replace(path, target)
            except BaseException:
                _discard(path)
                raise
    except OSError as error:
        raise _translated(error, target) from error


def _discard(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        pass  # it was never made, and whoever is told of that needs no second word


def _translated(error: OSError, target: Path) -> OutlastError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(
            f"no space left for `{target}`", hint="`--to` another disk; what was pulled stays and is skipped then"
        )
    return Denied(f"`{target}` cannot be written: {error.strerror}", hint="`--to DIR`, a directory of your own")
