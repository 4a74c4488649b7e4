"""`outlast evaluate`: a job with the trained one's code, data and checkpoint, whose result lands in that one's folder."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from outlast.errors import NotFound, UsageError
from outlast.folder.records import EvaluationResult
from outlast.jobs.asked import Asked
from outlast.jobs.delete import delete
from outlast.jobs.evaluate import Wanted, evaluate, id_for, plan_evaluation
from outlast.jobs.evaluate_each import follow_training
from outlast.jobs.evaluations import Evaluated, list_evaluations
from outlast.jobs.job import Job
from outlast.jobs.stop import stop
from outlast.jobs.submit import carry_out, submit
from outlast.jobs.watch import wait
from outlast.testing import crash
from outlast.testing.crash import BOOT, Point, killed_at
from tests.cli.user import User
from tests.crash.conftest import Laptop, wait_for_quiet

SCRIPT = """
import json, os, time, outlast

@outlast.main
def train(mode: str = "train", split: str = "train", rate: int = 1, total: int = 6, gate: str = ""):
    state = outlast.State(weight=0)
    if mode == "evaluate":
        found = outlast.latest_checkpoint()
        found.restore(state)
        files = sorted(os.listdir(os.environ["OUTLAST_TRAINED_OUTPUT_DIR"]))
        told = [os.environ["OUTLAST_TRAINED_JOB"], os.environ["OUTLAST_TRAINED_STEP"]]
        print("saw", files, told, outlast.config(), flush=True)
        for step in outlast.steps(4, outlast.State(seen=0), save_steps=1, name="evaluate"):
            outlast.log(step, weight=float("nan") if step == 1 else 0)
            time.sleep(PAUSE)
        outlast.log(weight=state.weight, split=len(split))
        return
    for step in outlast.steps(total, state, save_steps=2):
        state.weight += rate
        time.sleep(0.05)
        while step >= 4 and gate and os.path.exists(gate):
            time.sleep(0.02)
    (outlast.output_dir() / "model.txt").write_text(str(state.weight))

