"""A home: all jobs that share a store, and the index that lists them newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

        cell = layout.cell_parts(job)
        if cell is None:
            return Folder(self.store, job, self.random)
        from outlast.folder.cell import CellFolder

        return CellFolder(self.store, *cell, self.random)

    def index(self) -> Iterator[Indexed]:
        """One row per launch, newest first."""
        for key in self.index_keys():
            row = self.indexed(key)
            if row is not None:
                yield row

    def index_keys(self) -> Iterable[str]:
        """All keys of the index, newest first."""
        return names_written_once(self.store, layout.INDEX)

    def indexed(self, key: str) -> Indexed | None:
        """None: a foreign file, which is no job."""
        try:
            return Indexed(*layout.index_parts(key))
        except ValueError:
            return None

    def jobs(self) -> Iterator[Indexed]:
        """One row per job, the newest launch first."""
        seen: set[str] = set()
        for row in self.index():
            if row.job not in seen:
                seen.add(row.job)
                yield row


def names_written_once(store: Store, prefix: str) -> Iterable[str]:
    """Keys right below `prefix` that are written once and purged: a store that can tell such names quickly does."""
    names = getattr(store, "names_written_once", None)
    return names(prefix) if names is not None else (entry.key for entry in store.list(prefix))
