"""`outlast push`: a dataset into the home under a name, for jobs to come; and the names that are there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from outlast.bundle.dataset.push import Pushed, push
from outlast.bundle.dataset.record import DatasetName, read_name, read_record
from outlast.dataclass import dataclass
from outlast.errors import Damaged, NewerFormat
from outlast.folder import layout
from outlast.folder.home import Home
from outlast.folder.prunes import newest_prune
from outlast.jobs.world import World
from outlast.spec.dataset import check_dataset_name, legal_dataset_name
from outlast.spec.progress import OnProgress, silent
from outlast.spec.record import encode


@dataclass(frozen=True)
class Named:
    name: str
    home: Home
    pushed: Pushed


class Listed(NamedTuple):
    name: str
    digest: str
    files: int
    bytes: int
    pushed_at: float


def list_names(home: Home) -> Iterator[Listed]:
    """In the order of the names. One that leads nowhere, or cannot be read, has no files."""
    for entry in home.store.list(layout.DATASET_NAMES):
        name = entry.key.removeprefix(layout.DATASET_NAMES).removesuffix(".json")
        if layout.dataset_name(name) == entry.key:
            yield _listed(home, name)


def forget_name(home: Home, name: str) -> Listed:
    """The dataset itself stays: jobs may need it. `NotFound` if nothing has this name."""
    listed = _listed(home, check_dataset_name(name))
    home.store.delete(layout.dataset_name(name))
    return listed


def _listed(home: Home, name: str) -> Listed:
    try:
        named = read_name(home.store, name)
    except (Damaged, NewerFormat):
        return Listed(name, "", 0, 0, 0.0)
    try:
        record = read_record(home.store, named.digest)
    except (Damaged, NewerFormat):
        return Listed(name, named.digest, 0, 0, named.pushed_at)
    return Listed(name, named.digest, record.files, record.bytes, named.pushed_at)


def push_named(
    world: World, path: str, name: str = "", home_url: str | None = None, on_progress: OnProgress = silent
) -> Named:
    """The name is written last, so that it always leads to a dataset that is whole.

    As in a submit: who has relied on what a prune removed at the same moment pushes it again, until no newer prune has come.
    """
    absolute = os.path.abspath(os.path.expanduser(path))
    name = check_dataset_name(name) if name else legal_dataset_name(os.path.basename(absolute))
    home = world.home(home_url)
    world.remember_home(home)
    while True:
        pushed = push(home.store, Path(absolute), cache=world.cache_dir, on_progress=on_progress)
        record = DatasetName(name, pushed.digest, home.store.now())
        home.store.put(layout.dataset_name(name), encode(record))
        if newest_prune(home.store) == pushed.prune:
            return Named(name, home, pushed)
