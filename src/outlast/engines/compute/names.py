"""What a launch's resources are called, and the labels by which they are found again.

A group's machines are `outlast-<id>-0`, `-1` and so on: the last number is the rank, and a machine that is made again has the same name.
"""

from __future__ import annotations

from collections.abc import Mapping

from outlast.dataclass import dataclass
from outlast.engines.engine import Launch, home_digest
from outlast.engines.renting import out_of_reach
from outlast.errors import UsageError
from outlast.pattern import pattern

MARK = "outlast"
HOME_LABEL, JOB_LABEL, LAUNCH_LABEL, KIND_LABEL = "outlast-home", "outlast-job", "outlast-launch", "outlast-kind"
LABEL_LENGTH_MAX = 63
STOPPED = "stopped"
SWEEP = "sweep"
"""Of kinds: its workers run the cells of a sweep, each by itself."""

_ID = pattern(r"[0-9a-f]{8,32}")
_BAD = pattern(r"[^a-z0-9_-]")


@dataclass(frozen=True)
class Bucket:
    """A home as machines reach it: the bucket, and what its objects' names begin with."""

    name: str
    prefix: str

    def object(self, key: str) -> str:
        return f"{self.prefix}{key}"


def bucket_of(home: str) -> Bucket:
    """`UsageError` for a home that only this computer can reach."""
    scheme, _, rest = home.partition("://")
    name, _, prefix = rest.partition("/")
    if scheme != "gs" or not name:
        raise out_of_reach(home)
    prefix = prefix.strip("/")
    return Bucket(name, f"{prefix}/" if prefix else "")


def group_name(launch_id: str) -> str:
    if not _ID.fullmatch(launch_id):
        raise UsageError(f"`{launch_id[:60]}` is no launch's id")
    return f"outlast-{launch_id}"


def template_name(launch_id: str, variant: int) -> str:
    """A template cannot be changed: each way of asking has one of its own."""
    return group_name(launch_id) if variant == 0 else f"{group_name(launch_id)}-{variant}"


def stopped_name(launch_id: str) -> str:
    """A template that nobody uses: while it is there, the launch cannot be started."""
    return f"{group_name(launch_id)}-{STOPPED}"


def machine_name(launch_id: str, rank: int) -> str:
    return f"{group_name(launch_id)}-{rank}"


def rank_of(machine: str) -> int | None:
    last = machine.rpartition("-")[2]
    return int(last) if last.isdigit() else None


def labels(launch: Launch) -> dict[str, str]:
    """Ours are stronger than the user's."""
    theirs = {label_text(name): label_text(value) for name, value in launch.labels.items()}
    kind = {KIND_LABEL: SWEEP} if launch.independent else {}
    return {**theirs, **ours(launch.home, launch.job, launch.id), **kind}


def ours(home: str, job: str, launch_id: str) -> dict[str, str]:
    return {
        MARK: "1",
        HOME_LABEL: home_digest(home),
        JOB_LABEL: label_text(job),
        LAUNCH_LABEL: launch_id,
    }


def label_text(text: str) -> str:
    """As Google allows it: no capitals, no dots."""
    return _BAD.sub("-", text.lower())[:LABEL_LENGTH_MAX]


def is_of(labels: Mapping[str, str], launch: Launch) -> bool:
    return labels.get(LAUNCH_LABEL) == launch.id and labels.get(HOME_LABEL) == home_digest(launch.home)
