"""The people of the simulation: commands on laptops that sleep, die and are typed again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from outlast.dataclass import dataclass
from outlast.errors import Damaged, NotFound, OutlastError, UsageError
from outlast.folder.content import download, pinned, select
from outlast.folder.home import Home
from outlast.folder.prunes import newest_prune
from outlast.folder.records import Head, Manifest
from outlast.jobs import delete, look, resume, stop, submit
from outlast.jobs import world as jobs_world
from outlast.jobs.find import find
from outlast.jobs.job import Job
from outlast.jobs.plan import Plan
from outlast.spec.spec import Machine, Provenance, Spec, Target, TargetKind
from outlast.testing.simulation.clock import SimulatedClock
from outlast.testing.simulation.engine import SimulatedEngine
from outlast.testing.simulation.history import Event
from outlast.testing.simulation.schedule import Actor
from outlast.testing.simulation.store import URL, Cut

if TYPE_CHECKING:
    from outlast.testing.simulation.world import World

JOB = "mnist-7f3a"
LOOK_SECONDS = (20.0, 120.0)
REPEAT_SECONDS = (2.0, 30.0)


@dataclass
class Command:
    """One command that somebody typed, and types again until it has come to its end."""

    id: str
    name: str
    body: Callable[[jobs_world.World], Any]
    repeats: bool
    actor: Actor | None = None
    typed: int = 0
    done: bool = False

    @property
    def running(self) -> bool:
        return self.actor is not None and self.actor.alive


class Laptop(jobs_world.World):
    """A command's world, without a disk: it remembers no homes."""

    def remember_home(self, home: Home) -> None:
        return


