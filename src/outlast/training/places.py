"""Where things are, and who this process is: directories, datasets, configuration, rank."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from outlast.errors import NotFound, UsageError
from outlast.training import context


def output_dir() -> Path:
    """The directory for results; it is there. In a job its files are kept with every checkpoint; by hand it is `./output`, which
    neither git nor `outlast run` takes along."""
    here = context.current()
    here.arrive()
    if here.run_dir is None and "OUTLAST_OUTPUT_DIR" not in os.environ:
        context.make_own(here.output_dir)
    else:
        here.make_run_dir()
        here.output_dir.mkdir(parents=True, exist_ok=True)
    return here.output_dir


def checkpoint_dir() -> Path:
    """The directory for a script's own checkpoints; it is there. By hand it is a new one that goes with the process."""
    here = context.current()
    here.own_checkpoints = True
    if here.kept():
        here.make_run_dir()
    if here.checkpoint_dir is None:
        here.checkpoint_dir = context.scratch_dir("checkpoint")
    here.arrive()
    here.checkpoint_dir.mkdir(parents=True, exist_ok=True)
    return here.checkpoint_dir


def dataset(name: str = "") -> Path:
    """Where the job's dataset lies on this machine (`--dataset`, or `OUTLAST_DATASET`); with a name, one of several."""
    if not isinstance(name, str):
        raise TypeError(f"a dataset's name must be text, not {type(name).__name__}")
    here = context.current()
    whole = here.dataset or os.environ.get("OUTLAST_DATASET", "")
    if not name:
        if not whole:
            raise NotFound(_no_dataset())
        return Path(whole)
    variable = f"OUTLAST_DATASET_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
    if os.environ.get(variable):
        return Path(os.environ[variable])
    if whole and ".." not in Path(name).parts and (Path(whole) / name).exists():
        return Path(whole) / name
    raise NotFound(
        f"the job has no dataset called {name!r}\n\nhint: set {variable}, or put it into the dataset's directory"
    )


def _no_dataset() -> str:
    begin = "OUTLAST_DATASET_"
    url = os.environ.get(f"{begin}URL")
    if url:
        return f"the job's dataset was left at {url}\n\nhint: read it from OUTLAST_DATASET_URL, or submit without --dataset-mode url"
    names = sorted(name.removeprefix(begin).lower() for name in os.environ if name.startswith(begin))
    if names:
        return f"the job has several datasets\n\nhint: name one: {', '.join(f'outlast.dataset({name!r})' for name in names)}"
    return "the job has no dataset\n\nhint: give it one with `outlast run --dataset`; by hand, set OUTLAST_DATASET"


def config() -> dict[str, Any]:
    """The job's configuration: `OUTLAST_CONFIG` is a JSON object, or the path of a JSON or TOML file; else it is empty."""
    given = os.environ.get("OUTLAST_CONFIG", "")
    if not given.strip():
        return {}
    source = "OUTLAST_CONFIG"
    text = given
    if not given.lstrip().startswith("{"):
        source = given
        try:
            text = Path(given).read_text(encoding="utf-8")
        except OSError as error:
            raise NotFound(f"OUTLAST_CONFIG names `{given}`, which cannot be read: {error}") from None
        except UnicodeDecodeError as error:
            raise UsageError(f"`{source}` is no text: {error}") from None
    try:
        content = _read_toml(text, source) if source.endswith(".toml") else json.loads(text)
    except ValueError as error:
        raise UsageError(f"`{source}` is not well formed: {error}") from None
    if not isinstance(content, dict):
        raise UsageError(f"`{source}` must be a JSON object")
    return content


def _read_toml(text: str, source: str) -> dict[str, Any]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ModuleNotFoundError:
            raise UsageError(
                f"`{source}` is TOML, which Python {sys.version_info[0]}.{sys.version_info[1]} cannot read by itself\n\n"
                "hint: `pip install tomli` where the script runs, or write the file as JSON"
            ) from None
    return dict(tomllib.loads(text))


def rank() -> int:
    """Which of the job's workers this process is, from 0."""
    return context.current().attempt.rank


def workers() -> int:
    """How many workers train together."""
    return context.current().attempt.workers
