"""A sweep's money holds with nobody there; stopped, it saves; resumed, it goes on with fresh machines and what is missing."""

from __future__ import annotations

import re

import pytest

from outlast.agent.sweep_terms import AHEAD_SECONDS, LEAVE_SECONDS
from outlast.folder.bills import Bills
from tests.sweep_compute.sweeper import Sweeper, chain
from tests.waiting import until


def usd_per_hour(sweeper: Sweeper) -> float:
    said = sweeper.user.outlast("run", "--on", "compute", "--dry-run", "--json", "train.py")
    assert said.code == 0, said.err
    return float(said.json["spec"]["machine"]["rented"]["usd_per_hour"])


def test_a_sweep_that_runs_out_of_money_ends_by_itself_and_goes_on_with_more(sweeper: Sweeper) -> None:
    """A share of five minutes pays for a boot, one cell or two, an end, and for machines that come only to leave."""
    sweeper.user.write("train.py", "pass\n")
    limit = usd_per_hour(sweeper) * 2 * (LEAVE_SECONDS + 133) / 3600
    cells = {"seed": list(range(5)), "pause": 2.5}
    said = sweeper.sweep("lr", cells, "--parallel", "2", "--max-cost", f"{limit:.6f}")
    assert said.code == 0, said.err
    head = sweeper.wait_for_end("lr")
    assert head["state"] == "expired" and "cells have not been begun" in head["reason"], head
    sweeper.wait_until_nothing_is_paid_for()
    done = sweeper.rows("lr")
    assert 0 < len(done) < 5 and all(row.state == "succeeded" for row in done.values())
    assert sweeper.usd_of_machines() <= sweeper.billed_usd("lr") <= limit

    spent = sweeper.billed_usd("lr")
    refused = sweeper.user.outlast("resume", "--detach", "--max-cost", f"{spent + limit / 6:.6f}", "lr")
    assert refused.code == 2 and "pays for no work" in refused.err, refused.err
    more = re.search(r"--max-cost (\d+)", refused.err)
    assert more is not None
    said = sweeper.user.outlast("resume", "--detach", "--max-cost", more[1], "lr")
    assert said.code == 0, said.err
    assert sweeper.wait_for_end("lr")["state"] == "succeeded"
    sweeper.wait_until_nothing_is_paid_for()
    rows = sweeper.rows("lr")
    assert sorted(rows) == list(range(1, 6)) and {row.launch for row in rows.values()} == {1, 2}
    assert all(rows[cell] == row for cell, row in done.items()), "what was done is not done again"


@pytest.mark.soak
def test_a_machine_that_is_cut_off_is_gone_before_what_it_has_paid_for_is_over(sweeper: Sweeper) -> None:
    sweeper.user.write("train.py", "pass\n")
    limit = usd_per_hour(sweeper) * 900 / 3600
    said = sweeper.sweep("lr", {"seed": 1, "waits": True}, "--parallel", "1", "--max-cost", f"{limit:.6f}")
    assert said.code == 0, said.err
    until(lambda: sweeper.has_saved("lr", 1), "something is saved")
    bills, store = Bills(sweeper.folder("lr")), sweeper.folder("lr").store
    launch_id = sweeper.launch("lr").id

    def ahead_seconds() -> float:
        return bills.of_launch(launch_id)[0].until - store.now()

    until(lambda: ahead_seconds() <= AHEAD_SECONDS, "what was paid for its preparations is given back")
    (machine,) = sweeper.machines()
    sweeper.post("machines/cut", instance=machine["instance"], cut=True)
    paid_until = bills.of_launch(launch_id)[0].until
    until(lambda: [one["pid"] for one in sweeper.machines()] != [machine["pid"]], "it has left")
    assert store.now() <= paid_until
    until(lambda: len(bills.of_launch(launch_id)) == 2, "the next one pays")
    first, second = bills.of_launch(launch_id)
    assert first.until <= paid_until and second.began_at >= first.began_at
    sweeper.let_go()
    assert sweeper.wait_for_end("lr")["state"] == "succeeded"
    sweeper.wait_until_nothing_is_paid_for()
    assert sweeper.usd_of_machines() <= sweeper.billed_usd("lr") <= limit
    assert len(sweeper.cell("lr", 1).attempts) == 2