class Users:
    def __init__(self, world: World) -> None:
        self.world = world
        self.commands: list[Command] = []
        self._resumed_at_the_end = False
        self._count = 0
        self.looked_at = -1.0
        """When the last look at the job came to its end."""

    # What people do.

    def begin(self) -> None:
        options = self.world.options
        self._type("submit", self._submit("first"), repeats=options.people.repeats_submit, after=0.0)
        if options.people.second_submit:
            self._type(
                "submit again", self._submit("second"), repeats=False, after=self.world.random.uniform(0.0, 20.0)
            )
        for at in options.people.stops:
            self._type(
                "stop",
                lambda laptop: stop.stop(laptop, self._job(laptop)),
                repeats=not options.people.walks_away,
                after=at,
            )
        for at in options.people.deletes:
            self._type("delete", self._delete_and_submit, repeats=True, after=at)
        for at in options.people.resumes:
            self._type("resume", lambda laptop: resume.resume(laptop, self._job(laptop)), repeats=True, after=at)
        for at in options.people.readers:
            self._type("pull", self._pull, repeats=False, after=at)
        self.world.schedule.after(self.world.random.uniform(5.0, LOOK_SECONDS[1]), self._look)

    def _submit(self, flag: str) -> Callable[[jobs_world.World], Any]:
        def body(laptop: jobs_world.World) -> None:
            home = laptop.home(URL)
            # Code, environment and data are shipped before anything is written for the job; here there are none.
            nothing: Any = None
            planned = Plan(
                self._spec(flag),
                home,
                packed=nothing,
                asked=nothing,
                prune=newest_prune(home.store),
                prepared=nothing,
                equipment=nothing,
            )
            submit.carry_out(laptop, planned)

        return body

    def _spec(self, flag: str) -> Spec:
        options = self.world.options
        return Spec(
            job=JOB,
            name="mnist",
            target=Target(TargetKind.SCRIPT, "train.py"),
            bundle="0" * 64,
            python="python3",
            provenance=Provenance("0"),
            submitted_at=0.0,
            args=("--flag", flag),
            engine=SimulatedEngine.name,
            machine=Machine(),
            workers=options.workers if flag == "first" else 1,
            retries=options.retries,
            max_run_seconds=options.max_run_seconds,
            stall_seconds=options.stall_seconds,
            resume_args=("--resume",),
        )

    def _delete_and_submit(self, laptop: jobs_world.World) -> None:
        """The same name again: what the deleted job left on its way must not meet the new one."""
        if any(command.name.startswith("submit") and not command.done for command in self.commands):
            return
        delete.delete(laptop, self._job(laptop))
        self._type("submit", self._submit("first"), repeats=True, after=self.world.random.uniform(0.0, 5.0))

    def _job(self, laptop: jobs_world.World) -> Job:
        return find(laptop, JOB, URL)

    def _pull(self, laptop: jobs_world.World) -> None:
        """A slow reader: what it has pinned stays whole until it is done."""
        folder = self._job(laptop).folder
        manifests: list[Manifest] = []
        refused = self.world.history.faults["store full"]
        without_hold = False
        try:
            with pinned(folder, _last_and_outputs) as manifests:
                # A full home is read without a hold, and nothing was promised then.
                without_hold = self.world.history.faults["store full"] > refused
                for file in (file for manifest in manifests for file in manifest.files):
                    laptop.clock.sleep(self.world.random.uniform(0.1, 60.0))
                    b"".join(download(folder, file))
        except NotFound:
            return
        except Damaged as error:
            parts = {part.key for manifest in manifests for file in manifest.files for part in file.parts}
            whole = not without_hold and not self.world.chaos.damaged & parts
            if whole and not self.world.deleted:
                self.world.history.violated(f"a reader that had pinned {[one.name for one in manifests]} met: {error}")

    # How it comes about.

    def _type(self, name: str, body: Callable[[jobs_world.World], Any], *, repeats: bool, after: float) -> None:
        self._count += 1
        command = Command(f"{name}-{self._count}", name, body, repeats)
        self.commands.append(command)
        self.world.schedule.after(after, lambda: self._run(command))

    def _run(self, command: Command) -> None:
        world = self.world
        if any(one.running for one in self.commands):
            world.history.fault("two commands at once")
        command.typed += 1
        if command.typed > 1:
            world.history.fault("command repeated", command.name)
        who = f"laptop/{command.id}.{command.typed}"
        world.history.note(f"{who}: typed")
        if command.name == "stop" and world.options.people.walks_away:
            world.schedule.after(world.random.uniform(0.2, 3.0), lambda: self._walk_away(command))
        command.actor = world.schedule.spawn(
            who, lambda: command.body(self._laptop(who)), lambda actor: self._ended(command, actor)
        )

    def _laptop(self, who: str) -> Laptop:
        world = self.world
        random = Random(f"{world.options.seed} {who}")
        skew = world.options.skew_seconds
        clock = SimulatedClock(
            world.schedule, skew_seconds=random.uniform(-skew, skew), boot_seconds=-random.uniform(0.0, 1e6)
        )
        return Laptop(
            clock=clock,
            random=random,
            user_dir=Path("/dev/null"),  # nothing can be written below it
            open_store=lambda url: world.open_store(who, random, clock, Cut()),
            make_engine=lambda name: SimulatedEngine(world, who),
        )

    def _ended(self, command: Command, actor: Actor) -> None:
        error = actor.error
        if error is not None:
            self.world.history.note(f"{actor.name}: {error!r}")
            if not isinstance(error, OutlastError):
                self.world.history.violated(f"`{command.name}` crashed: {error!r}")
        elif command.name == "look":
            self.looked_at = self.world.schedule.now
        if error is None:
            done = Event(self.world.schedule.now, "command done", machine=actor.name, detail=command.name)
            self.world.history.happened(done)
        failed = error is not None and not isinstance(error, (UsageError, NotFound))
        if failed and command.repeats:
            self.world.schedule.after(self.world.random.uniform(*REPEAT_SECONDS), lambda: self._run(command))
        else:
            command.done = True

    def strike(self, kind: str, random: Random, who: str = "") -> bool:
        """One of the commands that run now; `who`: that one."""
        running = [one for one in self.commands if one.running and one.actor and who in ("", one.actor.name)]
        if not running:
            return False
        command = random.choice(running)
        assert command.actor is not None
        if kind == "laptop suspended":
            actor = command.actor
            self.world.schedule.pause(actor)
            seconds = min(random.uniform(5.0, 900.0), self.world.faults_end_at - self.world.schedule.now)
            self.world.schedule.after(seconds, lambda: self.world.schedule.unpause(actor))
            return True
        self.world.schedule.kill(command.actor)
        if command.repeats:
            self.world.schedule.after(random.uniform(*REPEAT_SECONDS), lambda: self._run(command))
        else:
            command.done = True
        return True

    def _walk_away(self, command: Command) -> None:
        """The laptop is closed for good: what was wished was wished."""
        if command.actor is not None and command.running:
            self.world.schedule.kill(command.actor)
            self.world.history.fault("laptop killed")
            command.done = True

    def _look(self) -> None:
        """Somebody looks now and then, for as long as the job lives."""
        world = self.world
        if not any(command.name == "look" and command.running for command in self.commands):
            self.commands = [command for command in self.commands if command.name != "look" or command.running]
            self._type("look", lambda laptop: look.look(laptop, self._job(laptop)), repeats=False, after=0.0)
        seconds = world.random.uniform(*LOOK_SECONDS) if world.faults_on else LOOK_SECONDS[0]
        world.schedule.after(seconds, self._look)

    def settle(self) -> bool:
        """Called when the job is final and nothing else is going on; True: nobody wants anything more of it."""
        if self.looked_at < max(self.world.faults_end_at, self.world.head_at):
            return False
        if (
            self._resumed_at_the_end
            or not self.world.options.people.resumes_at_the_end
            or self.world.final_state() == "succeeded"
        ):
            return True
        self._resumed_at_the_end = True
        self._type("resume", lambda laptop: resume.resume(laptop, self._job(laptop)), repeats=True, after=1.0)
        return False

    @property
    def busy(self) -> bool:
        return any(not command.done for command in self.commands if command.name != "look")


def _last_and_outputs(head: Head) -> list[str]:
    return [select(head, "last").name, *([head.outputs] if head.outputs else [])]
