"""The catalog as a command shows it: the table's rows, what this user's jobs have met there, and how old the prices are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from outlast.catalog import answers, listing
from outlast.catalog.choose import REGION_DEFAULT, offered_zones
from outlast.catalog.model import Gpu, Tpu
from outlast.catalog.table import STALE_DAYS, Catalog, catalog
from outlast.catalog.vertex_tpus import slices_of
from outlast.dataclass import dataclass, replace
from outlast.errors import OutlastError, UsageError
from outlast.folder.home import Home
from outlast.folder.zone_memory import read_memory
from outlast.folder.zone_records import Met
from outlast.jobs.cloud import cloud_of, settings_of
from outlast.jobs.world import World
from outlast.spec.machine import parse_gpus
from outlast.spec.progress import OnProgress
from outlast.store.store import Store


@dataclass(frozen=True)
class Asked:
    kind: str
    region: str = ""
    gpus: str = ""
    home: str | None = None


@dataclass(frozen=True)
class Listed:
    view: str
    """What its rows are: the kind, or `places` of one GPU, or `zones` of one region."""

    rows: list[dict[str, Any]]
    document: dict[str, Any]
    notes: tuple[str, ...] = ()


def refresh_catalog(world: World, flags: Mapping[str, Any], gpus: str, on_progress: OnProgress) -> tuple[str, ...]:
    """What there is to say about it, when it is done."""
    from outlast.catalog.refresh import refresh

    cloud = cloud_of(world, flags)
    wanted, _ = _accelerator(catalog(world.environ), gpus)
    done = refresh(
        cloud.transport,
        cloud.project,
        world.environ,
        world.clock.now(),
        regions=(cloud.region,),
        gpu=wanted.name if isinstance(wanted, Gpu) else "",
        on_progress=on_progress,
    )
    return done.notes


def listed(world: World, asked: Asked) -> Listed:
    """UsageError for a region or an accelerator that the table does not have."""
    known = catalog(world.environ)
    if asked.region and asked.region not in known.regions:
        raise _asked_only(answers.no_region(known, asked.region))
    wanted, count = _accelerator(known, asked.gpus)
    notes = [answers.stale(known, world.clock.now())] if asked.kind != "images" else []
    rows, view = _rows(world, known, asked, wanted, count, notes)
    document = {
        "kind": view,
        "dated": known.dated,
        "refreshed": known.refreshed,
        "stale": known.age_days(world.clock.now()) > STALE_DAYS,
        "rows": rows,
    }
    return Listed(view, rows, document, tuple(note for note in notes if note))


def _rows(
    world: World, known: Catalog, asked: Asked, wanted: Gpu | Tpu | None, count: int, notes: list[str]
) -> tuple[list[dict[str, Any]], str]:
    if asked.kind == "gpus":
        rows = [_plain(one) for one in listing.accelerators(known, asked.region, wanted, count)]
        if not rows and wanted is not None:
            raise _without(wanted, asked.region)
        return rows, "gpus" if wanted is None else "places"
    if isinstance(wanted, Tpu):
        raise UsageError(
            f"{wanted.name} is a TPU, which comes with machines of its own",
            hint=f"`outlast catalog gpus --gpus {wanted.name}` says where it is, and for how much",
        )
    if asked.kind == "images":
        if asked.region:
            notes.append("images are the same in every region: `--region` changes nothing here")
        found = [one for one in listing.images(known) if wanted is None or wanted.name in one.boots]
        return [_plain(one) for one in found], "images"
    if asked.kind == "machines":
        region = asked.region or _usual_region(world)
        rows = [_plain(one) for one in listing.machines(known, region, wanted, count)]
        if not rows and wanted is not None:
            raise _without(wanted, region)
        met = _met(world, asked.home, [region], notes)
        return [{**row, "met": _sums(_of_type(met, row))} for row in rows], "machines"
    if asked.region:
        return _zones(world, known, asked, wanted, count, notes), "zones"
    rows = [_plain(one) for one in listing.regions(known, wanted, count)]
    met = _met(world, asked.home, [row["name"] for row in rows], notes)
    return [{**row, "met": _sums(one for one in met if _region_of(one.place, known) == row["name"])} for row in rows], (
        "regions"
    )


def _zones(
    world: World, known: Catalog, asked: Asked, gpu: Gpu | None, count: int, notes: list[str]
) -> list[dict[str, Any]]:
    """Of one region: whether each has the machine, what Google tells of it there (else of all that were asked for), and what was met."""
    machine = listing.example(known, asked.region, gpu, count or 1)
    offered = offered_zones(known, machine, gpu, asked.region, spot=True) or () if machine else ()
    met = _met(world, asked.home, [asked.region], notes)
    rows = []
    for zone in known.regions[asked.region]:
        told = known.history.get(zone, {}) if gpu is None or zone in offered else {}
        its_own = machine is not None and machine.name in told and not (gpu and machine.name.startswith("n1-"))
        counted = [told[machine.name]] if machine is not None and its_own else told.values()
        rates = [one[0] for one in counted if one[0] is not None]
        rows.append(
            {
                "name": zone,
                "machine": machine.name if machine is not None and zone in offered else None,
                "preempted_share": round(sum(rates) / len(rates), 3) if rates else None,
                "met": _sums(one for one in met if one.place == zone),
            }
        )
    return rows


def _usual_region(world: World) -> str:
    said = settings_of(world, {})["region"] or world.environ.get("REGION", "")
    return str(said).split(",")[0] or REGION_DEFAULT


def _accelerator(known: Catalog, text: str) -> tuple[Gpu | Tpu | None, int]:
    if not text:
        return None, 0
    tpu = known.tpu(text)
    if tpu is not None:
        return tpu, 0
    number, name = parse_gpus(text)
    if not name:
        raise UsageError(f"`--gpus {text}` names no type", hint="`--gpus L4`, or `--gpus 2xL4`")
    found = known.tpu(name) or known.gpu(name)
    if found is None and (slices := slices_of(name)):
        raise UsageError(
            f"nobody here knows what {slices[0].kind} costs: no list that was read has it",
            state="Vertex AI has it, and nothing else here does",
            hint=f"`outlast run --on vertex --tpu-spec {slices[0].count}x{slices[0].kind} --dry-run SCRIPT`",
        )
    if found is None:
        raise _asked_only(answers.no_gpu(known, name), f"; TPUs {', '.join(known.tpus)}")
    if isinstance(found, Gpu) and found.gone:
        raise _asked_only(answers.gone(found, number))
    if text.lower() == name.lower():
        return found, 0
    if isinstance(found, Tpu):
        return found, _chips(found, number)
    if number not in known.counts(found):
        raise answers.no_count(known, found, number, REGION_DEFAULT, spot=True)
    return found, number


def _chips(tpu: Tpu, number: int) -> int:
    """Of a slice that is called by its number of cores, or of chips where they are what counts."""
    sizes = [chips * tpu.cores for chips in tpu.counts]
    if number in sizes:
        return number // tpu.cores
    nearest = next((one for one in sizes if one >= number), sizes[-1])
    raise UsageError(
        f"there is no TPU {tpu.cloud_name}-{number}",
        state=f"the slices of {tpu.name} are {', '.join(tpu.accelerator(chips) for chips in tpu.counts)}",
        hint=f"`--gpus {nearest}x{tpu.name}`",
    )


def _asked_only(error: UsageError, more: str = "") -> UsageError:
    """Nothing is rented here that could be forced."""
    return UsageError(error.message, state=f"{error.state}{more}", hint=error.hint.removesuffix(f"; {answers.FORCE}"))


def _without(wanted: Gpu | Tpu, region: str) -> OutlastError:
    where = sorted(wanted.offers, key=lambda one: wanted.offers[one].usd_spot or wanted.offers[one].usd)
    return UsageError(
        f"`{region}` has no {wanted.name}",
        state=f"it is in {answers.listed(where)}, the cheapest first" if where else "it is nowhere",
        hint=f"`--region {where[0]}`" if where else "",
    )


def _plain(row: Any) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(row).items()}


def _met(world: World, home: str | None, regions: Iterable[str], notes: list[str]) -> list[Met]:
    """In all homes that this user has used. One that cannot be read is said, and hides nothing."""
    found: dict[tuple[str, str], Met] = {}
    wanted = list(regions)
    for one in _homes(world, home, notes):
        try:
            for region in _told_of(one.store, wanted):
                for met in read_memory(one.store, region).met.values():
                    key = (met.place, met.what)
                    found[key] = _added(found[key], met) if key in found else met
        except OutlastError as error:
            notes.append(f"home `{one.url}` could not be read: {error.message}")
    return list(found.values())


def _homes(world: World, home: str | None, notes: list[str]) -> Iterator[Home]:
    try:
        yield from world.homes(home)
    except OutlastError as error:
        if home:
            raise
        notes.append(f"what your jobs have met is not known: {error.message}")


def _told_of(store: Store, regions: list[str]) -> list[str]:
    """Of many regions one list tells which have anything."""
    from outlast.folder import layout

    if len(regions) == 1:
        return regions
    names = {entry.key for entry in store.list(layout.ZONES)}
    return [region for region in regions if layout.zones(region) in names]


def _added(one: Met, other: Met) -> Met:
    newer = max(one, other, key=lambda met: met.seen_at)
    return replace(
        newer,
        stockouts=one.stockouts + other.stockouts,
        out_at=max((at for at in (one.out_at, other.out_at) if at is not None), default=None),
        machines=one.machines + other.machines,
        taken=one.taken + other.taken,
        lived_seconds=one.lived_seconds + other.lived_seconds,
    )


def _of_type(met: Iterable[Met], row: Mapping[str, Any]) -> list[Met]:
    """What is attached counts where it is asked for; how it was rented does not."""
    attached = "+" if row["gpu"] and row["name"].startswith("n1-") else " "
    return [one for one in met if one.what.startswith(f"{row['name']}{attached}")]


def _region_of(place: str, known: Catalog) -> str:
    return place if place in known.regions else place.rpartition("-")[0]


def _sums(met: Iterable[Met]) -> dict[str, Any] | None:
    """None: nothing was met there."""
    every = list(met)
    if not every:
        return None
    machines = sum(one.machines for one in every)
    launches: dict[str, int] = {}  # one that finds nothing is told of in each of its zones
    for one in every:
        launches[one.what] = max(one.stockouts, launches.get(one.what, 0))
    outs = [one.out_at for one in every if one.out_at is not None]
    newest = max(every, key=lambda one: one.seen_at)
    return {
        "stockouts": sum(launches.values()),
        "out_at": max(outs, default=None),
        "machines": machines,
        "taken": sum(one.taken for one in every),
        "lived_seconds_mean": round(sum(one.lived_seconds for one in every) / machines, 1) if machines else None,
        "usd_per_hour": newest.usd_per_hour or None,
        "seen_at": newest.seen_at,
    }
