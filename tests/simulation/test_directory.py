"""The directory store's compare-and-swap, put aside before every one of its calls."""

from __future__ import annotations

from outlast.testing.simulation.directory import try_directory


def test_swaps_of_a_directory_form_a_chain_whoever_sleeps_in_between() -> None:
    broken = {seed: problems for seed in range(500) if (problems := try_directory(seed))}
    assert broken == {}
