"""Between what was asked and the machines that a service runs containers on: checked by the catalog, the older names translated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.catalog.answers import FORCE, listed, stale
from outlast.catalog.choose import REGION_DEFAULT, Choice, Wish, choose
from outlast.catalog.older import MACHINES, Cluster, Meant, Part, cluster_of
from outlast.catalog.table import Catalog, catalog
from outlast.catalog.vertex import (
    DISK_GB_DEFAULT,
    DISK_GB_MIN,
    DISKS,
    FLEX_START_GPUS,
    FLEX_START_SECONDS_MAX,
    SERVICE,
    not_run,
    runs,
    vertex_catalog,
)
from outlast.catalog.vertex_tpus import Slice, parse_tpu_spec
from outlast.dataclass import replace
from outlast.errors import UsageError
from outlast.google.connect import connect
from outlast.google.errors import ApiError
from outlast.google.project import project_of
from outlast.google.project_apis import ProjectApis
from outlast.google.wire import NoAnswer
from outlast.jobs.machine import Found
from outlast.jobs.networks import check_network
from outlast.jobs.rent import account_for, check_max_cost, in_order, in_region
from outlast.jobs.rent_tpu import Chosen, rent_tpu
from outlast.spec.machine import parse_gpus
from outlast.spec.spec import Machine, Pool, Rented

if TYPE_CHECKING:
    from outlast.jobs.asked import Asked
    from outlast.jobs.world import World


def rent_contained(world: World, asked: Asked) -> Found:
    """UsageError, with what there is instead, for what the catalog or Vertex AI does not have."""
    _refuse(asked)
    known = catalog()
    cluster, notes = _cluster(asked)
    tpu = _tpu(asked, cluster)
    chosen = rent_tpu(known, asked, tpu, _regions(world, asked)) if tpu else _choose(world, known, asked, cluster)
    transport = connect(world.environ)
    project = project_of(asked.project, world.environ, transport)
    apis = ProjectApis(transport, project)
    account, account_note = account_for(world, apis, asked.service_account)
    rented = replace(
        chosen.rented,
        project=project,
        spot=asked.spot and not asked.managed.flex_start,
        flex_start=asked.managed.flex_start,
        disk_gb=asked.disk_gb or DISK_GB_DEFAULT,
        disk_type=asked.disk_type or chosen.rented.disk_type,
        service_account=account,
        network=_network(apis, asked.network, chosen.rented.regions, check=not asked.force),
        tensorboard=_tensorboard(project, chosen.rented.regions, asked.managed.tensorboard),
        external_ip=False,
        linger_seconds=0.0,
        service=SERVICE,
    )
    tried = in_order(world, asked, known, replace(chosen.machine, rented=rented))
    assert tried.machine.rented is not None
    machine = in_region(tried.machine, tried.machine.rented.regions[0], narrow=False)
    assert machine.rented is not None
    if asked.max_cost_usd is not None:
        check_max_cost(asked.max_cost_usd, machine.rented)
    told = (*notes, *chosen.notes, account_note, tried.note, stale(known, world.clock.now()))
    return Found(machine, tuple(note for note in told if note))


def _refuse(asked: Asked) -> None:
    """What has no meaning where somebody else chooses the machine's place, disk and image."""
    refused = {
        "--zone": (asked.zones, "Vertex AI chooses the zone: leave it out, or `--region REGION`"),
        "--exclude-zone": (asked.exclude_zones, "Vertex AI chooses the zone: leave it out"),
        "--image": (asked.image, "`--base-image IMAGE` says what its container begins with"),
        "--no-external-ip": (not asked.external_ip, "its machines have no address of yours: leave it out"),
        "--external-ip": ("--external-ip" in asked.said, "its machines have no address of yours: leave it out"),
        "--shell": (asked.shell, "there is no ssh into Vertex AI's containers: `--on compute --shell`"),
        "--linger": ("--linger" in asked.said, "there is no ssh into Vertex AI's containers: leave it out"),
        "--container-args": ("--container-args" in asked.container.said, "Vertex AI starts them itself: leave it out"),
    }
    for option, (value, hint) in refused.items():
        if value:
            raise UsageError(f"`{option}` has no meaning with `--on vertex`", hint=hint)
    gpus, _ = parse_gpus(str(asked.gpus))
    managed = asked.managed
    if managed.tpu and (gpus or asked.machine_type) and not asked.force:
        named = f"--gpus {asked.gpus}" if gpus else f"--machine-type {asked.machine_type}"
        raise UsageError(f"`--tpu-spec {managed.tpu}` says which machine, and so does `{named}`", hint="leave one out")
    if managed.older and (asked.machine_type or gpus or managed.tpu):
        raise UsageError(
            f"`{next(one for one in managed.said if one != '--tpu-spec')}` and `--machine-type`, `--gpus` or `--tpu-spec` say the same",
            hint="use the newer names: `--machine-type TYPE --gpus GPUS`",
        )
    if asked.disk_type and asked.disk_type not in DISKS and not asked.force:
        raise UsageError(f"Vertex AI has no `{asked.disk_type}` disks", hint=f"{listed(DISKS)}; {FORCE}")
    if asked.disk_gb is not None and asked.disk_gb < DISK_GB_MIN and not asked.force:
        raise UsageError(f"Vertex AI's disks have {DISK_GB_MIN} GB or more", hint=f"leave `--disk-gb` out; {FORCE}")
    if managed.flex_start and "--spot" in asked.said:
        raise UsageError(
            "`--flex-start` and `--spot` contradict each other: what the queue brings is kept",
            hint="leave one of them out",
        )
    if managed.flex_start and asked.max_run_seconds > FLEX_START_SECONDS_MAX:
        raise UsageError("`--flex-start` is for seven days at most", hint="`--max-run 7d`")


