"""A home: all jobs that share a store, and the index that lists them newest first."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from outlast.folder import layout
from outlast.store.store import Store

if TYPE_CHECKING:
    from outlast.folder.folder import Folder


class Indexed(NamedTuple):
    submitted_at: float
    job: str
    launch: int


class Home:
    def __init__(self, store: Store, random: Random) -> None:
        self.store = store
        self.random = random

    @property
    def url(self) -> str:
        return self.store.url

    def folder(self, job: str) -> Folder:
        from outlast.folder.folder import Folder  # the records cost more than a list of jobs that have all ended

        return Folder(self.store, job, self.random)

    def index(self) -> Iterator[Indexed]:
        """One row per launch, newest first. A foreign file in the index is no job and is passed over."""
        for entry in self.store.list(layout.INDEX):
            try:
                yield Indexed(*layout.index_parts(entry.key))
            except ValueError:
                continue

    def jobs(self) -> Iterator[Indexed]:
        """One row per job, the newest launch first."""
        seen: set[str] = set()
        for row in self.index():
            if row.job not in seen:
                seen.add(row.job)
                yield row
