"""One file of a save, as it lies on the machine's disk."""

from __future__ import annotations

import os
from collections.abc import Iterator

from outlast.agent.child import Changed
from outlast.dataclass import dataclass

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Seen:
    """What the file system says about a file: equal means that its content is equal."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    mode: int

    @classmethod
    def of(cls, stat: os.stat_result) -> Seen:
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_mode & 0o777)

    @property
    def identity(self) -> str:
        return f"{self.inode:x}-{self.size:x}-{self.modified_ns:x}-{self.changed_ns:x}"

    def same_content(self, other: Seen) -> bool:
        """Links that come and go change a file's status and not its content."""
        return (self.inode, self.size, self.modified_ns) == (other.inode, other.size, other.modified_ns)

    def grew_to(self, other: Seen) -> bool:
        """The first bytes are what they were, if it is only ever appended to."""
        return self.inode == other.inode and (other.size > self.size or self.same_content(other))


class DiskFile:
    """A `SavedFile`. `appended`: only its first bytes count, and what is written behind them is no change."""

    def __init__(self, path: str, source: str, seen: Seen, *, identity: str = "", appended: bool = False) -> None:
        self.path = path
        self.source = source
        self.seen = seen
        self.bytes = seen.size
        self.mode = seen.mode
        self.identity = identity or seen.identity
        self.appended = appended
        self._held: int | None = None

    def hold(self) -> None:
        """Keeps the content in reach, also when another file takes its name. `Changed` if that has happened already."""
        try:
            self._held = os.open(self.source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise Changed(self.path) from error

    def release(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def chunks(self, offset: int, size: int) -> Iterator[bytes]:
        descriptor = self._held
        if descriptor is None:
            try:
                descriptor = os.open(self.source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as error:
                raise Changed(self.path) from error
        try:
            self._check(descriptor)
            end = min(offset + size, self.bytes)
            while offset < end:
                chunk = os.pread(descriptor, min(CHUNK_BYTES, end - offset), offset)
                if not chunk:
                    raise Changed(self.path)
                offset += len(chunk)
                yield chunk
            self._check(descriptor)
        finally:
            if descriptor != self._held:
                os.close(descriptor)

    def _check(self, descriptor: int) -> None:
        now = Seen.of(os.fstat(descriptor))
        if not (self.seen.grew_to(now) if self.appended else self.seen.same_content(now)):
            raise Changed(self.path)