def _cluster(asked: Asked) -> tuple[Cluster | None, tuple[str, ...]]:
    """By the older names, of a tier, of its parts, or of one machine; None: none was used."""
    if asked.managed.older:
        return cluster_of(asked.managed)
    older = asked.machine_type.replace("-", "_")
    if older not in MACHINES:
        return None, ()
    meant = MACHINES[older]
    gpus, _ = parse_gpus(str(asked.gpus))
    if gpus and (meant.gpus or meant.tpu):
        raise UsageError(
            f"`--machine-type {asked.machine_type}` has accelerators of its own", hint="leave `--gpus` out"
        )
    was = f"; its {meant.was} cannot be rented any more" if meant.was else ""
    return Cluster(meant), (f"`--machine-type {asked.machine_type}` is {meant.words()} now{was}",)


def _tpu(asked: Asked, cluster: Cluster | None) -> Slice | None:
    if cluster is not None and cluster.master.tpu:
        return parse_tpu_spec(cluster.master.tpu)
    return parse_tpu_spec(asked.managed.tpu) if asked.managed.tpu else None


def _regions(world: World, asked: Asked) -> tuple[str, ...]:
    return tuple(one for one in (asked.region or world.environ.get("REGION", "")).split(",") if one)


def _choose(world: World, known: Catalog, asked: Asked, cluster: Cluster | None) -> Chosen:
    regions = _regions(world, asked)
    wish = _wish(asked, cluster.master if cluster is not None else None, regions)
    _check_runs(known, wish)
    choice = choose(vertex_catalog(known), wish)
    if asked.managed.flex_start:
        _check_flex_start(choice, asked)
    pools = [_pool(known, asked, part, choice.regions) for part in _parts(cluster)]
    disk_type = choice.disk_type if choice.disk_type in DISKS else DISKS[0]
    rented = Rented(
        project="",
        regions=choice.regions,
        machine_type=choice.machine.name,
        accelerator=choice.gpu.cloud_name if choice.gpu else "",
        accelerator_built_in=bool(choice.machine.gpu),
        disk_type=disk_type if disk_type == "hyperdisk-balanced" else DISKS[0],
        pools=tuple(pools),
    )
    notes = tuple(note for note in choice.notes if note)
    return Chosen(Machine(choice.machine.cpus, choice.gpus), rented, notes)


