"""Machines that a sweep does not need any more leave it; several cells share one, with their part of it each."""

from __future__ import annotations

import re

from outlast.folder.bills import Bills
from outlast.jobs import roles
from tests.compute.renter import RUNNER
from tests.sweep_compute.sweeper import Sweeper
from tests.waiting import until

OBJECTS = {f"storage.objects.{verb}" for verb in ("create", "delete", "get", "list")}


def logs(sweeper: Sweeper, cell: str) -> str:
    return sweeper.user.outlast("logs", cell).out


def test_a_machine_without_work_leaves_before_the_last_cell_has_ended(sweeper: Sweeper) -> None:
    cells = [{"seed": [1, 2, 3]}, {"seed": 4, "waits": True}]
    said = sweeper.sweep("lr", cells, "--parallel", "3")
    assert said.code == 0, said.err
    sweeper.wait_for_rows("lr", 3)
    until(lambda: len(sweeper.alive()) == 1, lambda: f"two have left: {sweeper.alive()}")
    until(lambda: len([one for one in sweeper.rented() if "-" in one]) <= 2, "a machine and its disk are paid for")
    assert not sweeper.is_over("lr")
    shown = sweeper.shown("lr")
    assert shown["state"] == "running", shown["state"]
    sweeper.let_go()
    assert sweeper.wait_for_end("lr")["state"] == "succeeded"
    sweeper.wait_until_nothing_is_paid_for()
    names = [entry.key.rpartition("/")[2] for entry in sweeper.folder("lr").store.list("jobs/lr/launches/")]
    asked = sweeper.emulator.call("GET", "/_emulator/iam/asked").json()[RUNNER]
    assert set(asked) == {*roles.RUNNER_PERMISSIONS, *OBJECTS}, "what its role has, and nothing else"
    assert sorted(one for one in names if re.fullmatch(r"\d-\d+", one)) == ["0-1", "1-1", "2-1"], (
        "nobody was made again"
    )


def test_without_the_right_to_leave_it_stays_and_that_is_said(sweeper: Sweeper) -> None:
    """As in a project that was made ready by an older version. It asks again, and goes as soon as it may."""
    sweeper.post("world", environment={"OUTLAST_PAUSE_SECONDS": "1"}, shown={"/srv/flags": str(sweeper.flags)})
    sweeper.emulator.fault("compute.regionInstanceGroupManagers.deleteInstances", "error", status=403, times=1000)
    cells = [{"seed": 1}, {"seed": 2, "waits": True}]
    said = sweeper.sweep("lr", cells, "--parallel", "2")
    assert said.code == 0, said.err
    until(lambda: "may not leave" in (sweeper.shown("lr")["why"] or ""), lambda: str(sweeper.shown("lr")))
    assert "outlast init" in sweeper.user.outlast("show", "lr").out
    assert len(sweeper.alive()) == 2 and not sweeper.is_over("lr")
    bills, launch_id = Bills(sweeper.folder("lr")), sweeper.launch("lr").id
    (idle,) = bills.idle(1)

    def paid_until() -> float:
        return next(bill.until for bill in bills.of_launch(launch_id) if bill.machine == idle)

    before = paid_until()
    until(lambda: paid_until() > before, "as long as it is paid for, somebody is on it who counts that")
    sweeper.emulator.clear_faults()
    until(lambda: len(sweeper.alive()) == 1, lambda: f"one has left: {sweeper.alive()}")
    sweeper.let_go()
    assert sweeper.wait_for_end("lr")["state"] == "succeeded"
    sweeper.wait_until_nothing_is_paid_for()


def test_machines_that_quotas_refuse_do_not_end_a_sweep_that_has_others(sweeper: Sweeper) -> None:
    for metric in ("CPUS", "PREEMPTIBLE_CPUS"):
        sweeper.post("quotas", metric=metric, limit=8, region="us-central1")
    said = sweeper.sweep("lr", {"seed": [1, 2, 3], "waits": True}, "--parallel", "2")
    assert said.code == 0, said.err
    until(lambda: sweeper.claims("lr"), "one is begun")
    until(lambda: "CPUS" in (sweeper.shown("lr")["why"] or ""), lambda: str(sweeper.shown("lr")))
    assert sweeper.shown("lr")["state"] == "running" and len(sweeper.alive()) == 1
    sweeper.let_go()
    assert sweeper.wait_for_end("lr")["state"] == "succeeded"
    sweeper.wait_until_nothing_is_paid_for()


def test_cells_share_a_machine_with_their_part_of_cpus_and_gpus(sweeper: Sweeper) -> None:
    """Two machines for eight cells, two on each; one of a machine's workers waits for the other."""
    cells = [{"seed": [1, 2, 3, 4, 5, 6, 7]}, {"seed": 8, "waits": True}]
    said = sweeper.sweep("lr", cells, "--parallel", "2", "--cells-per-machine", "2", "--gpus", "2xT4")
    assert said.code == 0, said.err
    sweeper.wait_for_rows("lr", 7)
    until(lambda: len(sweeper.alive()) == 1, lambda: f"one has left: {sweeper.alive()}")
    sweeper.let_go()
    assert sweeper.wait_for_end("lr")["state"] == "succeeded"
    sweeper.wait_until_nothing_is_paid_for()
    workers = {one.machine.split("-")[1] for cell in range(1, 9) for one in sweeper.cell("lr", cell).attempts.values()}
    assert workers <= {"0", "1", "2", "3"} and len(workers) >= 3, workers
    devices = {found[1] for cell in range(1, 9) if (found := re.search(r"gpus (\S+) ", logs(sweeper, f"lr.{cell}")))}
    assert devices == {"0", "1"}, devices
    price = sweeper.launch("lr").usd_per_hour
    attempts = [one for cell in range(1, 9) for one in sweeper.cell("lr", cell).attempts.values()]
    assert {one.usd_per_hour for one in attempts} == {price / 2}
    assert sweeper.usd_of_machines() <= sweeper.billed_usd("lr")


def test_a_shared_machine_that_is_taken_away_lets_all_its_cells_save(sweeper: Sweeper) -> None:
    said = sweeper.sweep(
        "lr", {"seed": [1, 2], "steps": 30, "pause": 0.2}, "--parallel", "1", "--cells-per-machine", "2"
    )
    assert said.code == 0, said.err
    until(lambda: all(sweeper.has_saved("lr", cell) for cell in (1, 2)), "both have saved something")
    sweeper.post("preempt", instance=sweeper.alive()[0], notice_seconds=150)
    assert sweeper.wait_for_end("lr")["state"] == "succeeded"
    sweeper.wait_until_nothing_is_paid_for()
    for cell in (1, 2):
        attempts = list(sweeper.cell("lr", cell).attempts.values())
        assert [one.cause.value for one in attempts if one.cause] == ["preempted", "succeeded"], attempts
        assert attempts[0].committed_step is not None and attempts[0].step is not None
        assert attempts[1].resumed_from_step == attempts[0].committed_step >= attempts[0].step, (
            "all that it did was saved"
        )
