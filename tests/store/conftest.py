"""The contract's own asserts shall explain themselves, although it is shipped code."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("outlast.testing.store_checks_alone", "outlast.testing.store_checks_shared")
