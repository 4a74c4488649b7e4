"""Whatever happens to its machines, a sweep's cells are done once each, its money holds, and then nothing is paid for."""

from __future__ import annotations

from random import Random

import pytest

from tests.sweep_compute.sweeper import Sweeper, chain
from tests.waiting import until

CELLS = 40
MAX_COST_USD = 0.5
NOTICES = (0, 0, 30, 150)
"""Of Google's seconds."""


@pytest.mark.parametrize("seed", [7, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(100, 110))])
def test_forty_cells_on_four_spot_machines_that_are_taken_away(sweeper: Sweeper, seed: int) -> None:
    random = Random(seed)
    cells = {"seed": list(range(CELLS))}
    said = sweeper.sweep("lr", cells, "--parallel", "4", "--max-cost", str(MAX_COST_USD))
    assert said.code == 0, said.err
    for count in (2, 8, 15, 22, 30):
        sweeper.wait_for_rows("lr", count)
        alive = sweeper.alive()
        if not alive or sweeper.is_over("lr"):
            continue
        how = random.choice(["preempt", "preempt", "preempt", "machines/kill"])
        body = {"notice_seconds": random.choice(NOTICES)} if how == "preempt" else {}
        sweeper.emulator.call("POST", f"/_emulator/{how}", {"instance": random.choice(alive), **body})

    head = sweeper.wait_for_end("lr")
    assert head["state"] == "succeeded", head
    sweeper.wait_until_nothing_is_paid_for()
    rows = sweeper.rows("lr")
    assert sorted(rows) == list(range(1, CELLS + 1))
    for number, row in rows.items():
        cell = sweeper.cell("lr", number)
        assert row.state == "succeeded" and row.metrics["loss"] == pytest.approx(1 / 8), row
        causes = [one.cause.value if one.cause else None for one in cell.attempts.values()]
        assert causes.count("succeeded") == 1 and causes[-1] == "succeeded", (number, causes)
        assert sweeper.output("lr", number) == chain(number - 1)
    assert sweeper.usd_of_machines() <= sweeper.billed_usd("lr") <= MAX_COST_USD
    assert "nothing is paid for" in sweeper.user.outlast("audit").err


def test_where_no_replacement_comes_another_worker_takes_the_cell(sweeper: Sweeper) -> None:
    """Both machines have a cell; one is taken away and not given back, the other goes on with what it has saved."""
    said = sweeper.sweep("lr", {"seed": [0, 1], "steps": 40, "pause": 0.2}, "--parallel", "2")
    assert said.code == 0, said.err
    until(lambda: sorted(sweeper.claims("lr")) == [1, 2], "both are begun")
    until(lambda: all(sweeper.has_saved("lr", cell) for cell in (1, 2)), "both have saved something")
    lost, kept = sweeper.who_has("lr", 1), sweeper.who_has("lr", 2)
    assert lost != kept
    sweeper.post("capacity", zone="us-central1-*", machines=0)
    sweeper.post("preempt", instance=lost, notice_seconds=0)
    head = sweeper.wait_for_end("lr")
    assert head["state"] == "succeeded", head
    sweeper.wait_until_nothing_is_paid_for()
    attempts = list(sweeper.cell("lr", 1).attempts.values())
    assert sweeper.claims("lr")[1] > 1
    assert attempts[-1].resumed_from_step, attempts
    assert [sweeper.output("lr", cell) for cell in (1, 2)] == [chain(0, 40), chain(1, 40)]
