"""What a job holds on to among the things that jobs share: the tables that prune, and a submit's last look, go by.

Who adds a kind of shared object enters it in `SHARED`, and how a spec leads to it in `WALKS`; the rules are in folder/prunes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from outlast.bundle.dataset.record import DatasetName, find_record
from outlast.bundle.environment.record import part_names, read_manifest
from outlast.bundle.record import read_packs
from outlast.dataclass import replace
from outlast.errors import KeyMissing
from outlast.folder import layout
from outlast.spec.record import decode
from outlast.spec.spec import Spec
from outlast.store.store import Store


class Shared(NamedTuple):
    prefix: str
    word: str
    """For people, in the singular."""

    is_record: Callable[[str], bool]
    """By the key: written with a condition, so that it is condemned and removed by its generation."""


def _always(key: str) -> bool:
    return True


def _never(key: str) -> bool:
    return False


def _if_json(key: str) -> bool:
    return key.endswith(".json") and key.count("/") == 1


def _if_named_json(key: str) -> bool:
    return key.endswith(".json")


SHARED: tuple[Shared, ...] = (
    Shared(layout.BUNDLES, "bundle", _always),
    Shared(layout.PACKS, "pack", _never),
    Shared(layout.DATASETS, "dataset", _if_json),
    Shared(layout.ENVIRONMENTS, "environment", _if_named_json),
)


def _bundle_keys(store: Store, spec: Spec) -> Iterator[str]:
    digest = spec.bundle
    while digest:
        yield layout.bundle(digest)
        try:
            packs, digest = read_packs(store, digest)
        except KeyMissing:
            return  # what is gone holds on to nothing
        yield from map(layout.pack, packs)


def _dataset_keys(store: Store, spec: Spec) -> Iterator[str]:
    for dataset in spec.datasets.values():
        if dataset.digest:
            yield from _keys_of_dataset(store, dataset.digest)


def _keys_of_dataset(store: Store, digest: str) -> Iterator[str]:
    yield layout.dataset(digest)
    try:
        yield from map(layout.pack, find_record(store, digest).all_packs)
    except KeyMissing:
        return


def _environment_keys(store: Store, spec: Spec) -> Iterator[str]:
    if spec.environment is None:
        return
    digest = spec.environment.digest
    yield layout.environment(digest)
    if spec.environment.declaration:
        yield layout.declaration(spec.environment.declaration)
    if next(iter(store.list(layout.environment(digest), limit=1)), None) is not None:
        yield from map(layout.environment_part, part_names(read_manifest(store, digest)))


WALKS: tuple[Callable[[Store, Spec], Iterable[str]], ...] = (_bundle_keys, _dataset_keys, _environment_keys)
"""Each yields keys that the spec needs, or beginnings of keys, which end in `/`."""


class Reach:
    """Everything that the specs given to it lead to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: set[str] = set()
        self._prefixes: set[str] = set()
        self._bundles: set[str] = set()

    def add(self, spec: Spec, *bundles: str) -> None:
        """`bundles`: others than the spec's that its job uses. What cannot be read raises: nobody knows what it holds on to."""
        for bundle in {spec.bundle, *bundles} - self._bundles:
            self._take(_bundle_keys(self._store, replace(spec, bundle=bundle)))
            self._bundles.add(bundle)
        for walk in WALKS:
            if walk is not _bundle_keys:
                self._take(walk(self._store, spec))

    def add_names(self) -> None:
        """A dataset that was pushed under a name is kept for it."""
        for entry in self._store.list(layout.DATASET_NAMES):
            self._keys.add(entry.key)
            try:
                named = decode(DatasetName, self._store.get(entry.key).data, entry.key)
            except KeyMissing:
                continue
            self._take(_keys_of_dataset(self._store, named.digest))

    def _take(self, keys: Iterable[str]) -> None:
        for key in keys:
            (self._prefixes if key.endswith("/") else self._keys).add(key)

    def holds(self, key: str) -> bool:
        first, _, rest = key.partition("/")
        return key in self._keys or f"{first}/{rest.partition('/')[0]}/" in self._prefixes

    @property
    def keys(self) -> frozenset[str]:
        """Those that are named one by one."""
        return frozenset(self._keys)
