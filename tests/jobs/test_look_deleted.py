"""Whoever looks at a job while somebody deletes it is told that it is gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from outlast.errors import KeyMissing, NotFound
from outlast.jobs.look import look


class Going:
    """Head is there at the first look, and nothing is after that."""

    def __init__(self) -> None:
        self.looks = 0

    def existing_head(self) -> object:
        self.looks += 1
        if self.looks > 1:
            raise NotFound("no such job")
        return SimpleNamespace(head=SimpleNamespace(launch=1))

    def read_spec(self) -> None:
        raise KeyMissing("jobs/x/head.json")


def test_a_job_that_is_deleted_while_somebody_looks_is_not_found() -> None:
    with pytest.raises(NotFound):
        look(cast(Any, None), cast(Any, SimpleNamespace(folder=Going())))
