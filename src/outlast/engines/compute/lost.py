"""How long machines have lived that never came up: by the times of what they have left in the home."""

from __future__ import annotations

from datetime import datetime

from outlast.dataclass import dataclass
from outlast.engines.compute.boots import read_boots
from outlast.engines.compute.names import Bucket, bucket_of
from outlast.errors import OutlastError
from outlast.google.errors import ApiError
from outlast.google.storage import StorageClient
from outlast.google.transport import Transport
from outlast.google.wire import NoAnswer

LIFE_SECONDS_MAX = 1800.0
"""A machine that left no last word has lived so long at most: its agent comes up, or its startup script gives up, long before."""


@dataclass(frozen=True)
class Lost:
    machines: int = 0
    seconds: float = 0.0
    """Of all of them together, from the first that was heard of each to the last."""


def lost_before(transport: Transport, home: str, prefix: str, rank: int, boot: int) -> Lost:
    """Of one rank: those in a row just before this boot. What cannot be read is not counted, and keeps nobody from anything."""
    try:
        return _Reader(transport, bucket_of(home), prefix).before(rank, boot)
    except (ApiError, NoAnswer, OutlastError):
        return Lost()


def lost_at_end(transport: Transport, home: str, prefix: str, there_until: float | None = None) -> Lost:
    """Of all ranks: those after which nobody came up. `there_until`: until then lived the last of them, which have said no last word."""
    try:
        reader = _Reader(transport, bucket_of(home), prefix)
        each = [reader.before(rank, newest + 1, there_until) for rank, newest in reader.boots.newest.items()]
    except (ApiError, NoAnswer, OutlastError):
        return Lost()
    return Lost(sum(one.machines for one in each), sum(one.seconds for one in each))


class _Reader:
    def __init__(self, transport: Transport, bucket: Bucket, prefix: str) -> None:
        self._client = StorageClient(transport, bucket.name)
        self._begins = bucket.object(prefix)
        self.boots = read_boots(self._client, bucket, prefix)

    def before(self, rank: int, boot: int, there_until: float | None = None) -> Lost:
        machines, seconds = 0, 0.0
        next_at = self._made_at(f"{rank}-{boot}") or there_until
        for number in range(boot - 1, 0, -1):
            if (rank, number) in self.boots.up:
                break
            began_at = self._made_at(f"{rank}-{number}")
            if began_at is None:
                break
            machines += 1
            ended_at = self._made_at(f"{rank}-{number}-log") or min(next_at or began_at, began_at + LIFE_SECONDS_MAX)
            seconds += max(0.0, ended_at - began_at)
            next_at = began_at
        return Lost(machines, seconds)

    def _made_at(self, name: str) -> float | None:
        try:
            made = self._client.made(f"{self._begins}{name}")
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        return datetime.fromisoformat(made.replace("Z", "+00:00")).timestamp()
