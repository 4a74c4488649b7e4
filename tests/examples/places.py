"""Where the examples and their data are."""

from __future__ import annotations

from tests.project.project_files import ROOT

__all__ = ["CENSUS", "EXAMPLES", "ROOT"]

EXAMPLES = ROOT / "examples"
CENSUS = ROOT / "build" / "census"
"""Brought by tools/install.py."""
