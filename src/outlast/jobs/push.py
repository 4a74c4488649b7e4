"""`outlast push`: a dataset into the home under a name, for jobs to come."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from outlast.bundle.dataset.push import Pushed, push
from outlast.bundle.dataset.record import DatasetName
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
