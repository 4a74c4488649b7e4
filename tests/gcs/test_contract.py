"""The store's promises, kept by a bucket."""

from __future__ import annotations

import pytest

from outlast.store.registry import open_store
from outlast.testing.store_contract import CASE_PROMISES, PROMISES, SHARED_PROMISES, Check


@pytest.mark.parametrize("check", PROMISES + CASE_PROMISES + SHARED_PROMISES, ids=lambda check: check.__name__)
def test_a_bucket_keeps_a_stores_promises(check: Check, home: str) -> None:
    check(lambda: open_store(home))


@pytest.mark.parametrize("check", PROMISES + CASE_PROMISES, ids=lambda check: check.__name__)
def test_a_part_of_a_bucket_keeps_them_too(check: Check, home: str) -> None:
    check(lambda: open_store(f"{home}/some/place"))
