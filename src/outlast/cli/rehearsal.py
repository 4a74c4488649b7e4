"""`--dry-run` of `outlast run` and `outlast resume`: everything that would be made, and nothing made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from outlast.cli.machine_words import hourly_words, limit_words, machine_words, rented_words
from outlast.cli.terminal import put, put_json, say, shown
from outlast.cli.words import count, duration, size
from outlast.dataclass import dataclass
from outlast.engines.engine import Condition, Engine, Launch, LaunchState
from outlast.engines.registry import resources_of
from outlast.errors import EXIT_DONE
from outlast.jobs.adopt import split_source
from outlast.jobs.find import find
from outlast.jobs.job import Job
from outlast.jobs.submit import Submitted, submit
from outlast.spec.record import plain
from outlast.store.dry import Dry, Write

if TYPE_CHECKING:
    from outlast.jobs.asked import Asked
    from outlast.jobs.world import World
    from outlast.spec.spec import Machine, Spec


class Rehearsed:
    """An engine on which nothing is started: it notes what would be."""

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self.capabilities = engine.capabilities
        self.check = engine.check
        self.room = engine.room
        self.started: list[Launch] = []

    def start(self, launch: Launch) -> None:
        self.started.append(launch)

    def state(self, launch: Launch) -> LaunchState:
        return LaunchState(Condition.ABSENT)

    def stop(self, launch: Launch) -> None:
        return

    def enter(
        self, launch: Launch, command: tuple[str, ...], ports: tuple[int, ...], worker: int | None = None
    ) -> list[str] | None:
        return None

    def preempt(self, launch: Launch, *, notice_seconds: float) -> bool:
        return False


@dataclass
class Rehearsal:
    """A world whose stores and engines only pretend, with a user's directory of its own: caches learn nothing."""

    world: World
    stores: list[Dry] = field(default_factory=list)
    engines: list[Rehearsed] = field(default_factory=list)

    def writes(self) -> list[Write]:
        return [write for store in self.stores for write in store.writes]

    def launches(self) -> list[Launch]:
        return [launch for engine in self.engines for launch in engine.started]


@contextmanager
def rehearsal(world: World) -> Iterator[Rehearsal]:
    made = Rehearsal(world)
    with TemporaryDirectory(prefix="outlast-dry-") as scratch:
        made.world = world.over(
            lambda store: _kept(made.stores, Dry(store, keeps_uploads=False)),
            lambda engine: _kept(made.engines, Rehearsed(engine)),
            user_dir=Path(scratch),
            dry=True,
        )
        yield made


def rehearse(
    world: World,
    asked: Asked,
    *,
    as_json: bool,
    verb: Callable[[World, Asked], Submitted] = submit,
    more: Mapping[str, Any] | None = None,
) -> int:
    """`more`: what else the document has, as it is after `verb`."""
    asked = replace(asked, home=world.home_url(asked.home), from_job=_by_folder(world, asked.from_job))
    with rehearsal(world) as pretended:
        submitted = verb(pretended.world, asked)
    if as_json:
        put_json({**_document(submitted, pretended), **(more or {})})
    else:
        _print(submitted, pretended)
    return EXIT_DONE


def rehearse_resume(world: World, job: Job, *, as_json: bool, verb: Callable[[World, Job], None]) -> int:
    """`verb` resumes it. What its new launch would be is read where it would have been written."""
    with rehearsal(world) as pretended:
        found = Job.of(pretended.world.home(job.home.url), job.id)
        verb(pretended.world, found)
        record = found.folder.read_launch(found.folder.existing_head().head.launch)
        asked = replace(
            found.spec(),
            engine=record.engine,
            max_run_seconds=record.deadline_at - record.launched_at,
            max_cost_usd=record.max_cost_usd,
        )
        launches = [launch_document(asked, launch) for launch in pretended.launches()]
    if as_json:
        document = {"job": job.id, "folder": job.folder_url, "state": "planned", "launches": launches}
        put_json({**document, "writes": [write._asdict() for write in pretended.writes()]})
        return EXIT_DONE
    say(f"Job `{job.id}` would go on, in `{shown(job.folder_url)}`:")
    _print_plan(asked, pretended)
    return EXIT_DONE


