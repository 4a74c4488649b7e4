"""Between what was asked and the machine that is rented: the catalog's choice, the image that is meant, the price."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from outlast.agent.vigil import DEADLINE_EARLY_SECONDS, DEADLINE_EARLY_SHARE
from outlast.catalog.answers import REFRESH, stale
from outlast.catalog.choose import Choice, Wish, choose
from outlast.catalog.images import find_image
from outlast.catalog.prices import Billed, Price, price
from outlast.catalog.table import Catalog, catalog
from outlast.dataclass import replace
from outlast.errors import UsageError
from outlast.folder import cost
from outlast.google.connect import connect
from outlast.google.errors import ApiError
from outlast.google.project import project_of
from outlast.google.project_apis import ProjectApis
from outlast.google.wire import NoAnswer
from outlast.jobs import roles
from outlast.jobs.machine import Found
from outlast.jobs.networks import check_network
from outlast.jobs.zones import Ordered, memories, ordered
from outlast.spec.machine import parse_gpus
from outlast.spec.spec import Machine, Rented

if TYPE_CHECKING:
    from outlast.jobs.asked import Asked
    from outlast.jobs.world import World

DISK_GB_DEFAULT = 50
DISK_GB_DEFAULT_WITH_GPUS = 100
"""A driver, CUDA and a framework take half of it."""

WORK_SECONDS_MIN = 60.0
"""A sum that pays for less work than this is a slip of the keyboard."""


def rent(world: World, asked: Asked) -> Found:
    """UsageError, with what there is instead, for what the catalog does not have."""
    known = catalog(world.environ)
    gpus, gpu_type = parse_gpus(str(asked.gpus))
    regions = tuple(one for one in (asked.region or world.environ.get("REGION", "")).split(",") if one)
    wish = Wish(
        cpus=asked.cpus,
        gpus=gpus,
        gpu=gpu_type,
        machine_type=asked.machine_type,
        regions=regions if asked.region or not asked.zones else (),
        zones=asked.zones,
        exclude_zones=asked.exclude_zones,
        spot=asked.spot,
        disk_type=asked.disk_type,
        force=asked.force,
    )
    choice = choose(known, wish)
    transport = connect(world.environ)
    project = project_of(asked.project, world.environ, transport)
    image = find_image(transport, known, project, asked.image or choice.image)
    if image.architecture and image.architecture != _architecture(known, choice) and not asked.force:
        raise UsageError(
            f"image `{image.path}` is {image.architecture}, and `{choice.machine.name}` is not",
            hint="another `--image`, or another `--machine-type`",
        )
    if asked.network and not asked.force:
        check_network(transport, project, asked.network, choice.regions)
    account, account_note = account_for(world, ProjectApis(transport, project), asked.service_account)
    disk_gb = _disk_gb(asked.disk_gb, image.disk_gb, choice)
    rented = Rented(
        project=project,
        regions=choice.regions,
        machine_type=choice.machine.name,
        zones=choice.zones,
        accelerator=choice.gpu.cloud_name if choice.gpu else "",
        accelerator_built_in=bool(choice.machine.gpu),
        spot=asked.spot,
        disk_gb=disk_gb,
        disk_type=choice.disk_type,
        image=image.path,
        service_account=account,
        network=asked.network,
        external_ip=asked.external_ip,
        linger_seconds=asked.linger_seconds,
    )
    tried = in_order(world, asked, known, Machine(choice.machine.cpus, choice.gpus, rented))
    assert tried.machine.rented is not None
    machine = in_region(tried.machine, tried.machine.rented.regions[0], narrow=False)
    assert machine.rented is not None
    if asked.max_cost_usd is not None:
        check_max_cost(asked.max_cost_usd, machine.rented)
    check_max_run(asked.max_run_seconds)
    told = (*choice.notes, image.note, account_note, tried.note, *price_notes(known, machine, world.clock.now()))
    return Found(machine, tuple(note for note in told if note), image.python)


def in_order(world: World, asked: Asked, known: Catalog, machine: Machine) -> Ordered:
    """Zones and regions as this user's jobs have met them; where there is no choice nothing is looked up."""
    assert machine.rented is not None
    if max(len(machine.rented.zones), len(machine.rented.regions)) < 2:
        return Ordered(machine)
    met, now = memories(world, asked.home, machine.rented.regions)
    return ordered(machine, met, known, now)


def price_notes(known: Catalog, machine: Machine, now: float) -> tuple[str, ...]:
    """What there is to say about the price: that it is old, or no more than an estimate."""
    assert machine.rented is not None
    region = machine.rented.regions[0]
    price = quoted(machine, region, spot=machine.rented.spot)
    guessed = [part for part in price.estimated if part != "disk"] if price is not None else []
    estimate = (
        f"in `{region}` the price of the {' and the '.join(guessed)} is an estimate: {REFRESH}" if guessed else ""
    )
    return stale(known, now), estimate


