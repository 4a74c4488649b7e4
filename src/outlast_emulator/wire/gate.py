"""Where connections of one machine come in: whether its network is cut."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Gate:
    is_cut: bool = False
