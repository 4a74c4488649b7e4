"""Checkpoints on the machine's disk: written beside their place, made durable, then put in place by one rename.

<checkpoint directory>/step-000000000120/      a whole checkpoint; a step saved again is step-000000000120.2, .3, ...
    checkpoint.json                            what it is; written last
    state.json, tensors.safetensors            where the loop stands, and the parts of its state (see save.py)
    generators.json                            the global random generators, and where the data loader stands
    ended/000/...                              the same files of loops that ended before this one
    anything else                              the script's own files (`with outlast.checkpoint() as folder`)
<checkpoint directory>/.saving-<nonce>/        not yet whole: nobody looks into it
"""

from __future__ import annotations

import errno
import json
import os
import re
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from outlast.errors import Damaged, NewerFormat
from outlast.training.fielded import fielded

FORMAT = 1
KEPT_CHECKPOINTS = 2
"""How many stay on this disk; the home keeps more."""

RECORD, STATE, TENSORS, ENDED = "checkpoint.json", "state.json", "tensors.safetensors", "ended"
GENERATORS = "generators.json"
"""By itself, because a generator that nobody seeded and nobody uses differs between two runs that are the same otherwise."""

RESERVED_NAMES = (RECORD, STATE, TENSORS, GENERATORS, ENDED)
WRITE_BYTES = 8 << 20

UNABLE = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY, errno.ENOSYS})
"""What file systems answer that have no such call for making a file durable."""

ADOPTED = "adopted"
_STEP_NAME = re.compile(r"step-(\d{12,})(?:\.(\d+))?")


@fielded(frozen=True)
class Found:
    """A checkpoint that is in place."""

    path: Path
    step: int
    complete: bool
    attempt: int
    number: int
    record: dict[str, Any]

    @property
    def age(self) -> tuple[int, int]:
        """Later saves compare higher."""
        return (self.attempt, self.number)


