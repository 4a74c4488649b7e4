"""A job's machine and its price, in words."""

from __future__ import annotations

from outlast.cli.terminal import shown
from outlast.cli.words import count, duration, money
from outlast.spec.spec import Machine, Rented


def machine_words(machine: Machine) -> str:
    """`2 CPUs, 1 GPU`; of one that is rented: `g2-standard-12` with 1 L4, 12 CPUs, Spot, in `us-central1`."""
    cpus = count(machine.cpus, "CPU")
    if machine.rented is None:
        return cpus + (f", {count(machine.gpus, 'GPU')}" if machine.gpus else "")
    rented = machine.rented
    gpus = f" with {machine.gpus} {_gpu(rented.accelerator)}" if machine.gpus else ""
    where = " or ".join(f"`{region}`" for region in rented.regions)
    how = "flex-start" if rented.flex_start else "Spot" if rented.spot else "on demand"
    return f"`{rented.machine_type}`{gpus}, {cpus}, {how}, in {where}"


def hourly_words(machine: Machine, workers: int = 1) -> str:
    """`$0.24 per hour`, and how much that is under the price on demand."""
    rented = machine.rented
    if rented is None:
        return f"{money(0.0)} per hour"
    if not rented.usd_per_hour:
        return "at a price that nobody here knows"
    under = 1 - rented.usd_per_hour / rented.usd_per_hour_on_demand if rented.usd_per_hour_on_demand else 0.0
    saved = f" ({under:.0%} under on demand)" if rented.spot and under > 0 else ""
    return f"{money(rented.usd_per_hour * workers)} per hour{saved}"


def limit_words(machine: Machine, workers: int, max_run_seconds: float, max_cost_usd: float | None) -> str:
    """When it ends at the latest, and what it has cost at most by then."""
    ends = f"ends after {duration(max_run_seconds)} at the latest"
    most = machine.rented.usd_per_hour * workers * max_run_seconds / 3600 if machine.rented else 0.0
    if max_cost_usd is not None and machine.rented is not None:
        return f"{ends}, or when it has cost {money(max_cost_usd)}"
    return f"{ends}, for {money(most)} at most" if most else ends


def rented_words(rented: Rented) -> list[str]:
    """What else there is to know of a machine before it is rented."""
    if rented.service:
        return _service_words(rented)
    name = rented.image.rpartition("/")[2]
    project = rented.image.split("/")[1] if rented.image.startswith("projects/") else ""
    network = rented.network or "default"
    address = "with an address of its own" if rented.external_ip else "without an address of its own"
    lines = [
        f"boots `{shown(f'{project}/{name}')}` from {rented.disk_gb:,} GB of {rented.disk_type}",
        f"is `{shown(rented.service_account)}`, in network `{shown(network)}`, {address}",
    ]
    if rented.linger_seconds:
        lines.append(f"stays {duration(rented.linger_seconds)} after the job's end, and is paid for meanwhile")
    return lines


def _service_words(rented: Rented) -> list[str]:
    """Of one that a service runs containers on."""
    network = f", in network `{shown(rented.network)}`" if rented.network else ""
    lines = [
        f"runs `{shown(rented.image)}` with {rented.disk_gb:,} GB of {rented.disk_type}",
        f"is `{shown(rented.service_account)}`{network}",
    ]
    for noun, pool in zip(("workers", "parameter servers", "evaluators"), rented.pools, strict=False):
        if pool.replicas:
            gpus = f" with {pool.accelerators} {_gpu(pool.accelerator)}" if pool.accelerator else ""
            lines.append(f"has {count(pool.replicas, 'machine')} beside it as {noun}: `{pool.machine_type}`{gpus}")
    if rented.flex_start:
        lines.append("waits in the queue for its machine, and keeps it then")
    if rented.tensorboard:
        lines.append(f"writes to `{shown(rented.tensorboard)}`")
    if rented.linger_seconds:
        lines.append(f"stays {duration(rented.linger_seconds)} after the job's end, and is paid for meanwhile")
    return lines


def _gpu(accelerator: str) -> str:
    return accelerator.removeprefix("nvidia-").removeprefix("tesla-").upper()
