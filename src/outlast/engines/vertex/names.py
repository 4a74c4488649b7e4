"""What a launch's custom jobs are called, and the labels by which they are found again."""

from __future__ import annotations

from outlast.engines.compute import names
from outlast.engines.engine import Launch

RANK_LABEL, CLAIM_LABEL = "outlast-rank", "outlast-claim"
DISPLAY_CHARACTERS_MAX = 128
LABELS_MAX = 64


def display_name(launch: Launch, rank: int) -> str:
    """The job's id: it is what people look for. Independent workers are told apart."""
    name = launch.job if launch.workers == 1 or _is_one(launch) else f"{launch.job}-{rank}"
    return name[:DISPLAY_CHARACTERS_MAX]


def labels(launch: Launch, rank: int, claim: str) -> dict[str, str]:
    """Ours are stronger than the user's, and none of ours is left out."""
    ours = {
        **names.ours(launch.home, launch.job, launch.id),
        RANK_LABEL: str(rank),
        CLAIM_LABEL: claim,
    }
    theirs = {name: value for name, value in names.labels(launch).items() if name not in ours and _is_key(name)}
    room = LABELS_MAX - len(ours)
    return {**dict(list(theirs.items())[:room]), **ours}


def _is_key(name: str) -> bool:
    """Google's own begin with a letter, and two beginnings are its own."""
    return name[:1].isalpha() and not name.startswith(("goog-", "google-"))


def filter_of(launch: Launch) -> str:
    return f"labels.{names.LAUNCH_LABEL}={launch.id}"


def _is_one(launch: Launch) -> bool:
    return launch.machine.rented is not None and bool(launch.machine.rented.pools)


def ranks(launch: Launch) -> range:
    """Of the first replica of each custom job: one job where there are pools, else one for each worker."""
    return range(1) if _is_one(launch) else range(launch.workers)
