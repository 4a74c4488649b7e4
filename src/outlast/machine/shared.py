"""A rented machine that several workers of a sweep share: an init for each of them, with its share of the CPUs and GPUs.

They come and go together: what is told to the machine is told to all of them, and when one must go for good, so must the others. Only
one that is spare waits for its neighbours.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from outlast.clock import SYSTEM
from outlast.dataclass import replace
from outlast.engines.compute.told import Told
from outlast.host import files, system
from outlast.host.machine_dir import MachineDir
from outlast.machine.rented import EXIT_AGAIN, EXIT_FAILED, EXIT_SPARE, LOG_BYTES_TOLD, Life
from outlast.store.store import Store

UPS = "up"
"""Below the machine's base: one file for each slot whose agent has come up."""

DONE_GRACE_SECONDS = 10.0
"""One has found that the launch is over: so long the others have to see it themselves."""

LOOK_SECONDS = 0.1


class SlotLife(Life):
    """One of the workers."""

    def __init__(self, told: Told, base: Path, rank: int, number: int, slot: int) -> None:
        super().__init__(told, base, rank, number)
        self.slot = slot
        worker = rank * told.slots + slot
        self.paths = MachineDir(f"{os.path.dirname(self.paths.path)}/{worker}-{number}")
        devices = [str(device) for device in range(told.gpus)]
        self.assignment = replace(
            self.assignment,
            rank=worker,
            workers=told.workers * told.slots,
            cpus=max(1, self.assignment.cpus // told.slots),
            gpus=tuple(system.part(devices, slot, told.slots)) if devices else None,
        )

    def begin(self) -> None:
        self.child = os.fork()
        if self.child == 0:
            signal.signal(
                signal.SIGTERM, signal.SIG_IGN
            )  # until init listens: whoever it tells finds the notice on disk
            system.keep_to_share(self.slot, self.told.slots)
            self._be_init()

    def _say_up(self, store: Store) -> None:
        """The machine is up when all of them are: a boot of which some are not is one that failed."""
        files.create(self.base / UPS / str(self.slot))
        if len(os.listdir(self.base / UPS)) == self.told.slots:
            super()._say_up(store)

    def tell(self, leave_by: float) -> None:
        """To leave; unless a longer notice came before it."""
        if not self.child or self.paths.left_done() is not None:
            return
        if not os.path.exists(self.paths.notice):
            files.put_json(self.paths.notice, {"leave_by_monotonic": leave_by})
        try:
            os.kill(self.child, signal.SIGTERM)
        except ProcessLookupError:
            pass


class SharedLife(Life):
    def __init__(self, told: Told, base: Path, rank: int, number: int) -> None:
        super().__init__(told, base, rank, number)
        self.slots = [self._slot(slot) for slot in range(told.slots)]
        self.paths = self.slots[0].paths
        self.assignment = self.slots[0].assignment
        self._give_up_at: float | None = None
        self._failed: list[SlotLife] = []
        """Those that died by themselves."""

    def _slot(self, slot: int) -> SlotLife:
        return SlotLife(self.told, self.base, self.rank, self.assignment.boot, slot)

    def begin(self) -> None:
        for slot in self.slots:
            slot.begin()

    def _move_in(self) -> None:
        super()._move_in()
        files.remove(self.base / UPS)
        (self.base / UPS).mkdir(mode=0o700)
        for slot in self.slots[1:]:
            os.makedirs(slot.paths.path)
            slot.paths.write_assignment(slot.assignment)

    def _directories(self) -> list[str]:
        return [slot.paths.path for slot in self.slots]

    def _wait(self) -> None:
        """Until all of them are gone."""
        while any(slot.child for slot in self.slots):
            for slot in self.slots:
                if slot.child and os.waitpid(slot.child, os.WNOHANG)[0]:
                    slot.child = 0
            now = SYSTEM.monotonic()
            if self._give_up_at is None:
                self._judge(now)
            elif now >= self._give_up_at:
                for slot in self.slots:
                    if slot.child:
                        os.kill(slot.child, signal.SIGKILL)
            SYSTEM.sleep(LOOK_SECONDS)

    def _judge(self, now: float) -> None:
        """Whether one that is gone takes the others with it."""
        gone = [slot for slot in self.slots if not slot.child]
        self._failed = [slot for slot in gone if slot.paths.left_done() is None]
        if any(slot.paths.left_done() for slot in gone):
            self._give_up_at = now + DONE_GRACE_SECONDS
        elif any(not slot.paths.left_spare() for slot in gone):
            self._tell_all(self.told.soft_off_seconds)
            self._give_up_at = now + max(self.told.soft_off_seconds, self._notice_seconds(now))

    def _notice_seconds(self, now: float) -> float:
        told = files.read_json(self.paths.notice)
        return float(told["leave_by_monotonic"]) - now if isinstance(told, dict) else 0.0

    def _taken_away(self) -> None:
        self._tell_all(self.told.soft_off_seconds)

    def _tell_all(self, seconds: float) -> None:
        for slot in self.slots:
            slot.tell(SYSTEM.monotonic() + seconds)

    def _left(self) -> int:
        if any(slot.paths.left_done() for slot in self.slots):
            self.paths = next(slot.paths for slot in self.slots if slot.paths.left_done())
            return super()._left()
        for slot in self._failed:
            sys.stderr.write(files.read_end(slot.paths.log, LOG_BYTES_TOLD).decode(errors="replace"))
        if any(not os.path.exists(slot.paths.up) for slot in self._failed):
            return EXIT_FAILED
        return EXIT_SPARE if all(slot.paths.left_spare() for slot in self.slots) else EXIT_AGAIN