def account_for(world: World, apis: ProjectApis, given: str) -> tuple[str, str]:
    """As whom its machines run, and what there is to say about that. One that is not there fails the launch, so it is said before."""
    email = given or apis.account_email(roles.RUNNER_ACCOUNT)
    try:
        there = apis.find_account(email) is not None
    except ApiError as error:
        if error.status != 403:
            raise apis.transport.explain(error, f"service account `{email}`") from error
        there = True  # who may not look at it may be allowed to use it
    except NoAnswer as error:
        raise apis.transport.explain(error, f"service account `{email}`") from error
    if there:
        return email, ""
    missing = f"there is no service account `{email}`, as which its machines would run"
    hint = (
        "`outlast init` makes it"
        if not given
        else "`outlast init` makes `outlast-runner`, which is used if none is named"
    )
    if world.dry:
        return email, f"{missing}; {hint}"
    raise UsageError(missing, state="nothing was started, nothing is being spent", hint=hint)


def check_max_run(seconds: float) -> None:
    """A machine that is gone before it has booted is paid for, and for nothing."""
    if seconds < cost.BOOT_SECONDS:
        raise UsageError(
            f"`--max-run` of {seconds:g} s ends before a rented machine has booted, which takes it about {cost.BOOT_SECONDS:.0f} s",
            hint="`--max-run 2h` or `--max-run 30m`: a number without a unit is seconds",
        )


def check_max_cost(max_cost_usd: float, rented: Rented) -> None:
    """It must be possible to keep it, and to work for it."""
    if not rented.usd_per_hour:
        raise UsageError(
            f"no price of `{rented.machine_type}` in `{rented.regions[0]}` is known, so `--max-cost` could not be kept",
            hint="leave `--max-cost` out, and let `--max-run` end it",
        )
    after_usd = rented.usd_per_hour * rented.linger_seconds / 3600
    rent = cost.Rent(rented.usd_per_hour, max_cost_usd=max_cost_usd, after_usd=after_usd)
    seconds = cost.work_seconds(None, rent, 0.0, DEADLINE_EARLY_SECONDS, DEADLINE_EARLY_SHARE)
    if seconds is not None and seconds < WORK_SECONDS_MIN:
        lingering = ", lingering included" if after_usd else ""
        raise UsageError(
            f"`--max-cost {max_cost_usd:g}` pays for {max_cost_usd / rented.usd_per_hour * 60:.0f} min of "
            f"`{rented.machine_type}` at ${rented.usd_per_hour:.2f} an hour{lingering}: too little to boot, work and save",
            hint=f"`--max-cost {math.ceil((rented.usd_per_hour + after_usd) * 100) / 100:g}` is an hour of it",
        )


def _architecture(known: Catalog, choice: Choice) -> str:
    family = known.families.get(choice.machine.family)
    return family.architecture if family else "x86_64"


def _disk_gb(asked_gb: int | None, image_gb: int, choice: Choice) -> int:
    if asked_gb is None:
        return max(image_gb, DISK_GB_DEFAULT_WITH_GPUS if choice.gpu else DISK_GB_DEFAULT)
    if asked_gb < image_gb:
        raise UsageError(
            f"`--disk-gb {asked_gb}` is less than the {image_gb} GB of its image", hint=f"`--disk-gb {image_gb}`"
        )
    return asked_gb


def in_region(machine: Machine, region: str, *, narrow: bool = True) -> Machine:
    """The machine as it is rented in that region of its list: its price is that region's, and its zones, if `narrow`."""
    if machine.rented is None:
        return machine
    rented = machine.rented
    if narrow:
        zones = tuple(zone for zone in rented.zones if zone.rpartition("-")[0] == region)
        rented = replace(rented, regions=(region,), zones=zones)
    now, on_demand = (quoted(machine, region, spot=spot) for spot in (rented.spot, False))
    rented = replace(
        rented,
        usd_per_hour=now.total if now else 0.0,
        usd_per_hour_on_demand=on_demand.total if on_demand else 0.0,
    )
    return replace(machine, rented=rented)


def quoted(machine: Machine, region: str, *, spot: bool) -> Price | None:
    """What an hour of it costs; None: the catalog does not know."""
    assert machine.rented is not None
    if machine.rented.service:
        from outlast.jobs.quote_contained import quoted_contained

        return quoted_contained(machine, region, spot=spot)
    rented, known = machine.rented, catalog()
    machine_type = known.machine(rented.machine_type)
    gpu = next((one for one in known.gpus.values() if one.cloud_name == rented.accelerator), None)
    if machine_type is None or (rented.accelerator and gpu is None):
        return None
    billed = Billed(machine_type, gpu, machine.gpus, rented.disk_type, rented.disk_gb, rented.external_ip)
    return price(known, billed, region, spot=spot)
