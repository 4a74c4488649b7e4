"""The same named sweep again: only what is missing is done, and what has changed is asked about."""

from __future__ import annotations

import json
import subprocess
from random import Random

import pytest

from outlast.folder.home import Home
from outlast.folder.layout import SweepKeys
from outlast.folder.sweep_records import Grid
from outlast.jobs.asked import Asked
from outlast.jobs.plan import plan
from outlast.jobs.prune import find_unneeded, prune
from outlast.jobs.sweep import SweepAsked, look_again, submit_again
from outlast.jobs.watch import wait
from outlast.jobs.world import system_world
from outlast.store.registry import open_store
from tests.cli.user import Said, Terminal, User
from tests.sweep.conftest import done


def sweep(user: User, grid: str, *options: str, args: tuple[str, ...] = ()) -> Said:
    user.write("grid.json", grid)
    return user.outlast("run", "--sweep", "grid.json", "--name", "lr", *options, "train.py", "--", *args)


def launches(user: User) -> int:
    return len(list((user.home / "jobs/lr/launches").iterdir()))


def test_what_is_done_is_not_done_again_and_of_more_cells_only_the_new_ones_are_run(user: User) -> None:
    assert sweep(user, '{"lr": [0.5, 0.2]}').code == 0
    said = sweep(user, '{"lr": [0.2, 0.5]}', "--json")
    assert said.code == 0, said.err
    assert "nothing of sweep `lr` is missing: all 2 cells are done" in said.err
    assert json.loads(said.out)["cells"]["done"] == 2
    assert launches(user) == 1
    assert sorted(done(user)) == ["0.2 1", "0.5 1"]

    other = sweep(user, '{"lr": [0.2, 0.9]}', "--metric", "loss", "--env", "A=b", "--dry-run")
    assert other.code == 2 and "is there already, with another `env` of its own and no `--metric`" in other.err, (
        other.err
    )
    rehearsed = sweep(user, '{"lr": [0.2, 0.9]}', "--dry-run")
    assert "1 of 3 cells, 1 worker" in rehearsed.err
    assert launches(user) == 1
    said = sweep(user, '{"lr": [0.2, 0.9]}')
    assert said.code == 0, said.err
    assert "1 of 3 cells, 1 worker (one for each cell)" in said.err
    assert sorted(done(user)) == ["0.2 1", "0.5 1", "0.9 1"]
    shown = user.outlast("show", "lr", "--json").json["cell_list"]
    assert [cell["params"]["lr"] for cell in shown] == [0.5, 0.2, 0.9]
    assert user.outlast("logs", "lr.3").out.startswith("lr 0.9 depth 1 step 0")


def test_cells_are_told_apart_by_which_value_belongs_to_which_key(user: User) -> None:
    assert sweep(user, '{"lr": 1, "depth": 2}').code == 0
    rehearsed = sweep(user, '[{"lr": 2, "depth": 1}, {"depth": 2, "lr": 1}]', "--dry-run")
    assert "1 of 2 cells, 1 worker" in rehearsed.err and "--lr 2 --depth 1" in rehearsed.out, rehearsed


def test_changed_code_asks_which_cells_to_begin_again(user: User) -> None:
    grid = '{"depth": [1, 2]}'
    failing = ("--fails", "2")
    failed = sweep(user, grid, args=failing)
    assert failed.code == 1
    assert "cell 2 has failed; `outlast logs lr 2` prints what it said" in failed.err
    assert "1 of 2 cells done, 1 failed" in failed.err
    user.write("train.py", (user.work / "train.py").read_text() + "\n# changed\n")

    said = sweep(user, grid, args=failing)
    assert said.code == 2
    assert "has changed since 2 cells ended (`train.py`)" in said.err
    assert "`--rerun none` only those that are missing" in said.err
    assert launches(user) == 1

    said = sweep(user, grid, "--rerun", "none", args=failing)
    assert said.code == 1, "as it ended"
    assert "1 of them without success" in said.err
    assert launches(user) == 1

    (user.root / "mended").touch()
    asked = Terminal(user, "run", "--sweep", "grid.json", "--name", "lr", "train.py", "--", *failing, columns=200)
    asked.read_until(b"begin which of them again? [failed/all/none] ")
    asked.press(b"perhaps\n")
    asked.read_until(b"perhaps\r\nThe code of sweep `lr` has changed")
    asked.press(b"failed\n")
    assert asked.wait() == 0, asked.seen
    assert done(user) == ["0.1 1", "0.1 2"]

    assert sweep(user, grid, "--rerun", "all", args=failing).code == 0
    assert sorted(done(user)) == ["0.1 1", "0.1 1", "0.1 2", "0.1 2"]
    rows = user.outlast("results", "lr", "--json").json
    assert [row["attempts"] for row in rows] == [1, 1], "a new turn has nothing of the one before"


def test_cells_that_failed_are_done_again_without_a_question_where_the_code_is_the_same(user: User) -> None:
    assert sweep(user, '{"depth": [1, 2]}', args=("--fails", "2")).code == 1
    (user.root / "mended").touch()
    said = sweep(user, '{"depth": [1, 2]}', args=("--fails", "2"))
    assert said.code == 0, said.err
    assert done(user) == ["0.1 1", "0.1 2"]


