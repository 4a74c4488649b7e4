"""The names that machines and clusters had in AI Platform, which was shut down, and what each of them is now."""

from __future__ import annotations

from difflib import get_close_matches

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.spec.managing import Managing
from outlast.spec.names import shown


@dataclass(frozen=True)
class Meant:
    """A machine by its name of today."""

    machine_type: str
    gpus: int = 0
    gpu: str = ""
    tpu: str = ""
    """`8xV2`: a TPU instead."""

    was: str = ""
    """What its GPUs were, where they cannot be had any more."""

    def words(self) -> str:
        if self.tpu:
            return f"TPU {self.tpu}"
        gpus = f" with {self.gpus} {self.gpu}" if self.gpus else ""
        return f"`{self.machine_type}`{gpus}"


# The first of the complex ones had 8 CPUs and little memory, as `n1-highcpu-8` has, which Vertex AI does not run.
MACHINES = {
    "standard": Meant("n1-standard-4"),
    "large_model": Meant("n1-highmem-8"),
    "complex_model_s": Meant("n1-standard-8"),
    "complex_model_m": Meant("n1-highcpu-16"),
    "complex_model_l": Meant("n1-highcpu-32"),
    "standard_gpu": Meant("n1-standard-8", 1, "T4", was="1 K80"),
    "complex_model_m_gpu": Meant("n1-standard-16", 4, "T4", was="4 K80"),
    "complex_model_l_gpu": Meant("n1-standard-32", 4, "T4", was="8 K80"),
    "standard_p100": Meant("n1-standard-8", 1, "T4", was="1 P100"),
    "complex_model_m_p100": Meant("n1-standard-16", 4, "T4", was="4 P100"),
    "standard_v100": Meant("n1-standard-8", 1, "V100"),
    "large_model_v100": Meant("n1-highmem-8", 1, "V100"),
    "complex_model_m_v100": Meant("n1-standard-16", 4, "V100"),
    "complex_model_l_v100": Meant("n1-standard-32", 8, "V100"),
    "cloud_tpu": Meant("cloud-tpu", tpu="8xV2"),
}

TIERS = ("BASIC", "STANDARD_1", "PREMIUM_1", "BASIC_GPU", "BASIC_TPU", "CUSTOM")
WORKERS_DEFAULT = 2
"""What `--worker-type` without `--worker-count` meant."""


@dataclass(frozen=True)
class Part:
    """The machines of one pool, and how many."""

    machine: Meant
    replicas: int = 1


@dataclass(frozen=True)
class Cluster:
    """What a tier was: the first machine, workers, parameter servers."""

    master: Meant
    workers: Part | None = None
    servers: Part | None = None


CLUSTERS = {
    "BASIC": Cluster(Meant("n1-standard-4")),
    "STANDARD_1": Cluster(Meant("n1-standard-8"), Part(Meant("n1-standard-8"), 4), Part(Meant("n1-standard-4"), 3)),
    "PREMIUM_1": Cluster(Meant("n1-highcpu-16"), Part(Meant("n1-highcpu-16"), 19), Part(Meant("n1-highmem-8"), 11)),
    "BASIC_GPU": Cluster(MACHINES["standard_gpu"]),
    "BASIC_TPU": Cluster(MACHINES["cloud_tpu"]),
}


def read_tier(text: str) -> str:
    tier = text.strip().upper().replace("-", "_")
    if tier not in TIERS:
        raise UsageError(f"there is no tier {shown(text)}", hint=f"the tiers were {', '.join(TIERS)}")
    return tier


def machine_of(text: str) -> Meant:
    """By its older name, or by one of Compute Engine's, which is passed on."""
    name = text.strip().lower()
    older = name.replace("-", "_")
    if older in MACHINES:
        return MACHINES[older]
    if "-" in name:
        return Meant(name)
    alike = get_close_matches(older, MACHINES, n=1)
    raise UsageError(
        f"there is no machine {shown(text)}",
        state=f"the older names are {', '.join(MACHINES)}",
        hint=f"`{alike[0] if alike else 'standard_gpu'}`, or a machine type such as `n1-standard-8`",
    )


def cluster_of(asked: Managing) -> tuple[Cluster, tuple[str, ...]]:
    """What it is now, and a note for each name that became another."""
    tier = asked.scale_tier or "CUSTOM"
    if tier != "CUSTOM":
        _refuse_parts(asked, tier)
        cluster = CLUSTERS[tier]
        return cluster, tuple(_tier_notes(tier, cluster))
    master = machine_of(asked.master_type or "standard")
    notes = [_note("--master-type", asked.master_type, master)]
    workers = _part("--worker", asked.worker_type, asked.worker_count, WORKERS_DEFAULT, "standard", notes)
    servers = _part("--parameter-server", asked.server_type, asked.server_count, 0, "standard", notes)
    if master.tpu and (workers or servers):
        raise UsageError("a TPU stands alone: no workers or parameter servers beside it", hint="`--worker-count 0`")
    return Cluster(master, workers, servers), tuple(note for note in notes if note)


def _part(option: str, kind: str, count: int | None, default: int, usual: str, notes: list[str]) -> Part | None:
    replicas = count if count is not None else default if kind else 0
    if not replicas:
        if kind and count is None:
            notes.append(f"`{option}-type {kind}` is not used: `{option}-count` is 0 if not said")
        return None
    meant = machine_of(kind or usual)
    notes.append(_note(f"{option}-type", kind, meant))
    if meant.tpu:
        raise UsageError(f"`{option}-type {kind}`: a TPU stands alone", hint="`--tpu-spec 8xV2`")
    return Part(meant, replicas)


def _note(option: str, name: str, meant: Meant) -> str:
    if not name:
        return f"`{option}` is not said: {meant.words()}"
    if meant.machine_type == name.lower():
        return ""
    why = f"; its {meant.was} cannot be rented any more" if meant.was else ""
    return f"`{option} {name}` is {meant.words()} now{why}"


def _tier_notes(tier: str, cluster: Cluster) -> list[str]:
    parts = [cluster.master.words()]
    for part, noun in ((cluster.workers, "workers"), (cluster.servers, "parameter servers")):
        if part is not None:
            parts.append(f"{part.replicas} {noun} of {part.machine.words()}")
    why = f"; its {cluster.master.was} cannot be rented any more" if cluster.master.was else ""
    return [f"`--scale-tier {tier}` is {', '.join(parts)} now{why}"]


def _refuse_parts(asked: Managing, tier: str) -> None:
    """A tier says all of it."""
    given = {
        "--master-type": asked.master_type,
        "--worker-type": asked.worker_type,
        "--worker-count": asked.worker_count,
        "--parameter-server-type": asked.server_type,
        "--parameter-server-count": asked.server_count,
    }
    named = [option for option, value in given.items() if value not in (None, "", 0)]
    if named:
        raise UsageError(
            f"`{named[0]}` is for `--scale-tier CUSTOM`, and `{tier}` says which machines there are",
            hint="`--scale-tier CUSTOM`, or leave one of them out",
        )
