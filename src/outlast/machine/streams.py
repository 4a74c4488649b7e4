"""The trainer's log and metrics on the machine's disk."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable

from outlast.host import files, system
from outlast.machine.mask import Mask

DROP_BYTES = 1 << 20
"""Less than this is not worth giving back."""


class Stream:
    def __init__(self, path: str) -> None:
        self.path = path
        self._dropped = 0

    def size_bytes(self) -> int:
        try:
            seen = os.stat(self.path)
        except OSError as error:
            if error.errno in files.NO_FILE:
                return 0
            raise
        return seen.st_size if stat.S_ISREG(seen.st_mode) else 0

    def add(self, data: bytes) -> None:
        """A word of ours among the trainer's; whoever has removed its log does without."""
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (*files.NO_FILE, errno.EISDIR):
                return
            raise
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)

    def read(self, offset: int, size: int) -> bytes:
        """Whatever a trainer has put in its place is not waited for."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in files.NO_FILE:
                return b""
            raise
        try:
            return os.pread(descriptor, size, offset) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        finally:
            os.close(descriptor)

    def drop(self, before: int) -> None:
        """The file keeps its length and its offsets; only the disk is given back."""
        before -= before % DROP_BYTES
        if before <= self._dropped:
            return
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (*files.NO_FILE, errno.EISDIR):
                return
            raise
        try:
            system.punch_hole(descriptor, self._dropped, before - self._dropped)
        finally:
            os.close(descriptor)
        self._dropped = before


class MaskedStream(Stream):
    """The same with secrets covered. Whoever reads gets only what cannot be the beginning of one: its rest may be on its way."""

    def __init__(self, path: str, mask: Mask, ended: Callable[[], bool]) -> None:
        super().__init__(path)
        self._mask = mask
        self._ended = ended
        self._told = (0, 0)

    def size_bytes(self) -> int:
        size = super().size_bytes()
        if self._ended():
            return size
        if size != self._told[0]:
            first = max(0, size - self._mask.context)
            self._told = (size, size - self._mask.held(super().read(first, size - first)))
        return self._told[1]

    def read(self, offset: int, size: int) -> bytes:
        first = max(0, offset - self._mask.context)
        data = super().read(first, offset - first + size + self._mask.context)
        at_end = self._ended() and first + len(data) >= super().size_bytes()
        return self._mask.apply(data, end=at_end)[offset - first : offset - first + size]

    def drop(self, before: int) -> None:
        """What stands before the next byte decides about it too."""
        super().drop(max(0, before - self._mask.context))
