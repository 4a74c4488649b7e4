"""Every registered engine keeps every promise."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from outlast.engines.registry import BUILT_IN, ENGINES
from outlast.host import system
from outlast.testing.engine_contract import PROMISES
from outlast.testing.engine_place import Place
from tests.engines.conftest import leave_nothing

COVERED = {"local", "compute", "vertex"}
"""The engines for which there is a place: in conftest.py, and in tests/compute, where machines are rented."""


def test_every_registered_engine_is_held_to_the_contract() -> None:
    assert set(BUILT_IN) == COVERED
    assert set(ENGINES) >= COVERED


@pytest.mark.parametrize("check", PROMISES, ids=lambda check: check.__name__.removeprefix("check_"))
def test_promise(check: Callable[[Place], None], place: Place) -> None:
    check(place)


NEEDS_LINUX = {"check_a_machine_takes_all_its_processes_with_it"}
"""Elsewhere a daemon that has left its machine's session cannot be found once init was killed."""


@pytest.mark.parametrize(
    "check",
    [check for check in PROMISES if check.__name__ not in NEEDS_LINUX],
    ids=lambda check: check.__name__.removeprefix("check_"),
)
def test_promise_where_there_is_no_linux(
    check: Callable[[Place], None], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way for other systems, gone on this one."""
    monkeypatch.setenv("OUTLAST_SYSTEM", "posix")
    monkeypatch.setattr(system, "LINUX", False)
    system.boot_id.cache_clear()
    try:
        check(place)
        leave_nothing(place.scratch)
    finally:
        monkeypatch.undo()
        system.boot_id.cache_clear()
