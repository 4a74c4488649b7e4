"""More of the same, for as long as it takes: `make soak`."""

from __future__ import annotations

import pytest

from outlast.jobs.drill import prepare
from outlast.jobs.world import World
from tests.drill.test_drills import ACCUMULATE, DEMO, DIGITS, NUMPY, OWN_FOLDER, UNMODIFIED

SEEDS = range(1000, 1050)
EXAMPLES = {
    "demo": DEMO,
    "numpy": NUMPY,
    "digits": DIGITS,
    "accumulate": ACCUMULATE,
    "unmodified": UNMODIFIED,
    "own folder": OWN_FOLDER,
}


@pytest.mark.soak
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_training_survives_many_drills(world: World, name: str) -> None:
    lines: list[str] = []
    prepared = prepare(world, EXAMPLES[name], report=lines.append)
    for seed in SEEDS:
        kills = 1 + seed % 5 if name not in ("unmodified", "own folder") else 3
        result = prepared.kill(kills, seed)
        assert result.identical and result.survived, f"seed {seed}, {kills} kills:\n" + "\n".join(lines)
    prepared.remove()
