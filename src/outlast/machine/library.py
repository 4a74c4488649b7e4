"""Checkpoints that the training library has put in place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from outlast.agent.child import Changed, Saved
from outlast.dataclass import dataclass
from outlast.folder.sound import legal_path
from outlast.host import files
from outlast.machine import tree
from outlast.machine.disk_file import DiskFile, Seen
from outlast.pattern import pattern

RECORD = "checkpoint.json"
_NAME = pattern(r"step-\d{12,}(?:\.\d+)?")


@dataclass(frozen=True)
class Found:
    directory: str
    number: int
    step: int
    record: Mapping[str, Any]


class Library:
    """`taken`: where links are kept to what is being uploaded, because the library keeps only its newest two."""

    def __init__(self, checkpoint: str, run: str, taken: str) -> None:
        self.checkpoint = checkpoint
        self.run = run
        self.taken = taken

    def present(self) -> bool:
        """Whether the library's checkpoints are what counts here: one of this attempt, or one that was restored."""
        return any(os.path.exists(f"{directory}/{RECORD}") for directory in self._directories())

    def saved(self, attempt: int, after: int) -> Saved | None:
        """The newest of this attempt with a number above `after`."""
        while True:
            newest = max(self._of_attempt(attempt, after), key=lambda found: found.number, default=None)
            if newest is None:
                return None
            try:
                return self._take(newest)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                raise Changed(os.path.basename(newest.directory)) from None  # the record is not one of the library's
            except FileNotFoundError:
                if os.path.exists(newest.directory):
                    raise Changed(os.path.basename(newest.directory)) from None
                continue  # the library has just removed it: there is a newer one

    def _directories(self) -> Iterator[str]:
        try:
            names = os.listdir(self.checkpoint)
        except OSError:
            return  # gone, or whatever the trainer has put in its place
        if not tree.lies_in(self.checkpoint, os.path.dirname(self.run)):
            return
        for name in names:
            if _NAME.fullmatch(name):
                yield f"{self.checkpoint}/{name}"

    def _of_attempt(self, attempt: int, after: int) -> Iterator[Found]:
        for directory in self._directories():
            record = files.read_json(f"{directory}/{RECORD}")
            if not isinstance(record, dict) or record.get("attempt") != attempt:
                continue
            number, step = record.get("number"), record.get("step")
            if isinstance(number, int) and isinstance(step, int) and number > after:
                yield Found(directory, number, step, record)

    def _take(self, found: Found) -> Saved:
        files.remove(self.taken)
        os.mkdir(self.taken, 0o700)
        saved: list[DiskFile] = []
        for relative in sorted(tree.scan(found.directory, within=os.path.dirname(self.run))):
            source = self._link(f"{found.directory}/{relative}", len(saved))
            seen = Seen.of(os.stat(source))
            # Without the time of its last change in status: a link, ours too, is one.
            identity = f"{seen.inode:x}-{seen.size:x}-{seen.modified_ns:x}"
            saved.append(
                DiskFile(f"checkpoint/{os.path.basename(found.directory)}/{relative}", source, seen, identity=identity)
            )
        for output in found.record.get("outputs") or ():
            if legal_path(f"output/{output['path']}"):
                saved.append(self._output(output, len(saved)))
        metrics = {
            str(name): float(value)
            for name, value in (found.record.get("metrics") or {}).items()
            if isinstance(value, int | float)
        }
        return Saved(found.number, found.step, bool(found.record.get("complete")), tuple(saved), metrics)

    def _output(self, output: Mapping[str, Any], number: int) -> DiskFile:
        """The content as it was at the save: a copy, or a link to a file that may have grown since."""
        name, size = str(output["kept"]), int(output["bytes"])
        if "/" in name:
            raise FileNotFoundError(name)
        source = self._link(f"{self.run}/kept/{name}", number)
        now = Seen.of(os.stat(source))
        inode, modified_ns, _ = (int(word, 16) for word in name.split("-"))
        linked = inode == now.inode
        then = Seen(
            now.device,
            now.inode,
            size,
            modified_ns if linked else now.modified_ns,
            now.changed_ns,
            int(output["mode"]) & 0o777,
        )
        return DiskFile(f"output/{output['path']}", source, then, identity=f"kept-{name}", appended=linked)

    def _link(self, source: str, number: int) -> str:
        target = f"{self.taken}/{number:06d}"
        try:
            os.link(os.path.realpath(source), target)
        except FileNotFoundError:
            raise
        except OSError:
            return source  # another file system, or one without links: whoever reads it finds out if it changes
        return target
