"""`outlast.checkpoint`: any framework's files, committed as one; and the loops around it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outlast
from outlast.errors import UsageError
from outlast.training.disk import link_tree
from tests.training.lives import Killed, life, live, newest, notice, run_script, settle, steps_on_disk


def test_a_folder_is_committed_as_one(tmp_path: Path) -> None:
    with life(tmp_path):
        with outlast.checkpoint(7, metrics={"accuracy": 0.5, "bad": float("nan")}, wait=True) as folder:
            (folder / "model").mkdir()
            (folder / "model" / "weights").write_text("w")
            assert steps_on_disk(tmp_path) == []
        latest = outlast.latest_checkpoint()
        assert latest is not None and (latest / "model" / "weights").read_text() == "w"
        assert (latest.step, latest.metrics, latest.complete) == (7, {"accuracy": 0.5}, False)
        assert isinstance(latest, Path) and latest.is_dir()


def test_without_waiting_it_is_there_soon_and_latest_waits_for_it(tmp_path: Path) -> None:
    with life(tmp_path):
        for step in range(5):
            with outlast.checkpoint(step) as folder:
                (folder / "n").write_text(str(step))
        latest = outlast.latest_checkpoint()
        assert latest is not None and latest.step == 4 and (latest / "n").read_text() == "4"


def test_a_block_that_raises_leaves_nothing_and_the_error_is_unchanged(tmp_path: Path) -> None:
    with life(tmp_path):
        with pytest.raises(KeyError, match="mine"), outlast.checkpoint(1) as folder:
            (folder / "half").write_text("x")
            raise KeyError("mine")
        assert outlast.latest_checkpoint() is None
        assert list((tmp_path / "checkpoint").iterdir()) == []


def test_names_that_are_ours_are_refused(tmp_path: Path) -> None:
    with (
        life(tmp_path),
        pytest.raises(UsageError, match=r"cannot be called `state\.json`"),
        outlast.checkpoint(1) as folder,
    ):
        (folder / "state.json").write_text("{}")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"step": -1}, "step=-1 must be a whole number"),
        ({"step": "7"}, "step='7' must be a whole number"),
        ({"step": 2.5}, "step=2.5 must be a whole number"),
        ({"step": float("inf")}, "step=inf must be a whole number"),
        ({"metrics": 5}, "names with numbers"),
        ({"metrics": {"loss": "low"}}, "'loss' must be a number, not str"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_written(
    tmp_path: Path, given: dict[str, Any], words: str
) -> None:
    with life(tmp_path):
        with pytest.raises((TypeError, ValueError), match=words), outlast.checkpoint(**given):
            raise AssertionError("the block began")
        assert outlast.latest_checkpoint() is None


def test_a_step_may_be_an_element_of_an_array(tmp_path: Path) -> None:
    with life(tmp_path):
        element: Any = np.arange(9)[8]
        with outlast.checkpoint(element, wait=True):
            pass
        latest = outlast.latest_checkpoint()
        assert latest is not None and latest.step == 8


def test_by_hand_the_folder_is_thrown_away(tmp_path: Path) -> None:
    with life(None):
        with outlast.checkpoint(1) as folder:
            (folder / "x").write_text("x")
        assert not folder.exists() and outlast.latest_checkpoint() is None


def own_saves(log: list[str], kill_at: int | None, every: int) -> list[int]:
    """The way of any framework: a loop without a state, files of the script's own, `latest_checkpoint` to find them again."""
    weights = 0
    latest = outlast.latest_checkpoint()
    if latest is not None:
        weights = int((latest / "weights").read_text())
    ran = []
    for step in outlast.steps(10, save_every=0.000001):
        assert weights == step, "the script's files and the loop's position belong together"
        weights += 1
        ran.append(step)
        if (step + 1) % every == 0:
            with outlast.checkpoint(step + 1) as folder:
                (folder / "weights").write_text(str(weights))
            log.append(f"saved {step + 1}")
        settle()
        if step == kill_at:
            raise Killed
    return ran


def test_a_loop_without_a_state_goes_on_after_the_scripts_own_checkpoint(tmp_path: Path) -> None:
    log: list[str] = []
    live(tmp_path, lambda: own_saves(log, 1, 3))
    assert steps_on_disk(tmp_path) == [], "a position without the script's files must not be saved"
    live(tmp_path, lambda: own_saves(log, 7, 3))
    assert live(tmp_path, lambda: own_saves(log, None, 3)) == [6, 7, 8, 9]
    assert newest(tmp_path).step == 9 and not newest(tmp_path).complete, "the script's last files are not of the end"
    assert live(tmp_path, lambda: own_saves(log, None, 3)) == [9]


def test_the_scripts_checkpoint_of_the_very_end_is_marked_complete(tmp_path: Path) -> None:
    assert live(tmp_path, lambda: own_saves([], None, 5)) == list(range(10))
    assert newest(tmp_path).complete and newest(tmp_path).step == 10
    assert (newest(tmp_path).path / "weights").read_text() == "10"
    assert live(tmp_path, lambda: own_saves([], None, 5)) == []


def by_due(total: int, kill_at: int | None = None, notice_at: int | None = None) -> list[str]:
    events, weights = [], 0
    latest = outlast.latest_checkpoint()
    if latest is not None:
        weights = int((latest / "weights").read_text())
    for step in outlast.steps(total, save_every="1h"):
        assert weights == step
        weights += 1
        if step == notice_at:
            notice(outlast.output_dir().parent, 60)
        if outlast.due():
            with outlast.checkpoint() as folder:
                (folder / "weights").write_text(str(weights))
            events.append(f"saved after {step}")
        if step == kill_at:
            raise Killed
    return events


