"""The output files as they are at the moment of a save: kept, because the training goes on writing to them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from outlast.training.fielded import fielded
from outlast.training.say import say_once

COPY_BYTES_MAX = 64 << 20
"""Larger files are hard-linked instead of copied; what the training appends later does not count."""


@fielded(frozen=True)
class Output:
    path: str
    bytes: int
    mode: int
    kept: str
    """The name in `kept/`: inode, time and size, so that an unchanged file is not copied again."""

    def record(self) -> dict[str, Any]:
        return {"path": self.path, "bytes": self.bytes, "mode": self.mode, "kept": self.kept}


def keep_outputs(output: Path, kept: Path) -> list[Output]:
    """Keeps every regular file under `output`. Links are not followed; empty directories are not kept."""
    outputs = []
    for path, stat in _files(output):
        name = f"{stat.st_ino:x}-{stat.st_mtime_ns:x}-{stat.st_size:x}"
        if not (kept / name).exists() and not _keep(path, stat.st_size, kept, name):
            continue
        outputs.append(Output(path.relative_to(output).as_posix(), stat.st_size, stat.st_mode & 0o777, name))
    return sorted(outputs, key=lambda item: item.path)


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path))
        elif entry.is_file(follow_symlinks=False):
            try:
                yield Path(entry.path), entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # removed by another thread of the script
                continue


def _keep(path: Path, size: int, kept: Path, name: str) -> bool:
    kept.mkdir(parents=True, exist_ok=True)
    try:
        if size > COPY_BYTES_MAX:
            try:
                os.link(path, kept / name)
                return True
            except OSError:  # another file system, or one without links
                pass
        copy_file(path, kept / f".{name}", size)
    except FileNotFoundError:
        return False
    except OSError as error:
        (kept / f".{name}").unlink(missing_ok=True)
        say_once(f"output {path}", f"warning: the output `{path}` could not be kept with the checkpoint: {error}")
        return False
    os.replace(kept / f".{name}", kept / name)
    return True


def copy_file(source: Path, target: Path, size: int) -> None:
    """The first `size` bytes, by the kernel where it can do it alone."""
    with open(source, "rb", buffering=0) as reader, open(target, "wb") as writer:
        left = size
        if hasattr(os, "copy_file_range"):
            try:
                while left > 0 and (done := os.copy_file_range(reader.fileno(), writer.fileno(), left)):
                    left -= done
            except OSError:
                reader.seek(size - left)
                writer.seek(size - left)
        while left > 0 and (piece := reader.read(min(left, 1 << 20))):
            writer.write(piece)
            left -= len(piece)


def forget_outputs(kept: Path, needed: Iterable[str]) -> None:
    """Removes what no checkpoint on this disk refers to."""
    names = set(needed)
    try:
        entries = os.listdir(kept)
    except FileNotFoundError:
        return
    for name in entries:
        if name not in names:
            (kept / name).unlink(missing_ok=True)


def restore_outputs(records: Iterable[dict[str, Any]], output: Path, kept: Path) -> None:
    """Brings the listed files back to what they were at the save (where no agent has done so). Others are left alone."""
    for record in records:
        path, source = output / record["path"], kept / record["kept"]
        if ".." in Path(record["path"]).parts or Path(record["path"]).is_absolute() or "/" in record["kept"]:
            continue
        try:
            stat = path.stat()
            if f"{stat.st_ino:x}-{stat.st_mtime_ns:x}-{stat.st_size:x}" == record["kept"]:
                continue
        except FileNotFoundError:
            pass
        if not source.is_file():
            continue
        if path.exists() and path.samefile(source):
            os.truncate(path, record["bytes"])
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        copy_file(source, path, record["bytes"])
        path.chmod(record["mode"])