def test_a_running_sweep_says_what_it_cannot_take_up(user: User) -> None:
    held = ("--gate", str(user.root / "gate"))
    grid = '{"lr": [0.5, 0.2]}'
    assert sweep(user, grid, "--detach", args=held).code == 0
    assert "has no room for 1 more cell" in sweep(user, '{"lr": [0.5, 0.7]}', "--detach", args=held).err
    assert "`--rerun all` begins what has ended" in sweep(user, grid, "--rerun", "all", "--detach", args=held).err
    same = sweep(user, grid, "--detach", "--json", args=held)
    assert same.code == 0, same.err
    assert "was there already, and goes on" in same.err
    script = (user.work / "train.py").read_text()
    user.write("train.py", script + "\n# changed\n")
    assert "began with other code: `train.py`" in sweep(user, grid, "--detach", args=held).err
    user.write("train.py", script)
    (user.root / "gate").touch()
    assert sweep(user, grid, args=held).code == 0
    assert launches(user) == 1
    assert sorted(done(user)) == ["0.2 1", "0.5 1"]


def test_cells_that_a_killed_submit_has_written_down_are_done_by_the_next_one(user: User) -> None:
    assert sweep(user, '{"lr": [0.5]}').code == 0
    folder = Home(open_store(str(user.home)), Random(1)).folder("lr")
    first = folder.read(Grid, SweepKeys("lr").grid(1))
    document = json.dumps({"lr": [0.7]}) if isinstance(first.document, str) else {"lr": [0.7]}
    assert folder.create(SweepKeys("lr").grid(2), Grid(2, 2, 1, document))
    said = sweep(user, '{"lr": [0.5, 0.8]}')
    assert said.code == 0, said.err
    assert sorted(done(user)) == ["0.5 1", "0.7 1", "0.8 1"]


def test_half_a_submit_with_other_cells_is_not_taken_for_this_one(user: User) -> None:
    assert sweep(user, '{"lr": [0.5]}').code == 0
    for name in ("head.json~1", "head.json~2"):
        (user.home / "jobs/lr" / name).unlink()
    said = sweep(user, '{"lr": [0.9]}')
    assert said.code == 2
    assert "was submitted with other cells before" in said.err


def test_a_job_that_is_no_sweep_keeps_its_name(user: User) -> None:
    assert user.outlast("run", "--job-id", "lr", "train.py").code == 0
    said = sweep(user, '{"lr": [0.5]}')
    assert said.code == 2
    assert "it is no sweep" in said.err


def test_prune_keeps_the_code_of_every_commit_that_a_sweep_goes_over(user: User) -> None:
    repository = user.root / "repository"
    repository.mkdir()
    script = (user.work / "train.py").read_text()

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=repository, check=True)

    git("init", "-q")
    for tag, rate in (("one", "0.5"), ("two", "0.25")):
        (repository / "train.py").write_text(script.replace("lr: float = 0.1", f"lr: float = {rate}"))
        git("add", "train.py")
        git("commit", "-q", "-m", tag)
        git("tag", tag)
    words = ("run", "--git", f"{repository}@{{one, two,one}}", "--name", "refs", "train.py")
    rehearsed = user.outlast(*words[:-1], "--dry-run", "train.py")
    assert "2 cells, 2 workers" in rehearsed.err
    assert rehearsed.out.endswith("cell 1 train.py  # one\ncell 2 train.py  # two\n")
    said = user.outlast(*words)
    assert said.code == 0, said.err
    assert sorted(done(user)) == ["0.25 1", "0.5 1"]
    rows = user.outlast("results", "refs", "--json").json
    assert [row["params"] for row in rows] == [{"ref": "two"}, {"ref": "one"}]
    for cell, tag in ((1, "one"), (2, "two")):
        known = subprocess.run(
            ["git", "rev-parse", f"{tag}^{{commit}}"], cwd=repository, capture_output=True, text=True
        )
        shown = user.outlast("show", f"refs.{cell}").out
        assert f"from {repository}@{tag}, commit {known.stdout[:12]}" in shown, "its own commit"
    user.write("ref.json", '{"lr": [1, 2], "ref": 3}')
    taken = user.outlast(*words[:3], "--sweep", "ref.json", "train.py")
    assert taken.code == 2 and "key `ref`" in taken.err

    bundles = sorted(path.name for path in (user.home / "bundles").iterdir())
    assert user.outlast("prune", "--yes").code == 0
    assert sorted(path.name for path in (user.home / "bundles").iterdir()) == bundles
    said = user.outlast(*words[:-1], "--rerun", "all", "train.py")
    assert said.code == 0, said.err
    assert sorted(done(user)) == ["0.25 1", "0.25 1", "0.5 1", "0.5 1"]


def test_code_that_a_prune_takes_away_while_a_sweep_is_submitted_again_is_there_when_its_cells_begin(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sweep(user, '{"lr": [0.5]}').code == 0
    user.write("train.py", (user.work / "train.py").read_text() + "\n# changed\n")
    for name, value in user.environ().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(user.work)
    world = system_world()
    asked = SweepAsked({"lr": [0.5, 0.7]}, "stdin")
    request = Asked(target="train.py", directory=str(user.work), name="lr", job_id="lr", cells=asked.cells)
    planned = plan(world, request)
    again = look_again(planned, asked)
    assert again is not None
    assert again.changed == ("train.py",)
    new = user.home / "bundles" / f"{planned.spec.bundle}.json~1"
    assert new.exists()

    removed = prune(world, find_unneeded(planned.home, older_than_seconds=1e9))
    assert [item.name for item in removed.items if item.kind == "bundle"] == [f"{planned.spec.bundle}.json"]
    submit_again(world, planned, asked, again, "none")
    assert wait(world, again.job).state == "succeeded"
    assert sorted(done(user)) == ["0.5 1", "0.7 1"]
    kept = prune(world, find_unneeded(planned.home, older_than_seconds=1e9))
    assert [item.name for item in kept.items if item.kind == "bundle"] == []