train()
"""


KILL_POINTS = 30
"""Of the command: more or fewer means that it writes something else than before, and its order must be argued anew."""


def ask(laptop: Laptop, job: str | None, *args: str, pause: float = 0.0) -> Asked:
    (laptop.work / "train.py").write_text(SCRIPT.replace("PAUSE", str(pause)))
    return replace(laptop.asked(job or ""), args=args, job_id=job)


def trained(laptop: Laptop, *args: str, pause: float = 0.0) -> Job:
    job = submit(laptop.world(), ask(laptop, "trained", *args, pause=pause)).job
    assert wait(laptop.world(), job).state == "succeeded"
    return job


def wanted(laptop: Laptop, job: str | None = None, *args: str, target: str = "", **more: Any) -> Wanted:
    asked = replace(laptop.asked(""), target=target, args=args, job_id=job)
    return Wanted(asked, **more)


def result_in(folder_of: Job, job: Job) -> EvaluationResult:
    return folder_of.folder.read(EvaluationResult, folder_of.folder.keys.result(job.id))


def generations(job: Job) -> dict[str, int]:
    """Of all but the copies that its own machine may still be publishing."""
    root = job.folder.keys.root
    copies = (f"{root}outputs/", f"{root}published.json", f"{root}requests/")
    return {entry.key: entry.generation for entry in job.folder.store.list(root) if not entry.key.startswith(copies)}


def log_of(job: Job) -> str:
    return b"".join(
        job.folder.store.get(entry.key).data for entry in job.folder.store.list(job.folder.keys.stream(1, "log", 0))
    ).decode()


def test_the_code_that_trained_evaluates_even_if_the_directory_has_changed(laptop: Laptop) -> None:
    of = trained(laptop, "--rate", "2")
    (laptop.work / "train.py").write_text("raise SystemExit('changed')")
    submitted = evaluate(laptop.world(), of, wanted(laptop, split="val"))
    status = wait(laptop.world(), submitted.job)
    assert status.state == "succeeded", log_of(submitted.job)
    assert submitted.spec.args == ("--rate", "2", "--mode", "evaluate", "--split", "val")
    assert submitted.spec.bundle == of.spec().bundle
    result = result_in(of, submitted.job)
    assert (result.metrics, result.step, result.split) == ({"weight": 12.0, "split": 3.0}, 6, "val")
    assert "saw ['model.txt'] ['trained', '6']" in log_of(submitted.job)
    (listed,) = list_evaluations(of)
    assert listed == Evaluated(submitted.job.id, result.checkpoint, 6, "val", "succeeded", dict(result.metrics))


def test_rebuild_ships_the_directory_as_it_is_now(laptop: Laptop) -> None:
    of = trained(laptop)
    (laptop.work / "judge.py").write_text(
        "import outlast\nfound = outlast.latest_checkpoint()\noutlast.log(step_seen=found.step, size=1)"
    )
    with pytest.raises(NotFound, match=r"`judge\.py` is not in what job `trained` was trained with") as refused:
        evaluate(laptop.world(), of, wanted(laptop, target="judge.py"))
    assert "--rebuild" in refused.value.hint
    job = evaluate(laptop.world(), of, wanted(laptop, target="judge.py", rebuild=True)).job
    assert wait(laptop.world(), job).state == "succeeded"
    assert result_in(of, job).metrics == {"step_seen": 6.0, "size": 1.0}


def test_another_target_of_the_same_bundle_gets_its_own_arguments_only(laptop: Laptop) -> None:
    (laptop.work / "judge.py").write_text("import sys, outlast\noutlast.log(args=len(sys.argv) - 1)")
    of = trained(laptop, "--rate", "3")
    job = evaluate(laptop.world(), of, wanted(laptop, None, "--fast", target="judge.py")).job
    assert wait(laptop.world(), job).state == "succeeded"
    assert result_in(of, job).metrics == {"args": 1.0}


def test_data_configuration_and_secrets_are_those_that_trained(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    (laptop.work / "judge.py").write_text(
        "import os, outlast\n"
        "config = outlast.config()\n"
        "outlast.log(rows=len((outlast.dataset() / 'rows.txt').read_text()), rate=config['rate'], depth=config['model']['depth'],\n"
        "            token=len(os.environ['TOKEN']), flag=int(os.environ['FLAG']))\n"
    )
    data = laptop.work.parent / "data"
    data.mkdir()
    (data / "rows.txt").write_text("12345")
    (laptop.work / "c.json").write_text('{"rate": 3, "model": {"depth": 2, "width": 4}}')
    monkeypatch.setenv("CANARY", "0123456789")
    asked = replace(
        ask(laptop, "trained"),
        datasets=(str(data),),
        config_files=("c.json",),
        secrets={"TOKEN": "env:CANARY"},
        env={"FLAG": "7"},
    )
    of = submit(laptop.world(), asked).job
    assert wait(laptop.world(), of).state == "succeeded"
    (data / "rows.txt").unlink()
    (laptop.work / "c.json").unlink()
    job = evaluate(laptop.world(), of, wanted(laptop, target="judge.py")).job
    assert wait(laptop.world(), job).state == "succeeded", log_of(job)
    assert result_in(of, job).metrics == {"rows": 5.0, "rate": 3.0, "depth": 2.0, "token": 10.0, "flag": 7.0}
    other = wanted(laptop, target="judge.py")
    other = replace(other, asked=replace(other.asked, config_values=("model.depth=9",)))
    job = evaluate(laptop.world(), of, other).job
    assert wait(laptop.world(), job).state == "succeeded", log_of(job)
    assert (result_in(of, job).metrics["depth"], result_in(of, job).metrics["rate"]) == (9.0, 3.0)


def test_nothing_that_costs_money_is_taken_over(laptop: Laptop) -> None:
    asked = replace(ask(laptop, "trained"), cpus=2, retries=3, max_run_seconds=5000.0, labels={"a": "b"})
    of = submit(laptop.world(), asked).job
    wait(laptop.world(), of)
    spec = plan_evaluation(laptop.world(), of, wanted(laptop)).spec
    assert (spec.machine.cpus, spec.retries, spec.labels) == (1, 0, {})
    assert spec.max_run_seconds != 5000.0 and spec.notify == ()


def test_what_was_trained_can_be_read_and_not_written(laptop: Laptop) -> None:
    (laptop.work / "spoil.py").write_text(
        "import os, outlast\n"
        "found = outlast.latest_checkpoint()\n"
        "modes = [os.stat(os.path.join(at, name)).st_mode & 0o222 for root in (found, os.environ['OUTLAST_TRAINED_OUTPUT_DIR'])\n"
        "         for at, _, names in os.walk(root) for name in names]\n"
        "outlast.log(files=len(modes), writable=sum(map(bool, modes)))\n"
    )
    of = trained(laptop)
    before = generations(of)
    job = evaluate(laptop.world(), of, wanted(laptop, target="spoil.py")).job
    assert wait(laptop.world(), job).state == "succeeded"
    metrics = result_in(of, job).metrics
    assert metrics["files"] >= 3 and metrics["writable"] == 0
    after = generations(of)
    assert {key: after[key] for key in before} == before
    added = {key.removeprefix(of.folder.keys.root) for key in after.keys() - before.keys()}
    assert added == {f"evaluations/{job.id}/evaluation.json", f"evaluations/{job.id}/result.json"}


def test_an_evaluation_whose_machine_dies_has_the_checkpoint_in_every_attempt(laptop: Laptop) -> None:
    of = trained(laptop, pause=0.4)
    world = laptop.world()
    job = evaluate(world, of, wanted(laptop)).job
    while not any(one.attempt for one in job.folder.read_head().head.checkpoints):
        world.clock.sleep(0.02)
    from outlast.jobs.job import as_launch

    assert world.engine("local").preempt(as_launch(job, job.folder.read_launch(1), job.spec()), notice_seconds=0)
    status = wait(world, job)
    assert (status.state, len(status.attempts)) == ("succeeded", 2)
    assert status.attempts[1][1].resumed_from_step, "it did not go on where it stood"
    assert result_in(of, job).metrics["weight"] == 6.0


def test_a_failed_evaluation_has_no_result_and_is_listed_as_failed(laptop: Laptop) -> None:
    (laptop.work / "bad.py").write_text("import outlast\noutlast.log(x=1)\nraise SystemExit(3)")
    of = trained(laptop)
    job = evaluate(laptop.world(), of, wanted(laptop, target="bad.py")).job
    assert wait(laptop.world(), job).state == "failed"
    (listed,) = list_evaluations(of)
    assert (listed.job, listed.state, listed.metrics) == (job.id, "failed", {})
    delete(laptop.world(), job)
    assert list_evaluations(of)[0].state == "gone"


@pytest.mark.parametrize("choice", ["5", "nonsense", "999"])
def test_a_checkpoint_that_is_not_there_is_refused_before_anything_is_written(laptop: Laptop, choice: str) -> None:
    of = trained(laptop)
    before = [entry.key for entry in of.home.store.list("jobs/")]
    with pytest.raises(NotFound, match="no checkpoint"):
        evaluate(laptop.world(), of, wanted(laptop, checkpoint=choice))
    assert [entry.key for entry in of.home.store.list("jobs/")] == before


def test_a_job_without_anything_to_evaluate_and_an_evaluation_are_refused(laptop: Laptop) -> None:
    empty = submit(laptop.world(), laptop.asked("empty", "idle.py")).job
    wait(laptop.world(), empty)
    with pytest.raises(NotFound, match="no checkpoint yet, and no outputs"):
        evaluate(laptop.world(), empty, wanted(laptop))
    of = trained(laptop)
    job = evaluate(laptop.world(), of, wanted(laptop)).job
    wait(laptop.world(), job)
    with pytest.raises(UsageError, match="is an evaluation itself, of job `trained`"):
        evaluate(laptop.world(), job, wanted(laptop))
    with pytest.raises(UsageError, match="`--setup` says how code is shipped"):
        refused = wanted(laptop)
        evaluate(laptop.world(), of, replace(refused, asked=replace(refused.asked, setup="x.sh")))


def test_a_script_that_does_not_know_outlast_finds_the_files_where_it_keeps_them(laptop: Laptop) -> None:
    (laptop.work / "plain.py").write_text(
        "import os, sys\n"
        "if 'evaluate' in sys.argv:\n"
        "    import outlast\n"
        "    outlast.log(size=len(open('ckpt/model.txt').read()))\n"
        "else:\n"
        "    open('ckpt/model.txt', 'w').write('weights')\n"
    )
    of = submit(laptop.world(), replace(laptop.asked("plain", "plain.py"), checkpoint_dir="ckpt")).job
    assert wait(laptop.world(), of).state == "succeeded"
    job = evaluate(laptop.world(), of, wanted(laptop)).job
    assert wait(laptop.world(), job).state == "succeeded", log_of(job)
    assert result_in(of, job).metrics == {"size": 7.0}
    assert job.folder.read_head().head.checkpoints == (), "what was only read is no checkpoint of its own"


def test_a_script_that_only_left_outputs_can_be_evaluated(laptop: Laptop) -> None:
    (laptop.work / "plain.py").write_text("open('out/model.txt', 'w').write('weights')")
    (laptop.work / "judge.py").write_text(
        "import os, outlast\noutlast.log(size=len(open(os.environ['OUTLAST_TRAINED_OUTPUT_DIR'] + '/model.txt').read()))"
    )
    of = submit(laptop.world(), replace(laptop.asked("plain", "plain.py"), output_dir="out")).job
    assert wait(laptop.world(), of).state == "succeeded"
    if of.folder.read_head().head.checkpoints:
        delete(laptop.world(), of)
        pytest.fail("the script has no checkpoint directory, and yet there is a checkpoint")
    job = evaluate(laptop.world(), of, wanted(laptop, target="judge.py")).job
    assert wait(laptop.world(), job).state == "succeeded"
    assert result_in(of, job).metrics == {"size": 7.0}


# Killed.


def test_a_submit_killed_at_any_write_can_be_given_again(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTLAST_SUPERVISOR_IDLE_SECONDS", "2")  # one for all of these jobs
    of = trained(laptop)
    points = killed_at(laptop.world(), lambda world: evaluate(world, of, wanted(laptop, "first")), None)
    wait(laptop.world(), laptop.job("first"))
    assert points == KILL_POINTS
    for point in range(points):
        again = wanted(laptop, f"again-{point}")
        assert killed_at(laptop.world(), partial(evaluate, trained=of, wanted=again), point) == -1
        job = evaluate(laptop.world(), of, again).job
        assert wait(laptop.world(), job).state == "succeeded"
        assert result_in(of, job).metrics["weight"] == 6.0
    assert len(list_evaluations(of)) == points + 1


@pytest.mark.parametrize("victim", ["agent", "machine"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_the_result_lands_without_a_laptop_whoever_dies_around_it(laptop: Laptop, when: str, victim: str) -> None:
    of = trained(laptop)
    assert not wait_for_quiet(laptop), "a supervisor that does not know when to die is still there"
    crash.plan(laptop.user_dir, Point("put", "result", 1, when, victim))
    world = laptop.world(BOOT)
    job = carry_out(world, plan_evaluation(world, of, wanted(laptop))).job
    key = of.folder.keys.result(job.id)
    while not (list(of.folder.store.list(key)) and (laptop.user_dir / crash.DONE).exists()):
        world.clock.sleep(0.02)  # nobody looks: no command writes it
    assert result_in(of, job).metrics["weight"] == 6.0
    assert wait(world, job).state == "succeeded"


def test_a_command_that_looks_publishes_what_a_taken_machine_could_not(laptop: Laptop) -> None:
    of = trained(laptop)
    job = evaluate(laptop.world(), of, wanted(laptop)).job
    wait(laptop.world(), job)
    first = of.folder.store.get(of.folder.keys.result(job.id)).data
    of.folder.store.delete(of.folder.keys.result(job.id))
    wait(laptop.world(), job)
    assert of.folder.store.get(of.folder.keys.result(job.id)).data == first


def test_the_copy_of_what_was_evaluated_is_given_back_and_the_same_id_again_copies_nothing(laptop: Laptop) -> None:
    of = trained(laptop)
    job = evaluate(laptop.world(), of, wanted(laptop, "mine")).job
    assert wait(laptop.world(), job).state == "succeeded"
    assert not wait_for_quiet(laptop)

    def copied() -> list[str]:
        return [entry.key for entry in job.folder.store.list(job.folder.keys.parts(0))]

    assert copied() == [] and not list(job.folder.store.list(job.folder.keys.manifest("000000-trained")))
    with pytest.raises(UsageError, match="there is a job `mine` already"):
        evaluate(laptop.world(), of, wanted(laptop, "mine"))
    assert copied() == []


def test_the_same_from_python(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    from outlast.jobs.api import JobHandle

    of = trained(laptop)
    handle = JobHandle(laptop.world(), of)
    evaluation = handle.evaluate(split="val", directory=str(laptop.work))
    assert evaluation.wait().state == "succeeded"
    (found,) = handle.evaluations()
    assert (found["job"], found["split"], found["metrics"]["weight"]) == (evaluation.id, "val", 6.0)


def test_a_deleted_trained_job_stays_deleted(laptop: Laptop) -> None:
    of = trained(laptop, pause=0.2)
    job = evaluate(laptop.world(), of, wanted(laptop)).job
    delete(laptop.world(), of)
    assert wait(laptop.world(), job).state == "succeeded"
    assert list(of.folder.store.list(of.folder.keys.root)) == []


# Following.


def test_each_new_checkpoint_is_evaluated_once_also_by_a_follower_that_is_started_again(laptop: Laptop) -> None:
    gate = laptop.work.parent / "gate"
    gate.touch()
    of = submit(laptop.world(), ask(laptop, "trained", "--gate", str(gate))).job
    while not any(one.step >= 4 for one in of.folder.read_head().head.checkpoints):
        laptop.world().clock.sleep(0.02)
    first = follow_training(laptop.world(), of, wanted(laptop))
    seen = [next(first)]
    gate.unlink()
    assert isinstance(first, Generator)
    first.close()
    again = list(follow_training(laptop.world(), of, wanted(laptop)))
    assert seen[0].job in [one.job for one in again]
    assert [one.step for one in again] == sorted({one.step or 0 for one in again})
    assert again[-1].step == 6 and again[-1].metrics["weight"] == 6.0
    assert {one.state for one in again} == {"succeeded"}
    third = list(follow_training(laptop.world(), of, wanted(laptop)))
    assert third == again[-len(third) :]
    rows = [row.job for row in of.home.jobs() if row.job != "trained"]
    assert len(rows) == len(set(rows)) == len({one.checkpoint for one in list_evaluations(of)})


def test_a_follower_killed_in_the_middle_makes_no_second_job(laptop: Laptop) -> None:
    of = trained(laptop)
    pid = os.fork()
    if pid == 0:

        def die(job: Job, checkpoint: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        list(follow_training(laptop.world(), of, wanted(laptop), on_begin=die))
        os._exit(0)
    os.waitpid(pid, 0)
    kept = list(of.folder.read_head().head.checkpoints)
    found = list(follow_training(laptop.world(), of, wanted(laptop)))
    assert [one.checkpoint for one in found] == [one.name for one in kept]
    assert found[0].job == id_for(of, kept[0].name, kept[0].step, wanted(laptop))
    assert len(list_evaluations(of)) == len(kept)


def test_another_question_is_another_job(laptop: Laptop) -> None:
    of = trained(laptop)
    one = id_for(of, "000001-000001-aa", 10**30, wanted(laptop))
    two = id_for(of, "000001-000001-aa", 10**30, wanted(laptop, split="val"))
    assert one != two and len(one) <= 40


# In words.


def test_the_command_prints_and_lists_what_was_found(user: User) -> None:
    user.write("train.py", SCRIPT.replace("PAUSE", "0"))
    assert user.outlast("run", "--job-id", "mine", "train.py").code == 0
    said = user.outlast("evaluate", "--split", "val")
    assert said.code == 0, said.err
    assert "weight 6\n" in said.out and "with the code that trained" in said.err
    document = user.outlast(
        "evaluate", "--train-folder", "mine", "--json", "--checkpoint", "6", "--job-id", "second"
    ).json
    assert document["metrics"]["weight"] == 6.0
    assert (document["job"], document["trained"], document["checkpoint_step"]) == ("second", "mine", 6)
    shown = user.outlast("show", "mine").out
    assert "EVALUATION" in shown and "second" in shown and "weight 6" in shown
    listed = user.outlast("show", "--json", "mine").json["evaluations"]
    assert {one["job"] for one in listed} >= {"second"} and all(one["metrics"]["weight"] == 6.0 for one in listed)
    followed = user.outlast("evaluate", "mine", "--follow", "--json")
    assert followed.code == 0
    rows = [json.loads(line) for line in followed.out.splitlines()]
    assert rows[-1]["metrics"]["weight"] == 6.0 and rows[-1]["step"] == 6
    assert "job `mine` at step 6" in user.outlast("show", "second").out
    before = sorted(str(path) for path in user.outlast_dir.rglob("*") if "local" not in path.parts)
    rehearsed = user.outlast("evaluate", "mine", "--dry-run", "--json", "--job-id", "third").json
    assert rehearsed["spec"]["evaluation"]["job"] == "mine" and len(rehearsed["launches"]) == 1
    keys = [write["key"] for write in rehearsed["writes"]]
    assert (
        "jobs/third/checkpoints/000000-trained.json" in keys and "jobs/mine/evaluations/third/evaluation.json" in keys
    )
    assert sorted(str(path) for path in user.outlast_dir.rglob("*") if "local" not in path.parts) == before
    wrong = user.outlast("evaluate", "mine", "train.py", "more")
    assert wrong.code == 2 and "hint: `outlast evaluate mine train.py -- more`" in wrong.err
    assert user.outlast("evaluate", "mine", "--follow", "--job-id", "x").code == 2


def test_a_stopped_evaluation_can_be_resumed(laptop: Laptop) -> None:
    from outlast.jobs.resume import resume

    of = trained(laptop, pause=0.5)
    job = evaluate(laptop.world(), of, wanted(laptop)).job
    while job.folder.read_head().head.state.value != "running":
        laptop.world().clock.sleep(0.02)
    stop(laptop.world(), job, grace_seconds=5)
    assert list_evaluations(of)[0].state == "stopped"
    resume(laptop.world(), job)
    assert wait(laptop.world(), job).state == "succeeded"
    assert result_in(of, job).metrics["weight"] == 6.0
