"""What a job gets besides its code: datasets, configuration, links. Checked as a whole, then shipped."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outlast.dataclass import dataclass
from outlast.engines.engine import Engine
from outlast.errors import NotFound, UsageError
from outlast.jobs.asked import Asked
from outlast.jobs.world import World
from outlast.spec.progress import OnProgress, silent
from outlast.spec.spec import Dataset
from outlast.store.store import Store

if TYPE_CHECKING:
    from outlast.jobs.datasets import Given


@dataclass(frozen=True)
class Inputs:
    """Checked; nothing of it is shipped yet."""

    datasets: tuple[str, ...]
    """As they were typed, or as the configuration says."""

    config: Mapping[str, Any] | None
    links: tuple[str, ...]
    directories: tuple[Path, ...]
    """Those of this computer among the datasets and links: the bundle need not have them."""


def check_inputs(asked: Asked, directory: Path, engine: Engine, code: Path) -> Inputs:
    """`code`: where configurations are looked for that are not in the directory: those of a commit that is shipped."""
    config: Mapping[str, Any] | None = None
    if asked.config_files or asked.config_values:
        from outlast.spec.config_file import merged_config

        config = merged_config(asked.config_files, asked.config_values, directory, code)
    datasets = asked.datasets or _from_config(config)
    if config is not None and asked.datasets:
        config = _overridden(config, asked.datasets)
    links = _links(asked.links, directory, engine)
    return Inputs(datasets, config, links, (*map(Path, links), *_directories(datasets, directory)))


def ship_datasets(
    world: World, store: Store, inputs: Inputs, asked: Asked, directory: Path, on_progress: OnProgress = silent
) -> tuple[Given, ...]:
    if not inputs.datasets:
        if asked.dataset_mode != "copy":
            raise UsageError("`--dataset-mode` without a dataset", hint="`--dataset gs://bucket/data`")
        return ()
    from outlast.jobs.datasets import give  # a job without data does not pay for it

    return give(world, store, inputs.datasets, asked.dataset_mode, directory, on_progress)


def datasets_of(given: tuple[Given, ...]) -> dict[str, Dataset]:
    return {one.name: one.dataset for one in given}


def _directories(datasets: tuple[str, ...], directory: Path) -> list[Path]:
    if not datasets:
        return []
    from outlast.spec.dataset import is_url, split_dataset

    sources = [split_dataset(text)[1] for text in datasets]
    paths = [Path(os.path.abspath(directory / os.path.expanduser(one))) for one in sources if not is_url(one)]
    return [path for path in paths if path.is_dir()]


def _from_config(config: Mapping[str, Any] | None) -> tuple[str, ...]:
    """`dataset.dir` is the default of `--dataset`."""
    table = (config or {}).get("dataset")
    place = table.get("dir") if isinstance(table, dict) else None
    if place is None or place == "":
        return ()
    if not isinstance(place, str):
        raise UsageError(
            f"the configuration's `dataset.dir` is {place!r}, and no path or URL", hint="`--dataset DIRECTORY`"
        )
    return (place,)


def _overridden(config: Mapping[str, Any], datasets: tuple[str, ...]) -> Mapping[str, Any]:
    """The flag wins, in the stored configuration too. On the machine it becomes the path that the trainer sees."""
    from outlast.spec.dataset import split_dataset

    table = config.get("dataset")
    split = [split_dataset(text) for text in datasets]
    chosen = [source for name, source in split if not name or len(split) == 1]
    if not chosen or not isinstance(table, dict) or "dir" not in table:
        return config
    return {**config, "dataset": {**table, "dir": chosen[0]}}


def _links(links: tuple[str, ...], directory: Path, engine: Engine) -> tuple[str, ...]:
    if links and not engine.capabilities.same_machine:
        raise UsageError(
            f"`--link {links[0]}`: a machine of `{engine.name}` does not see this computer's directories",
            hint=f"`--dataset {links[0]}` uploads it",
        )
    found: dict[str, str] = {}
    for link in links:
        path = os.path.abspath(directory / os.path.expanduser(link))
        name = os.path.basename(path)
        if not os.path.exists(path):
            raise NotFound(f"`--link {link}`: there is no `{path}`", hint="name a directory that is there")
        if not name or directory.is_relative_to(path):
            raise UsageError(f"`--link {link}` holds the working directory itself", hint="name what it is to see")
        if found.setdefault(name, path) != path:
            raise UsageError(f"`{found[name]}` and `{path}` would both be `{name}`", hint="rename one of them")
    return tuple(found.values())
