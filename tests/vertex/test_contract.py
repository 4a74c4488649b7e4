"""The vertex engine keeps every promise, in containers that really run and really die."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from outlast.testing.engine_contract import PROMISES
from outlast.testing.engine_place import Place
from tests.vertex.place import VertexPlace


@pytest.mark.parametrize("check", PROMISES, ids=lambda check: check.__name__.removeprefix("check_"))
def test_promise(check: Callable[[Place], None], place: VertexPlace) -> None:
    try:
        check(place)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{place.story()}") from error
