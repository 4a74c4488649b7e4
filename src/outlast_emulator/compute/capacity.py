"""Whether a zone has room: what the control surface has exhausted, and quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute


class Capacity:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def check(self, project: str, zone: str, document: dict[str, Any]) -> None:
        """Raises `Failure` if an instance like this cannot be had there now."""
