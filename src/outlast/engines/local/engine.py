"""The local engine: machines are processes of this computer, started by a supervisor that appears on demand."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from outlast.clock import Clock
from outlast.dataclass import replace
from outlast.engines.engine import Capabilities, Condition, Launch, LaunchState, Room
from outlast.engines.local import capacity, ending
from outlast.engines.local.ailing import losses_words
from outlast.engines.local.bell import Bell, inherited
from outlast.engines.local.layout import VERSION, LocalDir, Order, check_id, encode_order
from outlast.errors import OutlastError, UsageError
from outlast.host import files, health, system
from outlast.host.machine_dir import MachineDir
from outlast.host.process import Process
from outlast.host.refused import told
from outlast.spec.spec import Machine

BOOT = "outlast.machine.boot:boot"
SUPERVISE = "outlast.machine.supervise"
ENTER = "outlast.machine.enter"

STOP_SECONDS = 10.0
"""How long a supervisor has to end a launch; after that `stop` does it itself."""

CLOCK_SECONDS = 30.0
"""Clocks that are closer than this are taken for the same."""

KILL_SECONDS_MAX = 10.0
LOOK_SECONDS = (0.002, 0.1)
NOTICE_LOOK_SECONDS = 0.01
RELIEVE_SECONDS_MAX = 5.0
SAID_BYTES = 4096


class LocalEngine:
    name = "local"
    capabilities = Capabilities(gpus=True, same_machine=True, preempts=True, keeps_ends=True)

    def __init__(self, user_dir: Path, clock: Clock, *, boot: str = BOOT, supervise: str = SUPERVISE) -> None:
        self.paths = LocalDir(user_dir / "local")
        self.clock = clock
        self.capabilities = replace(type(self).capabilities, place=system.place(user_dir))
        self.bell = Bell(self.paths, boot, supervise)

    def check(self, machine: Machine, workers: int) -> None:
        capacity.this_machine(os.environ, gpus=machine.gpus > 0).check(machine, workers)

    def start(self, launch: Launch) -> None:
        """`NoCapacity` for what this machine does not have; what is busy is waited for."""
        check_id(launch.id)
        if launch.machine.cpus < 1 or launch.machine.gpus < 0 or launch.workers < 1:
            raise UsageError(f"{launch.workers} workers with {launch.machine.cpus} CPUs and {launch.machine.gpus} GPUs")
        with told(self.paths.path, "nothing was started"):
            self.paths.create()
            if self._known(launch.id):
                return
            self.check(launch.machine, launch.workers)
            files_max = health.limits()["files"][0]
            order = Order(self._by_own_clock(launch), self.clock.now(), inherited(os.environ), files_max)
            self._relieve()
            # No condition: who starts it twice writes the same, and the supervisor takes it up once.
            files.put(self.paths.incoming_order(launch.id), encode_order(order))
            self.bell.ring()

    def room(self, machine: Machine) -> Room:
        return capacity.this_machine(os.environ, gpus=machine.gpus > 0).room(machine)

    def _by_own_clock(self, launch: Launch) -> Launch:
        """A deadline is meant by the home's clock, and this computer's may be wrong by a day."""
        ahead = launch.asked_at - self.clock.now() if launch.asked_at else 0.0
        return launch if abs(ahead) < CLOCK_SECONDS else replace(launch, deadline_at=launch.deadline_at - ahead)

    def state(self, launch: Launch) -> LaunchState:
        check_id(launch.id)
        # In the direction in which a launch moves: it is in the next place before it leaves the one before.
        arrived = os.path.exists(self.paths.incoming_order(launch.id))
        taken = os.path.exists(self.paths.order(launch.id))
        end = self.paths.read_end(launch.id)
        wished_away = self.paths.wished_away(launch.id)
        if end is not None:
            return replace(end.state(), stopped=wished_away)
        found = self._machines(launch) if taken else LaunchState(Condition.WAITING, self._why_not_taken())
        if wished_away and not found.machines:
            return LaunchState(Condition.ABSENT, over=True, stopped=True)
        if not arrived and not taken:
            return LaunchState(Condition.ABSENT)
        if not self.bell.heard():
            self.bell.ring()
        return found

    def stop(self, launch: Launch) -> None:
        check_id(launch.id)
        with told(self.paths.path, "what runs of it was not stopped"):
            self.paths.create()
            if self.paths.read_end(launch.id) is not None:
                return
            files.put(self.paths.wish(launch.id), b"", durable=True)
            if not self.paths.holds(launch.id):
                return
            files.create(self.paths.incoming_stop(launch.id))
            self.bell.ring()
        give_up_at = self.clock.monotonic() + STOP_SECONDS
        look_seconds, look_seconds_max = LOOK_SECONDS
        while self.paths.holds(launch.id) and self.paths.read_end(launch.id) is None:
            if self.clock.monotonic() >= give_up_at:
                self._stop_without_supervisor(launch)
                return
            self.clock.sleep(look_seconds)
            look_seconds = min(look_seconds_max, look_seconds * 1.5)

    def enter(
        self, launch: Launch, command: tuple[str, ...], ports: tuple[int, ...], worker: int | None = None
    ) -> list[str] | None:
        """Its ports are this computer's anyway."""
        directories = self.state(launch).directories
        if worker is not None:
            directories = tuple(one for one in directories if Path(one).name.partition("-")[0] == str(worker))
        return [sys.executable, "-m", ENTER, directories[0], *command] if directories else None

    def preempt(self, launch: Launch, *, notice_seconds: float) -> bool:
        """As a cloud would: a notice if it is above 0, then SIGKILL."""
        check_id(launch.id)
        taken = [
            (directory, process)
            for directory in self.paths.newest_machines(launch.id).values()
            if (process := directory.init_process()) is not None and process.alive()
        ]
        for directory, _ in taken:
            with suppress(OSError):  # it has just left, or there is no room: the mark saves a wait, no more
                files.create(directory.preempted)
        if notice_seconds > 0:
            self._notify(taken, notice_seconds)
        for directory, _ in taken:
            if not ending.end(directory, self.clock, KILL_SECONDS_MAX):
                raise OutlastError(f"machine `{directory.path}` could not be killed")
        return bool(taken)

    def _notify(self, taken: list[tuple[MachineDir, Process]], seconds: float) -> None:
        """Returns when they are gone by themselves, or their time is over."""
        leave_by = self.clock.monotonic() + seconds
        for directory, process in taken:
            files.put_json(directory.notice, {"leave_by_monotonic": leave_by})
            process.send(signal.SIGTERM)
        while self.clock.monotonic() < leave_by and any(_is_here(*machine) for machine in taken):
            self.clock.sleep(NOTICE_LOOK_SECONDS)

    def _relieve(self) -> None:
        """A supervisor of another version goes, and leaves its machines to one of ours: it would start old agents for new jobs.
        So does one that was told otherwise than we are what this computer has to give: it would refuse what was asked for."""
        told = files.read_json(self.paths.supervisor)
        process = Process.read(told)
        if process is None:
            return
        as_we_are = (
            told.get("version") == VERSION and capacity.said(os.environ).items() <= (told.get("said") or {}).items()
        )
        if as_we_are or not process.send(signal.SIGTERM):
            return
        give_up_at = self.clock.monotonic() + RELIEVE_SECONDS_MAX
        while process.alive() and self.clock.monotonic() < give_up_at:
            self.clock.sleep(LOOK_SECONDS[0])

    def _known(self, launch_id: str) -> bool:
        """Started before, or stopped for ever."""
        return (
            self.paths.holds(launch_id)
            or self.paths.read_end(launch_id) is not None
            or self.paths.wished_away(launch_id)
        )

    def _machines(self, launch: Launch) -> LaunchState:
        """By looking at the machines themselves: a dead one is never reported as running."""
        found = self.paths.newest_machines(launch.id)
        if not found:
            return LaunchState(Condition.WAITING, self._why_waiting())
        running = [
            directory
            for directory in found.values()
            if (process := directory.init_process()) is not None and process.alive()
        ]
        wanted = 1 if launch.independent else launch.workers
        up = len(running) >= wanted and all(os.path.exists(directory.up) for directory in running)
        return LaunchState(
            Condition.RUNNING if up else Condition.STARTING,
            why=next(
                filter(None, (losses_words(directory, launch.job, self.clock.monotonic()) for directory in running)), ""
            ),
            machines=tuple(f"{launch.id}-{os.path.basename(directory.path)}" for directory in running),
            directories=tuple(directory.path for directory in running),
        )

    def _why_not_taken(self) -> str:
        """A supervisor that cannot even start has said so in its log, which is empty otherwise."""
        said = files.read_end(self.paths.log, SAID_BYTES).decode(errors="replace").strip().splitlines()
        if not said or self.bell.heard():
            return "for the supervisor"
        return f"for a supervisor, which did not start: {said[-1].strip()} (in `{self.paths.log}`)"

    def _why_waiting(self) -> str:
        told = files.read_json(self.paths.supervisor)
        if not isinstance(told, dict) or not told.get("lacking"):
            return "for its turn"
        return f"for its turn among {told.get('waiting')}; the first one needs {told['lacking']}"

    def _stop_without_supervisor(self, launch: Launch) -> None:
        """It hangs, or cannot be started. The wish is on disk: whoever comes later only tidies up."""
        for _, _, directory in self.paths.machine_dirs(launch.id):
            if not ending.end(directory, self.clock, KILL_SECONDS_MAX):
                raise OutlastError(
                    f"processes of launch `{launch.id}` do not end, not even by SIGKILL",
                    state="they hang in the operating system; nothing new is started for it",
                    hint=f"`ps` shows who they are; their directory is `{directory.path}`",
                )


def _is_here(directory: MachineDir, process: Process) -> bool:
    return directory.left_done() is None and process.alive()
