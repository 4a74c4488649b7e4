"""What was asked for with `--dataset` becomes a job's datasets: pushed, or found by name, or looked at where it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from outlast.bundle.dataset.push import Pushed, push
from outlast.bundle.dataset.record import read_name, read_record
from outlast.bundle.dataset.remote import check_url, look
from outlast.bundle.listing import DIGEST_FORM
from outlast.dataclass import dataclass
from outlast.errors import NotFound, UsageError
from outlast.folder import layout
from outlast.jobs.world import World
from outlast.spec.dataset import check_dataset_name, is_url, split_dataset, variables
from outlast.spec.names import shown
from outlast.spec.progress import OnProgress, silent
from outlast.spec.spec import Dataset
from outlast.store.store import Store

MODES = ("copy", "url")
DIGEST_LENGTH_MIN = 12
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Given:
    """A dataset of a job, and what is worth saying about it."""

    name: str
    dataset: Dataset
    source: str
    files: int
    bytes: int
    pushed: Pushed | None = None


def give(
    world: World, store: Store, asked: Sequence[str], mode: str, directory: Path, on_progress: OnProgress = silent
) -> tuple[Given, ...]:
    """All that can be wrong is found before anything is uploaded."""
    if mode not in MODES:
        raise UsageError(f"`--dataset-mode {mode}` is neither `copy` nor `url`")
    split = [_split(text, directory) for text in asked]
    variables([name for name, _ in split])
    for _, source in split:
        _check(source, directory)
    if mode == "url" and not any(is_url(source) for _, source in split):
        raise UsageError(
            "`--dataset-mode url` is for a dataset that is a URL", hint="`--dataset gs://bucket/data`, or leave it out"
        )
    return tuple(_give(world, store, name, source, mode, directory, on_progress) for name, source in split)


def pushed_as(store: Store, text: str, directory: Path) -> str:
    """The digest of what was pushed under a name that is typed for `--dataset`; empty: a URL, or a path of this computer."""
    _, source = _split(text, directory)
    _check(source, directory)
    return "" if is_url(source) or _is_local(source, directory) else _digest(store, source)


def _split(text: str, directory: Path) -> tuple[str, str]:
    name, source = split_dataset(text)
    if name and os.path.lexists(directory / text):
        raise UsageError(f"{shown(text)} is a path, and a name with a path too", hint=f"write `./{text}` for the path")
    return name, source


def _check(source: str, directory: Path) -> None:
    if is_url(source) and not source.startswith("file://"):
        check_url(source)
    elif _is_local(source, directory) and not _path(source, directory).exists():
        bucket = (
            f"; `gs://{source}`, if it is in a bucket" if "/" in source and not source.startswith((".", "/")) else ""
        )
        raise NotFound(
            f"there is no {shown(source)} to be a dataset", hint=f"name a directory or a file that is there{bucket}"
        )
    elif not _is_local(source, directory) and not DIGEST_FORM.fullmatch(source):
        check_dataset_name(source)


def _is_local(source: str, directory: Path) -> bool:
    return source.startswith(("file://", ".", "~")) or "/" in source or (directory / source).exists()


def _path(source: str, directory: Path) -> Path:
    if source.startswith("file://"):
        return Path(source.removeprefix("file://"))
    return directory / os.path.expanduser(source)


def _give(
    world: World, store: Store, name: str, source: str, mode: str, directory: Path, on_progress: OnProgress
) -> Given:
    if is_url(source) and not source.startswith("file://"):
        if mode == "url":
            return Given(name, Dataset(url=source, mode=mode), source, 0, 0)
        found = look(source, world.open_store)
        dataset = Dataset(url=source, version=found.version, file=found.file)
        return Given(name, dataset, source, found.files, found.bytes)
    if _is_local(source, directory):
        path = _path(source, directory)
        pushed = push(store, path, cache=world.cache_dir, on_progress=on_progress)
        dataset = Dataset(digest=pushed.digest, url=os.path.abspath(path))
        return Given(name, dataset, source, pushed.files, pushed.bytes, pushed)
    digest = _digest(store, source)
    record = read_record(store, digest)
    return Given(name, Dataset(digest=digest), source, record.files, record.bytes)


def _digest(store: Store, text: str) -> str:
    """Of what was pushed under this name; else of the dataset whose digest begins like this."""
    if DIGEST_FORM.fullmatch(text):
        return text
    try:
        return read_name(store, text).digest
    except NotFound:
        if len(text) < DIGEST_LENGTH_MIN or not _HEX.issuperset(text):
            raise
    found = [entry.key for entry in store.list(f"{layout.DATASETS}{text}", limit=2)]
    if len(found) != 1:
        raise NotFound(
            f"{len(found) or 'no'} datasets in `{store.url}` have a digest that begins with `{text}`",
            hint="give more of it",
        )
    return found[0].removeprefix(layout.DATASETS).removesuffix(".json")