def _by_folder(world: World, text: str) -> str:
    """The world that only pretends does not know which homes this user has used."""
    if not text:
        return ""
    job, checkpoint = split_source(text)
    return f"{find(world, job).folder_url}{f'@{checkpoint}' if checkpoint else ''}"


def _kept(kept: list[Any], one: Any) -> Any:
    kept.append(one)
    return one


def _document(submitted: Submitted, pretended: Rehearsal) -> dict[str, Any]:
    return {
        "job": submitted.job.id,
        "folder": submitted.job.folder_url,
        "state": "planned",
        "spec": plain(submitted.spec),
        "writes": [write._asdict() for write in pretended.writes()],
        "launches": [launch_document(submitted.spec, launch) for launch in pretended.launches()],
    }


def launch_document(spec: Spec, launch: Launch) -> dict[str, Any]:
    return {
        "engine": spec.engine,
        "workers": launch.workers,
        "cpus": launch.machine.cpus,
        "gpus": launch.machine.gpus,
        "usd_per_hour": launch.machine.rented.usd_per_hour * launch.workers if launch.machine.rented else 0.0,
        "max_run_seconds": spec.max_run_seconds,
        "max_cost_usd": spec.max_cost_usd,
        "rented": plain(launch.machine.rented) if launch.machine.rented else None,
        "prices": prices(launch.machine),
        "estimated": list(estimated(launch.machine)),
        "resources": [plain(one) for one in resources_of(spec.engine, launch)],
    }


def _print(submitted: Submitted, pretended: Rehearsal) -> None:
    from outlast.cli.run_words import say_shipped

    for note in (*submitted.plan.prepared.notes, *submitted.plan.notes):
        say(note)
    if submitted.plan.packed.files:  # an evaluation ships what is there already
        say_shipped(submitted.plan)
    if submitted.spec.container is not None and submitted.plan.image is not None:
        say(f"A container would run it, of {shown(submitted.plan.image.reference)}")
    say(f"Job `{submitted.job.id}` would be written to `{shown(submitted.job.folder_url)}`:")
    _print_plan(submitted.spec, pretended)


def _print_plan(spec: Spec, pretended: Rehearsal) -> None:
    for write in pretended.writes():
        put(f"{write.operation} {shown(write.key)} ({size(write.bytes)})")
    for launch in pretended.launches():
        _print_launch(spec, launch)
    say("nothing was made, nothing was started")


def _print_launch(spec: Spec, launch: Launch) -> None:
    machines = count(launch.workers, "machine")
    price = hourly_words(launch.machine, launch.workers)
    limit = duration(spec.max_run_seconds)
    put(f"start {machines} on {spec.engine} ({machine_words(launch.machine)}; {price}; at most {limit})")
    rented = launch.machine.rented
    if rented is None:
        return
    for line in rented_words(rented):
        put(f"  it {line}")
    listed = prices(launch.machine)
    as_of = listed.pop("as_of", "")
    for part, usd in listed.items():  # of all machines together, as the price above
        guess = ", an estimate" if part in estimated(launch.machine) else ""
        put(f"  {part}: {usd * launch.workers:.4f} USD an hour, by the list of {as_of}{guess}")
    put(f"  {limit_words(launch.machine, launch.workers, spec.max_run_seconds, spec.max_cost_usd)}")
    for one in resources_of(spec.engine, launch):
        put(f"make {one.kind} {one.name} in {one.place}")
        for detail in one.details:
            put(f"  {shown(detail)}")
        put(f"  {one.url}")


def prices(machine: Machine) -> dict[str, Any]:
    """Part by part, of one machine, and their date; nothing, where nothing is rented or no price is known."""
    if machine.rented is None:
        return {}
    from outlast.catalog.table import catalog
    from outlast.jobs.rent import quoted

    price = quoted(machine, machine.rented.regions[0], spot=machine.rented.spot)
    return {} if price is None else {**price.parts(), "as_of": catalog().dated}


def estimated(machine: Machine) -> tuple[str, ...]:
    """Those parts whose price stands in no list that was read."""
    from outlast.jobs.rent import quoted

    if machine.rented is None:
        return ()
    price = quoted(machine, machine.rented.regions[0], spot=machine.rented.spot)
    return price.estimated if price is not None else ()
