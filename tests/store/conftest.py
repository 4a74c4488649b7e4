"""The contract's own asserts shall explain themselves, although it is shipped code."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(*(f"outlast.testing.store_checks_{part}" for part in ("alone", "keys", "shared")))