def test_where_money_limits_it_a_machine_that_reaches_nobody_waits_and_is_not_made_again_and_again(
    sweeper: Sweeper,
) -> None:
    """Google ends it with its share, and its group is smaller then: powered off, it would be made again as long as nobody looks."""
    environment = {"OUTLAST_PAUSE_SECONDS": "0", "OUTLAST_TRIES_MAX": "3"}
    sweeper.post("world", environment=environment, shown={"/srv/flags": str(sweeper.flags)})
    sweeper.post("capacity", zone="us-central1-*", machines=0)
    said = sweeper.sweep("lr", {"seed": 1, "waits": True}, "--parallel", "1", "--max-cost", "1")
    assert said.code == 0, said.err
    fault = sweeper.emulator.fault("storage.objects.insert", "error", status=503, times=12)
    sweeper.post("capacity", zone="us-central1-*", machines=10)
    until(lambda: any(one["pid"] for one in sweeper.machines()), "it boots")
    (first,) = sweeper.machines()
    until(lambda: sweeper.emulator.used_up(fault), "it was refused four times as often as it would bear otherwise")
    until(lambda: sweeper.has_saved("lr", 1), "it goes on when the home is back")
    assert [one["pid"] for one in sweeper.machines()] == [first["pid"]]
    sweeper.let_go()
    assert sweeper.wait_for_end("lr")["state"] == "succeeded"
    sweeper.wait_until_nothing_is_paid_for()


def test_more_machines_than_its_money_pays_for_are_refused(sweeper: Sweeper) -> None:
    said = sweeper.sweep("lr", {"seed": list(range(40))}, "--parallel", "40", "--max-cost", "0.05")
    assert said.code == 2 and "divided among 40 machines" in said.err and "--parallel" in said.err, said.err
    assert not sweeper.rented()


def test_when_its_time_is_over_running_cells_save_and_no_other_is_begun(sweeper: Sweeper) -> None:
    said = sweeper.sweep("lr", {"seed": list(range(6)), "waits": True}, "--parallel", "1", "--max-run", "45s")
    assert said.code == 0, said.err
    head = sweeper.wait_for_end("lr")
    assert head["state"] == "expired", head
    sweeper.wait_until_nothing_is_paid_for()
    rows = sweeper.rows("lr")
    assert len(rows) == 1 and all(row.state == "expired" for row in rows.values()), rows
    assert "5 of 6 cells have not been begun" in head["reason"], head["reason"]


def test_stop_lets_every_running_cell_save_and_resume_goes_on_with_fresh_machines(sweeper: Sweeper) -> None:
    cells = {"seed": list(range(5)), "steps": 40, "pause": 0.2}
    said = sweeper.sweep("lr", cells, "--parallel", "2")
    assert said.code == 0, said.err
    until(lambda: len(sweeper.claims("lr")) == 2, "two are begun")
    begun = sorted(sweeper.claims("lr"))
    until(lambda: all(sweeper.has_saved("lr", cell) for cell in begun), "both have saved something")
    stopped = sweeper.user.outlast("stop", "lr")
    assert stopped.code == 0, stopped.err
    assert sweeper.head("lr")["state"] == "stopped"
    sweeper.wait_until_nothing_is_paid_for()
    assert {cell: row.state for cell, row in sweeper.rows("lr").items()} == dict.fromkeys(begun, "stopped")
    steps = {}
    for cell in begun:
        (attempt,) = sweeper.cell("lr", cell).attempts.values()
        assert attempt.committed_step is not None and attempt.step is not None
        assert attempt.committed_step >= attempt.step, "all that it did is saved"
        steps[cell] = attempt.committed_step

    said = sweeper.user.outlast("resume", "--detach", "lr")
    assert said.code == 0, said.err
    assert sweeper.wait_for_end("lr")["state"] == "succeeded"
    sweeper.wait_until_nothing_is_paid_for()
    assert sorted(sweeper.rows("lr")) == [1, 2, 3, 4, 5]
    for cell in begun:
        attempts = list(sweeper.cell("lr", cell).attempts.values())
        assert attempts[1].resumed_from_step == steps[cell] and attempts[1].machine != attempts[0].machine
    assert [sweeper.output("lr", cell) for cell in range(1, 6)] == [chain(seed, 40) for seed in range(5)]
    assert "nothing is paid for" in sweeper.user.outlast("audit").err
