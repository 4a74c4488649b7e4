"""The boots of a launch's machines, as the startup script counts them in the home.

<rank>-<n>        the nth boot of that rank has begun
<rank>-<n>-up     its agent has come up
<rank>-<n>-log    the end of what it had to say when it gave up
<rank>-<n>-spare  it is not needed any more, and may not leave its group: why
stuck             a machine that has done its work may not end its group: why
failed            three in a row did not come up: the launch is over, and this is why
"""

from __future__ import annotations

from outlast.dataclass import dataclass
from outlast.engines.compute.names import Bucket
from outlast.google.errors import ApiError
from outlast.google.storage import StorageClient
from outlast.pattern import pattern

FAILED = "failed"
WHY_BYTES_MAX = 4000
_BOOT = pattern(r"(\d{1,6})-(\d{1,9})(-up|-log|-spare)?")


@dataclass(frozen=True)
class Boots:
    newest: dict[int, int]
    """Rank -> how many boots it has had."""

    up: frozenset[tuple[int, int]]
    failed: bool
    idle: frozenset[tuple[int, int]] = frozenset()
    """Those that are not needed any more, and could not leave."""

    def is_up(self, rank: int) -> bool:
        return (rank, self.newest.get(rank, 0)) in self.up

    def is_idle(self, rank: int) -> bool:
        return (rank, self.newest.get(rank, 0)) in self.idle


def read_boots(client: StorageClient, bucket: Bucket, prefix: str) -> Boots:
    begins = bucket.object(prefix)
    newest: dict[int, int] = {}
    up: set[tuple[int, int]] = set()
    idle: set[tuple[int, int]] = set()
    failed = False
    token = ""
    while True:
        page = client.list(begins, token=token)
        for one in page.objects:
            name = one.name.removeprefix(begins)
            failed = failed or name == FAILED
            found = _BOOT.fullmatch(name)
            if found is None:
                continue
            rank, number = int(found[1]), int(found[2])
            newest[rank] = max(number, newest.get(rank, 0))
            if found[3] == "-up":
                up.add((rank, number))
            elif found[3] == "-spare":
                idle.add((rank, number))
        token = page.next_token
        if not token:
            return Boots(newest, frozenset(up), failed, frozenset(idle))


def read_failed(client: StorageClient, bucket: Bucket, prefix: str) -> str | None:
    """Why the launch was given up; None: it was not."""
    try:
        data = client.read(bucket.object(f"{prefix}{FAILED}"), size=WHY_BYTES_MAX).body
    except ApiError as error:
        if error.status == 416:
            return ""
        if error.status == 404:
            return None
        raise
    return data.decode(errors="replace").strip()
