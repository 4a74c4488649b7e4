"""The job's configuration as a file: JSON, so that no trainer needs a parser for it, and true on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outlast.host import files
from outlast.spec.dataset import URL_VARIABLE, VARIABLE

NAME = "config.json"


def write_config(config: Mapping[str, Any] | None, datasets: Mapping[str, str], run: str) -> dict[str, str]:
    """`datasets`: the variables of the job's datasets. Answers the variable that names the file; none if there is no configuration."""
    if config is None:
        return {}
    files.put_json(f"{run}/{NAME}", _as_seen_here(config, datasets))
    return {"OUTLAST_CONFIG": f"{run}/{NAME}"}


def _as_seen_here(config: Mapping[str, Any], datasets: Mapping[str, str]) -> Mapping[str, Any]:
    """`dataset.dir`, if it has one, is where the dataset lies: it agrees with `OUTLAST_DATASET`."""
    table = config.get("dataset")
    place = datasets.get(VARIABLE) or datasets.get(URL_VARIABLE)
    if not place or not isinstance(table, Mapping) or "dir" not in table:
        return config
    return {**config, "dataset": {**table, "dir": place}}
