"""Writers of a directory store that can be stopped, killed or failed before every call that they make."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from outlast.errors import PreconditionFailed
from outlast.store.directory import DirectoryStore
from outlast.store.disk import Disk

CALLS = tuple(name for name in vars(Disk) if not name.startswith("_"))

DONE, REFUSED, BROKEN = 0, 3, 4
"""What a writer's process exits with."""

Operation = Callable[[DirectoryStore], Any]


class HastyDisk(Disk):
    """For tests that need many homes and no power cut."""

    def sync(self, file: int) -> None:
        pass

    def sync_directory(self, path: str) -> None:
        pass


class SteppingDisk(Disk):
    """Tells `at` the name of every call before it is made. (But syncing is only told: no test can cut the power.)"""

    def __init__(self, at: Callable[[str], None]) -> None:
        self.at = at


def _stepping(name: str) -> Callable[..., Any]:
    def call(self: SteppingDisk, *arguments: Any) -> Any:
        self.at(name)
        if name == "sync":
            return None
        return getattr(Disk, name)(self, *arguments)  # looked up late, for it may be broken on purpose

    return call


for _name in CALLS:
    setattr(SteppingDisk, _name, _stepping(_name))


def store_at(root: Path, at: Callable[[str], None]) -> DirectoryStore:
    return DirectoryStore(root, disk=SteppingDisk(at))


def steps_of(root: Path, operation: Operation) -> list[str]:
    """The calls that an operation makes, by doing it."""
    steps: list[str] = []
    try:
        operation(store_at(root, steps.append))
    except PreconditionFailed:
        pass
    return steps


class Writer:
    """A process that does one operation and stops before its call number `stop_at` (after the last one, if it has no more).

    Killed at the end of a `with` block, unless it was woken.
    """

    def __init__(self, root: Path, operation: Operation, stop_at: int) -> None:
        self._pid = os.fork()
        if self._pid == 0:
            _write_and_exit(root, operation, stop_at)
        _, status = os.waitpid(self._pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            raise AssertionError(f"the writer did not come as far as call {stop_at}: it ended with {status}")

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pid:
            self.kill()

    def wake(self) -> int:
        os.kill(self._pid, signal.SIGCONT)
        return self._end()

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        self._end()

    def _end(self) -> int:
        pid, self._pid = self._pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _write_and_exit(root: Path, operation: Operation, stop_at: int) -> None:
    left = stop_at

    def at(step: str) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
        left -= 1

    code = BROKEN
    try:
        operation(store_at(root, at))
        code = DONE
    except PreconditionFailed:
        code = REFUSED
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        if left == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(code)
