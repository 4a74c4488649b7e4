"""One machine after another in the same two processes: where a thousand short jobs wait, nobody pays for a thousand starts.

A machine that has left, with its launch done, tells whoever started it that its processes are free, over one pipe, and waits
for the directory of the next one on another. End of file: go. Nothing of it is on disk, and whoever was killed in the middle
is missed in the usual way: by the end of a process.
"""

from __future__ import annotations

import fcntl
import os

from outlast.dataclass import dataclass

FREE = b"f"
DIRECTORY_BYTES_MAX = 4096


@dataclass(frozen=True)
class Follower:
    """The end of whoever works on machines: says that it is free, and is given the next one."""

    tell: int
    listen: int

    def following(self) -> str | None:
        """Waits for the next machine's directory; None: there is none, go."""
        try:
            os.write(self.tell, FREE)
        except OSError:
            return None
        line = b""
        while not line.endswith(b"\n"):
            try:
                more = os.read(self.listen, DIRECTORY_BYTES_MAX)
            except OSError:
                return None
            if not more:
                return None
            line += more
        return os.fsdecode(line[:-1])

    def close(self) -> None:
        os.close(self.tell)
        os.close(self.listen)


@dataclass(frozen=True)
class Leader:
    """The end of whoever hands machines out."""

    hear: int
    hand: int

    def freed(self) -> bool:
        """Whether the other side has said that it is free. Never waits."""
        try:
            return os.read(self.hear, len(FREE)) == FREE
        except BlockingIOError:
            return False

    def hand_over(self, directory: str) -> bool:
        """False: the other side is gone."""
        try:
            os.write(self.hand, os.fsencode(directory) + b"\n")
        except (BrokenPipeError, BlockingIOError):
            return False
        return True

    def close(self) -> None:
        """The other side goes, if it is free."""
        os.close(self.hear)
        os.close(self.hand)


def pair() -> tuple[Leader, Follower]:
    """Made before a fork; each side closes the other's end, or whoever is gone is never missed."""
    hear, tell = os.pipe()
    listen, hand = os.pipe()
    os.set_blocking(hear, False)
    os.set_blocking(hand, False)
    return Leader(hear, hand), Follower(tell, listen)


def keep(follower: Follower, lowest: int) -> Follower:
    """In a new process: the same on the first two descriptors from `lowest` on, so that all others can be closed."""
    # Above both first, or the one might be written over before it is moved.
    tell, listen = (fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, lowest + 2) for one in (follower.tell, follower.listen))
    os.dup2(tell, lowest, inheritable=False)
    os.dup2(listen, lowest + 1, inheritable=False)
    return Follower(lowest, lowest + 1)
