"""The supervisor's records on disk: what arrives, what it has taken up, and what has become of it."""

from __future__ import annotations

import os
from collections.abc import Callable

from outlast.engines.engine import Condition
from outlast.engines.local.layout import End, LocalDir, Order, is_id, read_order
from outlast.engines.local.queue import first_come
from outlast.errors import OutlastError
from outlast.host import files

ENDS_KEPT_SECONDS = 30 * 24 * 3600.0
"""What became of a launch is remembered for so long; who starts it again after that finds its job finished."""


class Books:
    def __init__(self, paths: LocalDir) -> None:
        self.paths = paths

    def taken_up(self) -> list[Order]:
        """By this supervisor or those before it, in the order in which they came."""
        names = [name.removesuffix(".json") for name in os.listdir(self.paths.launches) if name.endswith(".json")]
        orders = [self._read(launch_id) for launch_id in names if is_id(launch_id)]
        return sorted((order for order in orders if order is not None), key=first_come)

    def take_up(self, known: Callable[[str], bool]) -> tuple[list[Order], list[str]]:
        """(launches that have arrived, launches that somebody wants to be stopped); `known`: those that are ours already."""
        came: list[Order] = []
        unwanted: list[str] = []
        for name in os.listdir(self.paths.incoming):
            launch_id, _, kind = name.rpartition(".")
            if not is_id(launch_id):
                continue  # somebody else's, or one of ours that is not in place yet
            if kind == "stop":
                unwanted.append(launch_id)
            elif kind == "json":
                order = self._take(launch_id, known)
                if order is not None:
                    came.append(order)
        return sorted(came, key=first_come), unwanted

    def _take(self, launch_id: str, known: Callable[[str], bool]) -> Order | None:
        """Whatever was started twice is here twice, and is one launch: None."""
        arrived = self.paths.incoming_order(launch_id)
        if known(launch_id) or self.paths.read_end(launch_id) is not None:
            files.remove(arrived)
            return None
        os.replace(arrived, self.paths.order(launch_id))
        return self._order(launch_id)

    def _read(self, launch_id: str) -> Order | None:
        """None: it has ended, or a power cut swallowed it, or it cannot be read and is ended for that."""
        if self.paths.read_end(launch_id) is not None:
            files.remove(self.paths.order(launch_id))
            return None
        return self._order(launch_id)

    def _order(self, launch_id: str) -> Order | None:
        path = self.paths.order(launch_id)
        try:
            return read_order(path)
        except OutlastError as error:
            if not (files.read(path) or b"").strip(b"\0"):
                files.remove(path)  # whoever looks finds it absent, and starts it again from its record
            else:
                self.close(launch_id, End(Condition.BOOT_FAILED, error.message))
            return None

    def stopped(self, launch_id: str) -> None:
        """The wish was obeyed."""
        files.remove(self.paths.incoming_stop(launch_id))

    def close(self, launch_id: str, end: End) -> None:
        """The end is written before the launch is removed: in between it is both, and the end counts. A wish stays: it says why."""
        self.paths.write_end(launch_id, end)
        files.remove(self.paths.order(launch_id))

    def forget(self, now: float) -> None:
        """And what a `start` that was killed in the middle left in its place, which nobody will take up."""
        for directory in (self.paths.ended, self.paths.stopped, self.paths.incoming):
            for entry in os.scandir(directory):
                if entry.stat(follow_symlinks=False).st_mtime < now - ENDS_KEPT_SECONDS:
                    files.remove(directory / entry.name)
