"""Whose home is not there, and whose home only we cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from outlast.clock import SYSTEM
from outlast.engines.engine import Launch
from outlast.errors import Denied, NotFound, StoreUnavailable
from outlast.jobs import adrift
from outlast.spec.spec import Machine


def launch(home: str) -> Launch:
    return Launch(home, "job", 1, "id", 1, Machine(), SYSTEM.now() + 600)


@pytest.mark.parametrize(
    ("home", "error", "is_adrift"),
    [
        ("/disk", StoreUnavailable("not mounted"), True),
        ("/disk", NotFound("nothing like that"), True),
        ("/disk", Denied("you may not read it"), False),
        ("gs://bucket", Denied("your token has expired"), False),
        ("gs://bucket", StoreUnavailable("no network"), False),
    ],
)
def test_a_job_is_adrift_where_its_home_is_gone_and_not_where_whoever_asks_cannot_read_it(
    home: str, error: Exception, is_adrift: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is not is not stopped without a save: its machine may be committing."""

    def refuse(*_: object) -> Iterator[None]:
        raise error

    monkeypatch.setattr(adrift, "having", refuse)
    monkeypatch.setattr(adrift, "HELD", {"local": lambda user_dir: iter([launch(home)])})
    world = cast(Any, SimpleNamespace(user_dir="", home=lambda url: None, check_mounted=lambda home: None))
    assert bool(list(adrift.adrift(world, lambda one: True))) is is_adrift
