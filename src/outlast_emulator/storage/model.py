"""Cloud Storage without HTTP: what the JSON API and the XML API both speak for."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from outlast_emulator.clock import Clock
from outlast_emulator.storage import listing
from outlast_emulator.storage.buckets import Buckets
from outlast_emulator.storage.contents import Contents, sweep_later
from outlast_emulator.storage.database import Database
from outlast_emulator.storage.objects import Objects
from outlast_emulator.storage.stored import Departed
from outlast_emulator.storage.uploads import Uploads
from outlast_emulator.storage.usage import Usage
from outlast_emulator.switches import Switches

BUSY = 5
"""SQLITE_BUSY"""


class Storage:
    """Refusals are `ApiError`s with Google's statuses and reasons. Safe for any number of threads."""

    def __init__(self, root: Path, clock: Clock, switches: Switches) -> None:
        os.makedirs(root, mode=0o700, exist_ok=True)
        try:
            self.database = Database(root / "storage.db", clock)
        except sqlite3.OperationalError as error:
            if (
                getattr(error, "sqlite_errorcode", BUSY) == BUSY
            ):  # Python 3.10 does not say; the usual reason is this one
                raise InUse(root) from error
            raise OSError(0, f"the database cannot be opened: {error}", str(root)) from error
        self.contents = Contents(root / "contents", self.database)
        self.buckets = Buckets(self.database, clock, switches)
        self.usage = Usage(clock, self._sizes())
        self.objects = Objects(self.database, self.contents, self.buckets, self.usage, clock, switches)
        self.uploads = Uploads(self.database, self.contents, clock, switches)
        self._clock = clock
        sweep_later(self.contents, self._owned(), self.database.next_id())

    def list_departed(self, bucket: str, query: listing.Query) -> tuple[list[Departed], str]:
        """Deleted under a soft-delete policy; and the token of the next page."""
        self.buckets.find(bucket)
        self.objects.purge()
        return listing.departed(self.database, bucket, query, int(self._clock.now() * 1e6))

    def list(self, bucket: str, query: listing.Query) -> listing.Page:
        self.buckets.find(bucket)
        return listing.objects(self.database, bucket, query)

    def close(self) -> None:
        self.database.close()

    def _sizes(self) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for table in ("objects", "departed"):
            for bucket, size in self.database.rows(f"SELECT bucket, sum(size) FROM {table} GROUP BY bucket"):  # noqa: S608
                sizes[bucket] = sizes.get(bucket, 0) + size
        return sizes

    def _owned(self) -> set[int]:
        owned: set[int] = set()
        for question in (
            "SELECT content FROM objects WHERE NOT inline",
            "SELECT content FROM departed WHERE NOT inline",
            "SELECT content FROM uploads WHERE NOT done",
        ):
            owned.update(row[0] for row in self.database.rows(question))
        return owned


class InUse(Exception):
    """Another emulator has this data directory open."""
