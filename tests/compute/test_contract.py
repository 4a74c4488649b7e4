"""The compute engine keeps every promise, on machines that really run and really die."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from outlast.testing.engine_contract import PROMISES
from outlast.testing.engine_place import Place
from tests.compute.place import ComputePlace


@pytest.mark.parametrize("check", PROMISES, ids=lambda check: check.__name__.removeprefix("check_"))
def test_promise(check: Callable[[Place], None], place: ComputePlace) -> None:
    check(place)
