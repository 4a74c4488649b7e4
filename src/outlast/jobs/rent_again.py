"""What a job that goes on rents: what it had, but for what was asked for now."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from outlast.agent.vigil import DEADLINE_EARLY_SECONDS, DEADLINE_EARLY_SHARE
from outlast.dataclass import replace
from outlast.errors import NotFound, OutlastError, UsageError
from outlast.folder import cost
from outlast.jobs.asked import Asked
from outlast.jobs.machine import find_machine, first_region
from outlast.spec.managing import Managing
from outlast.spec.spec import Machine, Rented

if TYPE_CHECKING:
    from outlast.folder.records import Head, LaunchRecord
    from outlast.jobs.world import World

SIZE = ("cpus", "gpus", "machine_type")
PLACE = ("region", "zones", "exclude_zones")


def machine_again(world: World, previous: LaunchRecord, changes: Mapping[str, Any], home: str | None = None) -> Machine:
    """`changes`: fields of a request, those that were given. Without any, the very machine of the launch before.

    `home`: the job's, which remembers where there was capacity.
    """
    machine = previous.machine
    wanted = {name: value for name, value in changes.items() if name not in ("max_cost_usd", "container")}
    if not wanted:
        return machine
    engine = world.engine(previous.engine)
    if wanted.get("on", previous.engine) != previous.engine:
        from outlast.jobs.other_engine import machine_at

        return machine_at(world, previous, world.engine(wanted["on"]), changes)
    wanted.pop("on", None)
    if not wanted:
        return machine
    if machine.rented is None:
        share = {"cpus": machine.cpus, "gpus": machine.gpus}
        return find_machine(world, Asked(target="", **{**share, **wanted}), engine).machine
    before = as_before(machine, machine.rented, wanted)
    if machine.rented.service:
        before = _as_before_managed(machine, machine.rented, before, wanted)
        wanted.pop("managed", None)
    asked = Asked(target="", **{"home": home, **before, **wanted})
    found = first_region(find_machine(world, asked, engine).machine)
    if machine.rented.service and found.rented is not None:
        pools = found.rented.pools if is_resized(changes) else machine.rented.pools
        rented = replace(found.rented, image=machine.rented.image, pools=pools)
        found = first_region(replace(found, rented=rented))
    engine.check(found, workers=previous.workers)
    return found


def check_image(world: World, job: str, machine: Machine) -> None:
    """The image that a job pins may have been deleted since it ended: then no machine could be made, and it would end again at once."""
    rented = machine.rented
    if rented is None or rented.service or not rented.image:
        return
    from outlast.catalog.images import find_image
    from outlast.catalog.table import catalog
    from outlast.google.connect import connect

    try:
        find_image(connect(world.environ), catalog(world.environ), rented.project, rented.image)
    except NotFound:
        raise NotFound(
            f"the image of job `{job}` is gone: `{rented.image}`",
            state="nothing was started, nothing is being spent",
            hint=f"`outlast resume {job} --image FAMILY` goes on with another; `outlast image list` shows yours",
        ) from None
    except OutlastError:
        return  # whoever may not look at images may still rent


def differs(one: Machine, other: Machine) -> bool:
    """In what was asked for: the order in which zones are tried, and their prices, change by themselves."""
    return _asked_for(one) != _asked_for(other)


def _asked_for(machine: Machine) -> Machine:
    if machine.rented is None:
        return machine
    zones = tuple(sorted(machine.rented.zones))
    return replace(machine, rented=replace(machine.rented, zones=zones, usd_per_hour=0.0, usd_per_hour_on_demand=0.0))


def as_before(machine: Machine, rented: Rented, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """As a request for what is rented now; what depends on something that changes is left to be chosen anew."""
    before: dict[str, Any] = {
        "project": rented.project,
        "region": ",".join(rented.regions),
        "spot": rented.spot,
        "disk_gb": rented.disk_gb,
        "image": rented.image,
        "service_account": rented.service_account,
        "network": rented.network,
        "external_ip": rented.external_ip,
        "linger_seconds": rented.linger_seconds,
    }
    resized = is_resized(wanted)
    if not resized:
        before |= {"machine_type": rented.machine_type, "disk_type": rented.disk_type}
        before["gpus"] = f"{machine.gpus}x{rented.accelerator}" if rented.accelerator else 0
    elif "gpus" in wanted and bool(rented.accelerator) != (str(wanted["gpus"]) != "0"):
        del before["image"]  # with or without a driver
    elif "gpus" not in wanted and rented.accelerator:
        before["gpus"] = f"{machine.gpus}x{rented.accelerator}"
    if "zones" in wanted:
        del before["region"]
    if not resized and not any(name in wanted for name in PLACE):
        before["zones"] = rented.zones
    if "project" in wanted and "service_account" not in wanted:
        del before["service_account"]
    return before


def is_resized(changes: Mapping[str, Any]) -> bool:
    """Whether another machine is asked for, by whichever name."""
    managed: Managing = changes.get("managed", Managing())
    return any(name in changes for name in SIZE) or managed.no_gpu or managed.older or bool(managed.tpu)


def _as_before_managed(
    machine: Machine, rented: Rented, before: Mapping[str, Any], wanted: Mapping[str, Any]
) -> dict[str, Any]:
    """Less what a service chooses, and with what only a service has."""
    from outlast.jobs.other_engine import tpu_words

    new: Managing = wanted.get("managed", Managing())
    before_tpu = tpu_words(machine)
    tpu = new.tpu if is_resized(wanted) else before_tpu
    managed = replace(
        new,
        tpu=tpu,
        flex_start=new.flex_start or (rented.flex_start and "spot" not in wanted),
        tensorboard=new.tensorboard or rented.tensorboard,
    )
    gone = {"image", "zones", "external_ip"}
    if tpu or before_tpu or new.older or new.no_gpu:
        gone |= {"machine_type", "gpus"}
    return {**{name: value for name, value in before.items() if name not in gone}, "managed": managed}


def max_cost_again(
    job: str, head: Head, previous: LaunchRecord, machine: Machine, now: float, given: float | None
) -> float | None:
    """The sum that counts from now on: over all that was spent before, too. One that is spent must be raised."""
    limit = given if given is not None else previous.max_cost_usd
    if limit is None:
        return None
    raised = raised_usd(head, replace(previous, machine=machine, max_cost_usd=limit), now)
    if raised is None:
        return limit
    spent = cost.spent_usd(head, now)
    raise UsageError(
        f"job `{job}` has cost ${spent:,.2f} of the ${limit:,.2f} that it may cost: what is left pays for no work",
        state="nothing was started, nothing is being spent",
        hint=f"`outlast resume {job} --max-cost {raised}`: what it has cost already counts",
    )


def raised_usd(head: Head, launch: LaunchRecord, now: float) -> int | None:
    """The limit under which it could go on, where what is left of its own pays for no work; None: it does, or there is none."""
    rent = cost.rent_of(launch)
    seconds = cost.work_seconds(head, rent, now, DEADLINE_EARLY_SECONDS, DEADLINE_EARLY_SHARE)
    if seconds is None or seconds > 0:
        return None
    return math.ceil(cost.spent_usd(head, now) + max(rent.max_cost_usd or 0.0, rent.usd_per_hour))
