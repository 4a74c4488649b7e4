"""A job's datasets as local paths: each is put in place once per machine, whole or not at all, and shared by the jobs there.

`<user_dir>/cache/datasets/<digest>` is read-only, and a copy: whatever a trainer does to it, nothing of that reaches the home. It is filled
under another name, by whoever holds its lock: who dies half-way leaves nothing that anybody takes for a dataset.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from outlast.bundle.dataset.record import read_record
from outlast.bundle.dataset.remote import OpenStore, copy, look, moved
from outlast.bundle.dataset.unpack import unpack
from outlast.clock import Clock
from outlast.errors import OutlastError
from outlast.host import files
from outlast.host.lock import locked
from outlast.machine.dataset_seal import is_intact, put_seal, read_seal, seal_path
from outlast.spec.dataset import URL_VARIABLE, VARIABLE, is_url, variables
from outlast.spec.spec import Dataset, Spec
from outlast.store.store import Store

BLOCK_BYTES = 4096
"""What a file takes on a disk at least."""

FREE_BYTES_MIN = 64 << 20
SPAN_OF_SAYING_BYTES = 1 << 30
"""A dataset from this size on is announced in the job's log before it is copied."""

Say = Callable[[str], None]


class Amount(NamedTuple):
    """What is to be put in place, and how."""

    files: int
    bytes: int
    fill: Callable[[Path], None]


class Datasets:
    def __init__(self, store: Store, cache: Path, open_store: OpenStore, clock: Clock, say: Say) -> None:
        self._store = store
        self._folder = cache / "datasets"
        self._open_store = open_store
        self._clock = clock
        self._say = say

    def environment(self, spec: Spec) -> dict[str, str]:
        """The variables by which the trainer finds its datasets, which are in place."""
        env: dict[str, str] = {}
        for name, suffixes in variables(list(spec.datasets)).items():
            dataset = spec.datasets[name]
            path = str(self.place(dataset)) if dataset.mode != "url" else ""
            for suffix in suffixes:
                if path:
                    env[f"{VARIABLE}{suffix}"] = path
                if is_url(dataset.url):
                    env[f"{URL_VARIABLE}{suffix}"] = dataset.url
        return env

    def place(self, dataset: Dataset) -> Path:
        """Where it lies on this machine, whole."""
        if dataset.digest:
            record = read_record(self._store, dataset.digest)
            fill = partial(unpack, self._store, record)
            return self._whole(dataset.digest, lambda: Amount(record.files, record.bytes, fill)) / record.file
        key = hashlib.sha256(f"{dataset.url}\0{dataset.version}".encode()).hexdigest()
        return self._whole(key, partial(self._remote, dataset)) / dataset.file

    def _remote(self, dataset: Dataset) -> Amount:
        remote = look(dataset.url, self._open_store)
        if remote.version != dataset.version:
            raise moved(dataset.url)
        fill = partial(copy, remote, open_store=self._open_store, clock=self._clock)
        return Amount(remote.files, remote.bytes, fill)

    def _whole(self, key: str, amount: Callable[[], Amount]) -> Path:
        """`amount` is asked for only if the dataset is not here yet."""
        root, seal = self._folder / key, seal_path(self._folder, key)
        if not is_intact(root, read_seal(seal)):
            self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with locked(self._folder / f".{key}.lock"):
                if not is_intact(root, read_seal(seal)):  # else somebody else was filling it
                    self._make(root, seal, amount())
        os.utime(seal)
        return root

    def _make(self, root: Path, seal: Path, amount: Amount) -> None:
        making, aside = (self._folder / f".{root.name}{end}" for end in ("", ".changed"))
        for left in (making, aside):
            files.remove(left)  # of somebody who died
        if root.is_dir():
            self._say("something has changed a dataset on this machine; it is copied anew")
        self._check_room(amount.bytes, amount.files)
        if amount.bytes >= SPAN_OF_SAYING_BYTES:
            self._say(f"copying a dataset of {amount.bytes:,} bytes to this machine")
        try:
            amount.fill(making)
            put_seal(seal, amount.files, amount.bytes)
            if root.is_dir():
                os.rename(root, aside)
            os.rename(making, root)
        finally:
            files.remove(making)
            files.remove(aside)
        files.sync_directory(self._folder)

    def _check_room(self, size: int, count: int) -> None:
        free = shutil.disk_usage(self._folder).free
        needed = size + count * BLOCK_BYTES + FREE_BYTES_MIN
        if free < needed:
            raise OutlastError(
                f"a dataset of {size:,} bytes does not fit on this machine: {free:,} are free in `{self._folder}`",
                hint="free some space; what lies in that directory may be removed while no job uses it",
            )