def list_checkpoints(folder: Path, *, skip_damaged: bool = False) -> list[Found]:
    """Those that are in place, the newest first. A damaged checkpoint.json is an error that names it, unless skipped."""
    try:
        names = [name for name in os.listdir(folder) if _STEP_NAME.fullmatch(name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for name in names:
        try:
            found.append(read_checkpoint(folder / name))
        except (Damaged, NewerFormat):
            if not skip_damaged:
                raise
    return sorted(found, key=lambda one: (one.age, one.path.name), reverse=True)


def list_adopted(folder: Path | None) -> list[Found]:
    """The checkpoint of another job that this one began with (`run --from`), in a directory of its own."""
    return [] if folder is None else list_checkpoints(folder / ADOPTED)


def read_checkpoint(path: Path) -> Found:
    record = read_json(path / RECORD)
    check_format(path / RECORD, record)
    try:
        step, attempt, number = (int(record[name]) for name in ("step", "attempt", "number"))
        return Found(path, step, bool(record["complete"]), attempt, number, record)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path / RECORD, f"its field {error} is missing or wrong") from None


def check_format(path: Path, record: dict[str, Any]) -> None:
    written = record.get("format")
    if written != FORMAT:
        raise NewerFormat(
            f"`{path}` has format {written!r}; this outlast reads format {FORMAT}\n\nhint: update outlast"
        )


def read_json(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise damaged(path, "it is missing") from None
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"it is not JSON: {error}") from None
    if not isinstance(record, dict):
        raise damaged(path, "it is not a JSON object")
    return record


def damaged(path: Path, what: str) -> Damaged:
    folder = path.parent
    error = Damaged(
        f"the checkpoint is damaged: `{path}`: {what}\n\n"
        f"hint: move `{folder.name}` away to go on from the checkpoint before it, if there is one"
    )
    error.hint = ""  # that of a home's records would stand below it
    return error


def check_file(path: Path, record: dict[str, Any]) -> None:
    """Against the size and checksum in checkpoint.json."""
    expected = (record.get("files") or {}).get(path.name)
    if not isinstance(expected, dict):
        raise damaged(path, f"`{RECORD}` does not list it")
    checksum = size = 0
    try:
        with open(path, "rb", buffering=0) as file:
            while piece := file.read(WRITE_BYTES):
                checksum, size = zlib.crc32(piece, checksum), size + len(piece)
    except FileNotFoundError:
        raise damaged(path, "it is missing") from None
    if size != expected.get("bytes"):
        raise damaged(path, f"it has {size} bytes instead of {expected.get('bytes')}")
    if checksum != expected.get("crc32"):
        raise damaged(path, "its content is not what was written (checksum)")


def new_saving_dir(folder: Path) -> Path:
    saving = folder / f".saving-{os.urandom(6).hex()}"
    saving.mkdir(parents=True)
    return saving


def write_file(path: Path, pieces: Iterable[bytes | memoryview], watch: Callable[[int], None]) -> dict[str, int]:
    """Durable before it returns. `watch` is told how many bytes have just been written."""
    checksum = size = 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        for piece in _chunks(pieces):
            view = memoryview(piece)
            checksum = zlib.crc32(view, checksum)
            while view:
                done = os.write(descriptor, view)
                view = view[done:]
                size += done
                watch(done)
        make_durable(descriptor)
    finally:
        os.close(descriptor)
    return {"bytes": size, "crc32": checksum}


def _chunks(pieces: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    for piece in pieces:
        for offset in range(0, len(piece), WRITE_BYTES):
            yield piece[offset : offset + WRITE_BYTES]


def link_state(source: Path, target: Path) -> None:
    """A checkpoint's own files at a second place."""
    target.mkdir(parents=True)
    for name in (STATE, TENSORS, GENERATORS, RECORD):
        if (source / name).exists():
            link_file(source / name, target / name)


def link_tree(source: Path, target: Path) -> None:
    """The script's own files of a checkpoint, once more."""
    for name in os.listdir(source):
        if name in RESERVED_NAMES:
            continue
        if (source / name).is_dir():
            link_whole_tree(source / name, target / name)
        else:
            link_file(source / name, target / name)


def link_whole_tree(source: Path, target: Path) -> None:
    import shutil

    shutil.copytree(source, target, copy_function=link_file, symlinks=True)


def link_file(source: str | Path, target: str | Path) -> None:
    """Linked, or copied where that cannot be done. A link that leads somewhere stays one, also if nothing is there."""
    try:
        os.link(source, target, follow_symlinks=False)  # macOS would follow it, Linux never does
    except (OSError, NotImplementedError):
        import shutil

        shutil.copyfile(source, target, follow_symlinks=False)


def sync_tree(folder: Path) -> None:
    """Makes files that somebody else has written durable, and the directories that name them."""
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            if not os.path.islink(path):
                sync_path(path)
        sync_path(root)


def make_durable(descriptor: int) -> None:
    """As the tool does it (this library travels without it): on macOS, fsync leaves the data in the drive's own cache."""
    import fcntl

    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(descriptor, full)
            return
        except OSError as error:
            if error.errno not in UNABLE:
                raise
    os.fsync(descriptor)


def sync_path(path: str | Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        make_durable(descriptor)
    finally:
        os.close(descriptor)


def put_in_place(saving: Path, step: int) -> Path:
    """The commit: after the rename the checkpoint is there, before it there is nothing."""
    folder = saving.parent
    for copy in range(1, 10**6):
        place = folder / (f"step-{step:012d}" + (f".{copy}" if copy > 1 else ""))
        if place.exists():
            continue
        os.rename(saving, place)
        sync_path(folder)
        return place
    raise AssertionError("a step has been saved a million times")


def forget_old(folder: Path, keep: int = KEPT_CHECKPOINTS) -> list[Found]:
    """Removes all but the newest; returns those that are left. Taken out of sight first, so that no half is ever seen."""
    found = list_checkpoints(folder, skip_damaged=True)
    for one in found[keep:]:
        away = folder / f".removing-{os.urandom(6).hex()}"
        os.rename(one.path, away)
        remove_tree(away)
    return found[:keep]


def clear_leftovers(folder: Path) -> None:
    """What a process that was killed in mid-save has left behind."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if name.startswith((".saving-", ".removing-")):
            remove_tree(folder / name)


def write_json_in_place(path: Path, record: dict[str, Any]) -> None:
    """For small files that others read while we write: never half of one."""
    # The saver writes behind the loop: two threads may put the same file in place at once.
    beside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    beside.write_text(json.dumps(record) + "\n")
    os.replace(beside, path)


def remove_tree(path: Path) -> None:
    """A folder with all that is in it; what is gone is no error, nor what cannot be removed."""
    import shutil  # brings all compressors along, and most scripts start without removing anything

    shutil.rmtree(path, ignore_errors=True)
