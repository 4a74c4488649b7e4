"""A user of their own for every test."""

from __future__ import annotations

from tests.cli.conftest import user
from tests.crash.conftest import laptop

__all__ = ["laptop", "user"]