def _wish(asked: Asked, meant: Meant | None, regions: tuple[str, ...]) -> Wish:
    gpus, gpu = parse_gpus(str(asked.gpus))
    wish = Wish(
        cpus=asked.cpus,
        gpus=gpus,
        gpu=gpu,
        machine_type=asked.machine_type,
        regions=regions,
        spot=asked.spot and not asked.managed.flex_start,
        force=asked.force,
        waits=asked.managed.flex_start,
    )
    if meant is None:
        return wish
    own = {"gpus": meant.gpus, "gpu": meant.gpu} if meant.gpus else {}
    return replace(wish, machine_type=meant.machine_type, **own)  # type: ignore[arg-type]


def _check_runs(known: Catalog, wish: Wish) -> None:
    machine = known.machine(wish.machine_type) if wish.machine_type else None
    if machine is not None and not runs(machine) and not wish.force:
        raise not_run(known, machine, (*wish.regions, REGION_DEFAULT)[0], spot=wish.spot)


def _check_flex_start(choice: Choice, asked: Asked) -> None:
    if (choice.gpu is None or choice.gpu.name not in FLEX_START_GPUS) and not asked.force:
        raise UsageError(
            "`--flex-start` queues for GPUs, and for some types only",
            state=f"those are {', '.join(sorted(FLEX_START_GPUS))}",
            hint=f"`--gpus L4`, or leave `--flex-start` out; {FORCE}",
        )


def _parts(cluster: Cluster | None) -> list[Part | None]:
    """In the service's order, without empty ones at the end."""
    parts = [cluster.workers, cluster.servers] if cluster is not None else []
    while parts and parts[-1] is None:
        parts.pop()
    return parts


def _pool(known: Catalog, asked: Asked, part: Part | None, regions: tuple[str, ...]) -> Pool:
    if part is None:
        return Pool()
    wish = _wish(replace(asked, cpus=None, gpus=0, machine_type=""), part.machine, regions)
    _check_runs(known, wish)
    choice = choose(vertex_catalog(known), wish)
    accelerator = choice.gpu.cloud_name if choice.gpu else ""
    return Pool(choice.machine.name, part.replicas, accelerator, choice.gpus)


def _network(apis: ProjectApis, name: str, regions: tuple[str, ...], *, check: bool) -> str:
    """Vertex AI wants the project's number in it. Somebody else's network is taken as it is named."""
    if not name or name.startswith("projects/"):
        return name
    if "subnetworks/" in name:
        raise UsageError("Vertex AI is connected with a whole network, not with a subnetwork", hint="`--network NAME`")
    if check:
        check_network(apis.transport, apis.project, name, regions)
    try:
        number = str(apis.get_project().get("projectNumber", ""))
    except (ApiError, NoAnswer) as error:
        raise apis.transport.explain(error, f"the number of project `{apis.project}`") from error
    return f"projects/{number or apis.project}/global/networks/{name.rpartition('/')[2]}"


def _tensorboard(project: str, regions: tuple[str, ...], text: str) -> str:
    """It is in one region, and so are the jobs that write to it."""
    if not text:
        return ""
    named = text.split("/")[3] if "/" in text else regions[0]
    other = next((region for region in regions if region != named), None)
    if other is not None:
        raise UsageError(
            f"TensorBoard `{text}` is in `{named}`, and its jobs cannot be in `{other}`", hint=f"`--region {named}`"
        )
    return text if "/" in text else f"projects/{project}/locations/{named}/tensorboards/{text}"
