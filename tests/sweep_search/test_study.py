"""What a worker decides about parameters and about cells that do badly, on a clock that is turned by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from outlast.agent.bench import Leaving
from outlast.agent.child import Child, Exit, Reason
from outlast.agent.study import LOOK_SECONDS_BILLED, STARTUP_TRIALS
from outlast.agent.verdict import judge
from outlast.errors import StoreUnavailable
from outlast.folder.records import State
from outlast.folder.rungs import Rungs
from outlast.folder.sweep_records import Row, Trial
from outlast.spec.spec import Sweep
from outlast.spec.sweep.space import space
from outlast.store.memory import MemoryStore
from tests.sweep_search.parts import DOCUMENT, SWEEP, HandChild, Home, Scripted

TPE = Sweep(search="tpe", seed=3, metric="loss")
ASHA = Sweep(search="random", seed=3, metric="loss", early="asha")
SPACE = space(DOCUMENT, "test")
CHOSEN = {"values": [0.125, 1]}


def trained(home: Home, cells: range, *, state: str = "succeeded", **more: Any) -> None:
    for cell in cells:
        home.folder.create(home.keys.trial(cell, 1), Trial(cell, SPACE.random(9, cell), 1.0))
    home.put_rows([Row(cell, state, 1, metrics={"loss": cell / 10}, step=128, **more) for cell in cells])


def never(question: Mapping[str, Any]) -> None:
    return None


def running(cell_loss: float, steps: int) -> HandChild:
    """A cell that has come so far."""
    home_clock = Home(ASHA, 1).clock
    child = HandChild(home_clock, lambda args, step: cell_loss)
    child.attempt, child.begun_at = 1, home_clock.at - steps * 0.25
    return child


# Choosing.


def test_until_enough_cells_have_ended_trials_are_spread_evenly_and_nobody_is_asked() -> None:
    home, adviser = Home(TPE, 30), Scripted(never)
    trained(home, range(1, STARTUP_TRIALS))
    assert home.study(adviser).choose(12) == SPACE.sobol(3, 11)
    assert adviser.questions == [] and adviser.prepared, "but it comes up, for what is asked soon"


def test_then_the_adviser_is_told_all_that_the_records_say() -> None:
    home, adviser = Home(TPE, 30), Scripted(lambda question: CHOSEN)
    trained(home, range(1, 13))
    home.folder.create(home.keys.trial(13, 1), Trial(13, SPACE.random(9, 13), 1.0))
    home.folder.create(home.keys.trial(20, 1), Trial(20, SPACE.random(9, 20), 1.0))
    assert home.study(adviser).choose(20) == {"x": 0.125, "kind": "b"}
    question = adviser.questions[0]
    assert question["direction"] == "minimize"
    assert [one["state"] for one in question["trials"]] == ["complete"] * 12 + ["running"], "its own is not among them"
    assert [one["value"] for one in question["trials"][:12]] == [cell / 10 for cell in range(1, 13)]
    assert question["dimensions"] == [{"kind": "float", "low": 0, "high": 1}, {"kind": "choice", "count": 2}]


@pytest.mark.parametrize(
    ("goal", "metric", "direction"),
    [("max", "loss", "maximize"), ("", "accuracy", "maximize"), ("min", "f1", "minimize")],
)
def test_what_is_better_is_as_was_said_or_by_the_metrics_name(goal: str, metric: str, direction: str) -> None:
    home, adviser = Home(Sweep(search="tpe", metric=metric, goal=goal), 30), Scripted(lambda question: CHOSEN)
    trained(home, range(1, 13))
    home.put_rows([Row(cell, "succeeded", 1, metrics={metric: 1.0}) for cell in range(1, 13)])
    home.study(adviser).choose(20)
    assert adviser.questions[0]["direction"] == direction


def test_two_workers_that_ask_at_once_do_not_try_the_same() -> None:
    home = Home(TPE, 30)
    trained(home, range(1, 13))
    one, other = Scripted(lambda question: CHOSEN), Scripted(lambda question: CHOSEN)
    home.study(one).choose(13)
    home.study(other).choose(14)
    assert one.questions[0]["seed"] != other.questions[0]["seed"]
    again = Scripted(lambda question: CHOSEN)
    home.study(again).choose(13)
    assert again.questions == one.questions, "and who asks again after a death asks the same"


@pytest.mark.parametrize("answer", [{}, {"values": [0.5]}, {"values": "much"}, {"stop": True}, None])
def test_without_a_sensible_answer_parameters_are_random_and_the_log_says_so(answer: Mapping[str, Any] | None) -> None:
    home = Home(TPE, 30)
    trained(home, range(1, 13))
    study, child = home.study(Scripted(lambda question: answer)), running(1.0, 3)
    assert study.choose(20) == SPACE.random(3, 19)
    assert study.choose(21) == SPACE.random(3, 20)
    assert study.watch(20, cast(Child, child)) == ""
    assert child.said == ["search: cell 20 has random parameters: the adviser is away"], "once, not for every cell"


def test_damaged_and_foreign_trials_teach_nothing_and_stop_nobody() -> None:
    home, adviser = Home(TPE, 30), Scripted(lambda question: CHOSEN)
    trained(home, range(1, 13))
    store = home.store
    store.put(home.keys.trial(13, 1), b"{", if_generation=0)
    store.put(
        home.keys.trial(14, 1), b'{"format": 1, "cell": 3, "params": {"x": 0.5, "kind": "a"}, "at": 0}', if_generation=0
    )
    store.put(home.keys.trials + "notes.txt", b"mine", if_generation=0)
    home.folder.create(home.keys.trial(15, 2), Trial(15, SPACE.random(9, 15), 1.0))
    assert home.study(adviser).choose(20) == {"x": 0.125, "kind": "b"}
    assert len(adviser.questions[0]["trials"]) == 12


def test_cells_that_failed_or_never_logged_the_metric_teach_nothing_and_those_ended_early_do() -> None:
    home, adviser = Home(Sweep(search="tpe", metric="loss", early="asha"), 30), Scripted(lambda question: CHOSEN)
    trained(home, range(1, 15))
    rows = [Row(cell, "succeeded", 1, metrics={"loss": 0.5}) for cell in range(1, 12)]
    rows += [
        Row(12, "failed", 1, metrics={"loss": 0.1}),
        Row(13, "early", 1, metrics={"loss": 9.0}, step=70),
        Row(14, "succeeded", 1),
    ]
    home.put_rows(rows)
    Rungs(home.store, SWEEP, 1).add(13, {32: 8.0, 64: 7.5})
    home.study(adviser).choose(20)
    told = adviser.questions[0]["trials"]
    assert [one["state"] for one in told] == ["complete"] * 11 + ["pruned"]
    assert (told[-1]["step"], told[-1]["value"]) == (64, 7.5)


def test_a_metric_that_no_cell_logs_is_told_with_those_that_it_does() -> None:
    home = Home(TPE, 30)
    study, child = home.study(Scripted(never)), running(1.0, 3)
    study.ended(Row(1, "succeeded", 1, metrics={"val_loss": 0.5, "accuracy": 1.0}), {})
    study.ended(Row(2, "succeeded", 1, metrics={"val_loss": 0.5}), {})
    study.watch(3, cast(Child, child))
    assert child.said == [
        "search: cell 1 has logged no `loss`, by which the search goes; it has logged `accuracy`, `val_loss`"
    ]


# A whole worker.


def loss(args: Mapping[str, str], step: int) -> float:
    return float(args["x"]) + 1 / (step + 1)


def test_a_worker_writes_down_what_was_chosen_before_the_cell_begins_and_chooses_once() -> None:
    home = Home(TPE, 14)
    adviser = Scripted(lambda question: CHOSEN)
    assert home.work(home.study(adviser), loss) is Leaving.DONE
    trials = home.sweep.trials(1)
    assert sorted(trials) == list(range(1, 15))
    assert sum(1 for one in trials.values() if one.params == {"x": 0.125, "kind": "b"}) == 14 - STARTUP_TRIALS
    rows = home.sweep.rows(1)
    assert rows[14].metrics["loss"] == pytest.approx(float(trials[14].params["x"]) + 1 / 128)
    assert home.folder.read_head().head.state is State.SUCCEEDED


def test_a_trial_that_was_chosen_before_a_death_keeps_its_parameters() -> None:
    home = Home(TPE, 3)
    home.folder.create(home.keys.trial(2, 1), Trial(2, {"x": 0.75, "kind": "a"}, 1.0))
    assert home.work(home.study(Scripted(never)), loss) is Leaving.DONE
    assert home.sweep.rows(1)[2].metrics["loss"] == pytest.approx(0.75 + 1 / 128)
    assert home.sweep.trials(1)[2].params == {"x": 0.75, "kind": "a"}


def test_a_cell_whose_trial_is_damaged_has_failed_and_the_others_go_on() -> None:
    home = Home(TPE, 4)
    home.store.put(home.keys.trial(2, 1), b"{", if_generation=0)
    assert home.work(home.study(Scripted(never)), loss) is Leaving.DONE
    rows = home.sweep.rows(1)
    assert [rows[cell].state for cell in (1, 2, 3, 4)] == ["succeeded", "failed", "succeeded", "succeeded"]
    assert "trials/000002.json" in rows[2].reason
    assert home.folder.read_head().head.reason == "1 of 4 cells failed: 2"


def test_a_cell_that_is_not_wanted_any_more_leaves_and_counts_as_done() -> None:
    home = Home(ASHA, 8)
    adviser = Scripted(lambda question: {"worse_at": question["mine"][-1][0]})
    assert home.work(home.study(adviser), loss) is Leaving.DONE
    rows = home.sweep.rows(1)
    early = [cell for cell, row in rows.items() if row.state == "early"]
    assert len(early) == 5, "the first three have nobody to be compared with"
    assert home.folder.read_head().head.state is State.SUCCEEDED
    one = rows[early[0]]
    assert one.reason.startswith("`loss` was ") and "not among the best of 3 other cells" in one.reason
    assert (one.step or 0) < 128
    assert adviser.questions[0]["others"][0]["ended"] is True


def test_nobody_is_ended_while_the_adviser_is_silent() -> None:
    home = Home(ASHA, 6)
    assert home.work(home.study(Scripted(never)), loss) is Leaving.DONE
    assert {row.state for row in home.sweep.rows(1).values()} == {"succeeded"}


# Watching.


def watched(home: Home, adviser: Scripted, child: HandChild, cell: int = 9) -> str:
    return home.study(adviser).watch(cell, cast(Child, child))


def compared(home: Home) -> None:
    home.put_rows([Row(cell, "succeeded", 1, metrics={"loss": 0.1}, step=800) for cell in range(1, 5)])
    for cell in range(1, 5):
        Rungs(home.store, SWEEP, 1).add(cell, {8: 0.1, 16: 0.1})


def test_what_a_cell_measured_since_the_last_look_is_one_write() -> None:
    home, adviser = Home(ASHA, 20), Scripted(never)
    watched(home, adviser, running(2.0, 40))
    assert home.names("jobs/lr/rungs/000001/") == ["000009-1=2,2=2,4=2,8=2,16=2,32=2"]
    assert adviser.questions == [], "no cell has ended: nobody knows how long one is"


def test_below_the_first_rung_nothing_is_compared_and_soon_nothing_is_written() -> None:
    home, adviser = Home(ASHA, 20), Scripted(lambda question: {})
    compared(home)
    study = home.study(adviser)
    study.watch(9, cast(Child, running(2.0, 4)))
    assert adviser.questions == [] and home.names("jobs/lr/rungs/000001/000009")
    home.clock.sleep(60)
    study.watch(10, cast(Child, running(2.0, 4)))
    assert home.names("jobs/lr/rungs/000001/000010") == []
    home.clock.sleep(60)
    study.watch(11, cast(Child, running(2.0, 40)))
    assert home.names("jobs/lr/rungs/000001/000011") == ["-8=2,16=2,32=2"]
    assert (adviser.questions[0]["first"], adviser.questions[0]["since"]) == (8, 8)


def test_where_writes_are_billed_looks_are_rare() -> None:
    store = MemoryStore()
    store.write_seconds = 60.0
    home, adviser = Home(ASHA, 20, store=store), Scripted(never)
    study = home.study(adviser)
    child = running(2.0, 4)
    study.watch(9, cast(Child, child))
    for _ in range(40):
        child.clock.sleep(LOOK_SECONDS_BILLED / 50)
        home.clock.sleep(LOOK_SECONDS_BILLED / 50)
        study.watch(9, cast(Child, child))
    assert len(home.names("jobs/lr/rungs/")) == 1


def test_a_machine_that_takes_a_cell_over_asks_about_it_at_once() -> None:
    home, adviser = Home(ASHA, 20), Scripted(lambda question: {"worse_at": 16})
    compared(home)
    Rungs(home.store, SWEEP, 1).add(9, {8: 3.0, 16: 3.0})
    study, child = home.study(adviser), running(3.0, 0)
    study.watch(9, cast(Child, child))
    assert adviser.questions[0]["since"] == 5 and [point[0] for point in adviser.questions[0]["mine"]] == [8, 16]
    assert study.watch(9, cast(Child, child)) == "`loss` was 3 at step 16, not among the best of 4 other cells"


def test_a_question_is_not_forgotten_for_the_next_one() -> None:
    """An adviser that takes its time while the cell comes further than all others did."""
    home = Home(ASHA, 20)
    compared(home)
    answers: list[Mapping[str, Any] | None] = [None] * 5 + [{}] + [None] * 5 + [{"worse_at": 8}]
    adviser = Scripted(lambda question: answers.pop(0))
    study, child = home.study(adviser), running(3.0, 12)
    said = [study.watch(9, cast(Child, child))]
    while not said[-1] and len(said) < 100:
        home.clock.sleep(60)
        child.clock.sleep(10)
        said.append(study.watch(9, cast(Child, child)))
    assert said[-1] == "`loss` was 3 at step 8, not among the best of 4 other cells"
    assert [question["since"] for question in adviser.questions] == [1, 1], "what has had no answer is asked again"
    assert [point[0] for point in adviser.questions[1]["mine"]][-1] > 16


def test_a_cell_that_had_nobody_to_be_compared_with_is_compared_later() -> None:
    home, adviser = Home(ASHA, 20), Scripted(never)
    study, child = home.study(adviser), running(3.0, 12)
    study.watch(9, cast(Child, child))
    assert adviser.questions == []
    compared(home)
    home.clock.sleep(60)
    study.watch(9, cast(Child, child))
    assert len(adviser.questions) == 1, "although it has come no further"


def test_a_home_that_is_away_ends_nobody_and_loses_nothing() -> None:
    class Away(MemoryStore):
        away = False

        def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
            if self.away:
                raise StoreUnavailable("it is away")
            return super().put(key, data, if_generation=if_generation)

    store = Away()
    home = Home(ASHA, 20, store=store)
    study, child = home.study(Scripted(never)), running(2.0, 40)
    store.away = True
    assert study.watch(9, cast(Child, child)) == ""
    store.away = False
    home.clock.sleep(60)
    study.watch(9, cast(Child, child))
    assert len(home.names("jobs/lr/rungs/")) == 1


def test_a_value_that_is_no_number_is_asked_about_without_others() -> None:
    home, adviser = Home(ASHA, 20), Scripted(never)
    home.put_rows([Row(1, "succeeded", 1, metrics={"loss": 0.1}, step=100)])
    watched(home, adviser, running(float("nan"), 5))
    assert len(adviser.questions) == 1


# The end.


def test_an_agent_that_died_after_it_told_the_trainer_to_leave_still_knows_why() -> None:
    head = Home(ASHA, 1).folder.read_head().head
    verdict = judge(Exit(75), told=Reason.EARLY, stalled=False, retries=3, head=head)
    assert (verdict.state, verdict.early, verdict.reason) == (State.STOPPED, True, "other cells did better")
    finished = judge(Exit(0), told=Reason.EARLY, stalled=False, retries=0, head=head)
    assert finished.state is State.SUCCEEDED and not finished.early, (
        "a cell that came to its end all the same has done so"
    )