def test_due_is_true_in_the_last_step(tmp_path: Path) -> None:
    assert live(tmp_path, lambda: by_due(5)) == ["saved after 4"]
    assert newest(tmp_path).complete and newest(tmp_path).step == 5


def test_due_is_true_after_a_notice_and_then_the_loop_leaves(tmp_path: Path) -> None:
    with pytest.raises(outlast.Interrupted):
        live(tmp_path, lambda: by_due(50, notice_at=3))
    assert newest(tmp_path).step == 4
    (tmp_path / "notice.json").unlink()
    assert live(tmp_path, lambda: by_due(6)) == ["saved after 5"]


def test_a_notice_between_due_and_the_boundary_is_given_one_more_body(tmp_path: Path) -> None:
    def script() -> None:
        for step in outlast.steps(50, save_every="1h"):
            due = outlast.due()
            assert due == (step == 4)
            if due:
                with outlast.checkpoint() as folder:
                    (folder / "x").write_text(str(step))
            if step == 3:
                notice(tmp_path, 60)

    with pytest.raises(outlast.Interrupted):
        live(tmp_path, script)
    assert newest(tmp_path).step == 5


def test_outside_of_any_loop_due_follows_the_clock(tmp_path: Path) -> None:
    with life(tmp_path):
        assert not outlast.due()
        assert (tmp_path / "loop").exists(), "a script that asks leaves by itself"
        import time

        limit = time.monotonic() + 60
        while not outlast.due():
            assert time.monotonic() < limit
            time.sleep(0.01)
        with outlast.checkpoint() as folder:
            (folder / "x").write_text("x")
        settle()
        assert not outlast.due()
        notice(tmp_path, 60)
        assert outlast.due() and outlast.should_stop()
    assert steps_on_disk(tmp_path) == [0]


def with_state(kill_at: int | None, wait: bool = False) -> Any:
    state = outlast.State(n=0, after=0)
    for step in outlast.steps(6, state, save_every="1h"):
        state.n += 1
        if step == 2:
            with outlast.checkpoint(metrics={"n": state.n}, wait=wait) as folder:
                (folder / "export").write_text(str(state.n))
        state.after += 1  # what stands behind it in the body belongs to the step too
        if step == kill_at:
            raise Killed
    return state.n, state.after


@pytest.mark.parametrize("wait", [False, True])
def test_in_a_loop_with_a_state_the_files_join_its_save_at_the_end_of_the_body(tmp_path: Path, wait: bool) -> None:
    live(tmp_path, lambda: with_state(2, wait))
    assert steps_on_disk(tmp_path) == [], "the body did not end"
    live(tmp_path, lambda: with_state(3, wait))
    assert newest(tmp_path).step == 3 and (newest(tmp_path).path / "export").read_text() == "3"
    assert newest(tmp_path).record["metrics"] == {"n": 3.0}
    assert live(tmp_path, lambda: with_state(None, wait)) == (6, 6)


def test_a_checkpoint_in_a_body_that_was_left_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def script() -> None:
        for _ in outlast.steps(6, outlast.State(n=0), save_every="1h"):
            with outlast.checkpoint() as folder:
                (folder / "x").write_text("x")
            break

    live(tmp_path, script)
    assert "made in a body that did not end" in capsys.readouterr().err
    assert steps_on_disk(tmp_path) == [] and list((tmp_path / "checkpoint").iterdir()) == []


def test_stop_keeps_the_checkpoint_of_the_last_body(tmp_path: Path) -> None:
    def script() -> None:
        loop = outlast.steps(6, outlast.State(n=0), save_every="1h")
        for _ in loop:
            with outlast.checkpoint() as folder:
                (folder / "x").write_text("x")
            loop.stop()

    live(tmp_path, script)
    assert newest(tmp_path).complete and (newest(tmp_path).path / "x").exists()


def test_a_state_can_be_restored_outside_of_any_loop(tmp_path: Path) -> None:
    live(tmp_path, lambda: with_state(None))
    with life(tmp_path):
        latest = outlast.latest_checkpoint()
        assert latest is not None and latest.complete
        state = outlast.State(n=0)
        latest.restore(state)
        assert state.n == 6


def test_a_script_that_keeps_its_own_files_is_not_disturbed(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import outlast\n"
        "mine = outlast.checkpoint_dir() / 'last.txt'\n"
        "for step in outlast.steps(5, save_steps=1):\n"
        "    mine.write_text(str(step))\n"
        "print('end')\n"
    )
    assert run_script(script, tmp_path / "run")[:2] == (0, "end\n")
    assert [path.name for path in (tmp_path / "run" / "checkpoint").iterdir()] == ["last.txt"]


@pytest.mark.parametrize("links", [True, False])
def test_a_link_to_nothing_among_a_scripts_own_files_is_kept_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for folder in (source, target):
        folder.mkdir()
    (source / "last.pt").symlink_to("gone.pt")
    (source / "model.pt").write_bytes(b"weights")

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.ENOTSUP, "no hard links here")

    if not links:
        monkeypatch.setattr(os, "link", refused)
    link_tree(source, target)
    assert os.readlink(target / "last.pt") == "gone.pt"
    assert (target / "model.pt").read_bytes() == b"weights"
