"""The trainer's log and metrics on the machine's disk."""

from __future__ import annotations

import os
from pathlib import Path

from outlast.host import system

DROP_BYTES = 1 << 20
"""Less than this is not worth giving back."""


class Stream:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._dropped = 0

    def size_bytes(self) -> int:
        try:
            return os.stat(self.path).st_size
        except FileNotFoundError:
            return 0

    def add(self, data: bytes) -> None:
        """A word of ours among the trainer's; whoever has removed its log does without."""
        try:
            with open(self.path, "ab", buffering=0) as file:
                file.write(data)
        except FileNotFoundError:
            return

    def read(self, offset: int, size: int) -> bytes:
        try:
            with open(self.path, "rb", buffering=0) as file:
                return os.pread(file.fileno(), size, offset)
        except FileNotFoundError:
            return b""

    def drop(self, before: int) -> None:
        """The file keeps its length and its offsets; only the disk is given back."""
        before -= before % DROP_BYTES
        if before <= self._dropped:
            return
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            system.punch_hole(descriptor, self._dropped, before - self._dropped)
        finally:
            os.close(descriptor)
        self._dropped = before
