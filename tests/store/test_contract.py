"""The contract, over the registry itself and over every wrapper."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from outlast.clock import SYSTEM
from outlast.errors import PreconditionFailed
from outlast.store.dry import Dry
from outlast.store.memory import MemoryStore
from outlast.store.mortal import Mortal
from outlast.store.registry import SCHEMES, open_store
from outlast.store.retry import Retrying
from outlast.testing.store_checks_keys import FOLDED_KEYS
from outlast.testing.store_contract import CASE_PROMISES, PROMISES, SHARED_PROMISES, Check, Open
from tests import folding

_numbers = itertools.count()

FRESH_URLS: dict[str, Callable[[Path], str]] = {
    "file": lambda scratch: f"file://{scratch}/home%20of%20%25",
    "memory": lambda scratch: f"memory:contract-{next(_numbers)}",
}
"""A place that is empty, for every scheme of the registry: a scheme that is missing here fails a test."""

ELSEWHERE = {"gs": "tests/gcs/test_contract.py"}
"""Schemes that need a server, and where they keep the same promises."""


def of_scheme(scheme: str, scratch: Path) -> Open:
    url = FRESH_URLS[scheme](scratch)
    return lambda: open_store(url)


def over_memory(wrap: Callable[[MemoryStore], object]) -> Callable[[Path], Open]:
    def fresh(scratch: Path) -> Open:
        memory = MemoryStore()
        return lambda: wrap(memory)  # type: ignore[return-value]

    return fresh


def dry_over_memory(scratch: Path) -> Open:
    store = Dry(MemoryStore())
    return lambda: store


WRAPPERS: dict[str, Callable[[Path], Open]] = {
    "retrying": over_memory(lambda memory: Retrying(memory, SYSTEM, Random(0))),
    "mortal": over_memory(Mortal),
}


def test_every_scheme_of_the_registry_is_enrolled() -> None:
    assert {*FRESH_URLS, *ELSEWHERE} == set(SCHEMES)
    assert all(Path(path).is_file() for path in ELSEWHERE.values())


@pytest.mark.parametrize("check", PROMISES + SHARED_PROMISES, ids=lambda check: check.__name__)
@pytest.mark.parametrize("scheme", FRESH_URLS)
def test_a_registered_store_keeps_its_promises(scheme: str, check: Check, tmp_path: Path) -> None:
    check(of_scheme(scheme, tmp_path))


@pytest.mark.parametrize("check", CASE_PROMISES, ids=lambda check: check.__name__)
@pytest.mark.parametrize("scheme", FRESH_URLS)
def test_a_registered_store_confuses_no_keys(scheme: str, check: Check, tmp_path: Path) -> None:
    if sys.platform == "darwin" and scheme == "file":
        pytest.skip("this file system folds case; the directory store says so")
    check(of_scheme(scheme, tmp_path))


@pytest.mark.parametrize("check", PROMISES + SHARED_PROMISES, ids=lambda check: check.__name__)
def test_a_directory_keeps_its_promises_where_names_are_folded(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folding.install(str(tmp_path), monkeypatch.setattr)
    check(of_scheme("file", tmp_path))


def test_where_names_are_folded_nobody_makes_a_key_that_is_there_in_another_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folding.install(str(tmp_path), monkeypatch.setattr)
    store = of_scheme("file", tmp_path)()
    for first, second in ((FOLDED_KEYS[0], FOLDED_KEYS[1]), (FOLDED_KEYS[4], FOLDED_KEYS[5])):
        store.put(first, b"first", if_generation=0)
        with pytest.raises(PreconditionFailed):
            store.put(second, b"second", if_generation=0)
        assert store.get(first).data == b"first"


@pytest.mark.parametrize("check", PROMISES + CASE_PROMISES + SHARED_PROMISES, ids=lambda check: check.__name__)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_keeps_the_promises_of_what_it_wraps(wrapper: str, check: Check, tmp_path: Path) -> None:
    check(WRAPPERS[wrapper](tmp_path))


@pytest.mark.parametrize("check", PROMISES + CASE_PROMISES, ids=lambda check: check.__name__)
def test_a_dry_run_answers_like_a_real_one(check: Check, tmp_path: Path) -> None:
    check(dry_over_memory(tmp_path))
