"""The loop's own promises: where it begins, when it saves, how it ends, and what comes after it."""

from __future__ import annotations

import json
import random
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outlast
from outlast.errors import OutlastError
from outlast.training import disk, ending
from tests.training.lives import LIMIT_SECONDS, Killed, life, live, newest, settle, steps_on_disk


def count(total: int, kill_at: int | None = None, **options: Any) -> list[int]:
    """The steps that were run in this life; the state counts those of all lives."""
    state = outlast.State(n=0)
    ran = []
    for step in outlast.steps(total, state, **({"save_steps": 1} | options)):
        assert state.n == step, "every step is done exactly once in what is kept"
        ran.append(step)
        state.n += 1
        settle()
        if step == kill_at:
            raise Killed
    assert state.n >= total
    return ran


def test_it_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    live(tmp_path, lambda: count(10, kill_at=4))
    assert live(tmp_path, lambda: count(10)) == [4, 5, 6, 7, 8, 9]


def test_a_finished_loop_run_again_yields_nothing_and_restores(tmp_path: Path) -> None:
    live(tmp_path, lambda: count(5))
    assert newest(tmp_path).complete and newest(tmp_path).step == 5
    assert live(tmp_path, lambda: count(5)) == []
    assert steps_on_disk(tmp_path)[0] == 5, "and it saves nothing new"


def test_the_total_is_absolute_and_may_change(tmp_path: Path) -> None:
    live(tmp_path, lambda: count(5))
    assert live(tmp_path, lambda: count(8)) == [5, 6, 7]
    assert live(tmp_path, lambda: count(3)) == []


@pytest.mark.parametrize("total", [2, 4])
def test_a_total_lowered_to_what_is_done_or_below_completes_it(tmp_path: Path, total: int) -> None:
    """It may grow again."""
    live(tmp_path, lambda: count(10, kill_at=4))
    assert newest(tmp_path).step == 4 and not newest(tmp_path).complete
    assert live(tmp_path, lambda: count(total)) == []
    assert newest(tmp_path).step == 4 and newest(tmp_path).complete
    assert live(tmp_path, lambda: count(7)) == [4, 5, 6]


def test_it_tells_where_it_begins_before_and_after(tmp_path: Path) -> None:
    with life(tmp_path):
        loop = outlast.steps(9, outlast.State(), save_steps=1)
        assert (loop.start, loop.resumed, loop.attempt, loop.total) == (0, False, 1, 9)
        for _ in range(3):
            next(loop)
            settle()
        assert (loop.start, loop.resumed) == (0, False)
    with life(tmp_path):
        loop = outlast.steps(9, outlast.State())
        assert (loop.start, loop.resumed, loop.attempt) == (2, True, 2)
        assert next(loop) == 2
        assert (loop.start, loop.resumed, loop.attempt) == (2, True, 2)


def test_the_agents_attempt_counts(tmp_path: Path) -> None:
    with life(tmp_path, attempt=7):
        loop = outlast.steps(1)
        assert loop.attempt == 7
        list(loop)
    record = json.loads((newest(tmp_path).path / "checkpoint.json").read_text())
    assert record["attempt"] == 7 and record["number"] == 1


def test_the_state_is_restored_at_the_first_step_and_not_before(tmp_path: Path) -> None:
    live(tmp_path, lambda: count(5, kill_at=3))
    with life(tmp_path):
        state = outlast.State(n=0)
        loop = outlast.steps(5, state)
        assert state.n == 0
        next(loop)
        assert state.n == 3


def test_stop_ends_after_the_body_and_is_complete(tmp_path: Path) -> None:
    def early() -> list[int]:
        loop, ran = outlast.steps(100, outlast.State(a=1)), []
        for step in loop:
            ran.append(step)
            if step == 3:
                loop.stop()
        return ran

    assert live(tmp_path, early) == [0, 1, 2, 3]
    assert newest(tmp_path).complete and newest(tmp_path).step == 4
    assert live(tmp_path, early) == []


def test_break_leaves_without_a_save(tmp_path: Path) -> None:
    def script() -> list[int]:
        ran = []
        for step in outlast.steps(10, outlast.State(), save_steps=2):
            ran.append(step)
            settle()
            if step == 5:
                break
        return ran

    assert live(tmp_path, script) == [0, 1, 2, 3, 4, 5]
    assert newest(tmp_path).step == 4 and not newest(tmp_path).complete
    assert not (tmp_path / "loop").exists()
    assert live(tmp_path, script) == [4, 5]


def test_an_iterator_goes_on_after_break() -> None:
    loop = outlast.steps(6)
    assert [next(loop), next(loop)] == [0, 1]
    assert list(loop) == [2, 3, 4, 5]


def test_save_asks_for_one_at_the_end_of_the_body(tmp_path: Path) -> None:
    with life(tmp_path):
        loop = outlast.steps(10, outlast.State(), save_every="1h")
        for step in loop:
            if step == 2:
                loop.save()
                assert steps_on_disk(tmp_path) == []
            if step == 3:
                settle()
                assert steps_on_disk(tmp_path) == [3]
                break


def test_an_error_in_the_body_is_unchanged_and_saves_nothing_of_that_body(tmp_path: Path) -> None:
    def script() -> None:
        state = outlast.State(n=0)
        for step in outlast.steps(10, state, save_steps=1):
            state.n += 1
            settle()
            if step == 4:
                raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        live(tmp_path, script)
    assert newest(tmp_path).step == 4
    with life(tmp_path):
        state = outlast.State()
        assert next(outlast.steps(10, state)) == 4 and state.n == 4


@pytest.mark.parametrize("bad", [-1, 1.5, "3", None])
def test_a_total_that_is_none_is_refused(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="total"):
        outlast.steps(bad)


@pytest.mark.parametrize(
    ("option", "bad"),
    [
        ("save_every", "soon"),
        ("save_every", 0),
        ("save_every", []),
        ("save_steps", 0),
        ("save_steps", 1.5),
        ("name", ""),
        ("state", {}),
    ],
)
def test_wrong_options_are_named(option: str, bad: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=option):
        outlast.steps(3, **{option: bad})


def test_numpy_integers_are_whole_numbers() -> None:
    assert list(outlast.steps(np.int64(2))) == [0, 1]


def test_a_drill_caps_it_from_outside(tmp_path: Path) -> None:
    assert live(tmp_path, lambda: count_capped(1000), attempt=1, steps_max=4) == 4
    assert newest(tmp_path).complete


def count_capped(total: int) -> int:
    return len(list(outlast.steps(total, outlast.State())))


# --------------------------------------------------------------------------------------------------- several loops


def two_loops(log: list[Any], kill: tuple[str, int] | None, own_states: bool) -> dict[str, Any]:
    """Training, work in between that draws random numbers and looks at the state, then a second training."""
    random.seed(3)
    state = outlast.State(w=0.0, rng=random.Random(5))
    for step in outlast.steps(4, state, name="first", save_steps=1):
        state.w += state.rng.random() + random.random()
        if kill == ("first", step):
            raise Killed
        settle()
    between = (state.w, random.random(), state.rng.random())
    state.w += 1
    log.append(between)
    second = outlast.State(w=state.w, v=0.0) if own_states else state
    for step in outlast.steps(5, second, name="second", save_steps=1):
        second.w += random.random()
        settle()
        if kill == ("second", step):
            raise Killed
    after = (second.w, random.random())
    ran = list(outlast.steps(3, name="third", save_steps=1))
    return {"between": between, "after": after, "third": ran}


@pytest.mark.parametrize("own_states", [False, True])
def test_loops_one_after_another_each_resume_and_the_work_between_sees_what_it_saw(
    tmp_path: Path, own_states: bool
) -> None:
    expected = live(None, lambda: two_loops([], None, own_states))
    log: list[Any] = []
    for kill in [("first", 2), ("second", 1), ("second", 3)]:
        assert live(tmp_path, lambda: two_loops(log, kill, own_states)) is None  # noqa: B023
    assert live(tmp_path, lambda: two_loops(log, None, own_states)) == expected
    assert set(log) == {expected["between"]}, "in every life"
    again = live(tmp_path, lambda: two_loops(log, None, own_states))
    assert again == {**expected, "third": []}


def test_the_step_of_checkpoints_grows_over_all_loops(tmp_path: Path) -> None:
    seen: list[int] = []

    def script() -> None:
        for name in ("a", "b", "c"):
            for _ in outlast.steps(3, outlast.State(), name=name, save_steps=1):
                settle()
                seen.extend(step for step in steps_on_disk(tmp_path)[:1])

    live(tmp_path, script)
    assert seen == sorted(seen) and newest(tmp_path).step == 9
    assert list(map(int, (tmp_path / "progress").read_text().split())) == [9, 9]


def test_an_earlier_loop_that_goes_on_makes_the_later_ones_begin_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(total: int) -> list[str]:
        ran = []
        for name, steps in (("a", total), ("b", 2)):
            ran += [f"{name}{step}" for step in outlast.steps(steps, outlast.State(), name=name)]
        return ran

    assert live(tmp_path, lambda: script(2)) == ["a0", "a1", "b0", "b1"]
    assert live(tmp_path, lambda: script(2)) == []
    assert live(tmp_path, lambda: script(3)) == ["a2", "b0", "b1"]
    assert "`a` goes on, so `b` begins anew" in capsys.readouterr().err


def test_the_code_between_two_loops_sees_the_state_that_the_first_was_left_with(tmp_path: Path) -> None:
    def script(kill_at: int | None) -> list[float]:
        random.seed(3)
        state = outlast.State(w=np.zeros(2), best=[0.0])
        for step in outlast.steps(100, state, name="first", save_steps=1):
            state.w += random.random()
            if step == 4:
                break
        scale = float(state.w.sum()) + random.random()
        state.w *= 0.5
        for step in outlast.steps(6, state, name="second", save_steps=1):
            state.w += random.random() * scale
            settle()
            if step == kill_at:
                raise Killed
        return [*state.w.tolist(), scale]

    expected = live(None, lambda: script(None))
    live(tmp_path, lambda: script(2))
    live(tmp_path, lambda: script(4))
    assert live(tmp_path, lambda: script(None)) == expected


def test_a_state_too_large_to_be_kept_at_a_break_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "LEFT_BYTES_MAX", 8)
    with life(tmp_path):
        for _ in outlast.steps(9, outlast.State(w=np.zeros(2)), name="first"):
            break
        list(outlast.steps(3, outlast.State(w=np.zeros(2)), name="second"))
    assert "the loop `first` was left by `break` with a state too large" in capsys.readouterr().err


def test_a_loop_that_was_left_by_break_is_over_once_a_later_one_has_saved(tmp_path: Path) -> None:
    def script(kill: bool) -> list[str]:
        ran, state = [], outlast.State(n=0)
        for step in outlast.steps(9, state, name="a", save_steps=1):
            ran.append(f"a{step}")
            state.n += 1
            if step == 2:
                break
        for step in outlast.steps(4, state, name="b", save_steps=1):
            settle()
            if kill and step == 2:
                raise Killed
            ran.append(f"b{step}")
            state.n += 1
        return [*ran, str(state.n)]

    expected = live(None, lambda: script(False))
    live(tmp_path, lambda: script(True))
    assert live(tmp_path, lambda: script(False)) == expected[-3:]


def test_the_same_name_twice_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with life(tmp_path):
        assert list(outlast.steps(2)) == [0, 1]
        assert list(outlast.steps(2)) == []
        assert "give another loop another name" in capsys.readouterr().err
        for _ in outlast.steps(2, name="x"):
            break
        with pytest.raises(OutlastError, match="left by `break` and is begun again"):
            list(outlast.steps(2, name="x"))


def test_a_checkpoint_of_a_loop_that_the_script_no_longer_has_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live(tmp_path, lambda: list(outlast.steps(2, name="old")))
    assert live(tmp_path, lambda: list(outlast.steps(2, name="new"))) == [0, 1]
    assert "the checkpoint is of the loop `old`; the loop `new` is not in it" in capsys.readouterr().err


def nested(log: list[str], kill: tuple[int, int] | None) -> float:
    """Every third step evaluates in a loop of its own, which draws random numbers."""
    random.seed(1)
    state = outlast.State(w=0.0)
    for step in outlast.steps(7, state, save_steps=1):
        settle()
        state.w += random.random()
        if step % 3 == 0:
            for i, part in outlast.batches([1.0, 2.0, 3.0], epochs=1, name="evaluate"):
                log.append(f"{step}.{i}")
                if kill == (step, i):
                    raise Killed
                state.w += part * random.random()
            for _ in outlast.steps(2, state, name="evaluate more"):
                state.w += random.random()
    return state.w


def test_a_loop_inside_a_body_is_run_again_as_a_whole(tmp_path: Path) -> None:
    expected = live(None, lambda: nested([], None))
    log: list[str] = []
    live(tmp_path, lambda: nested(log, (3, 1)))
    assert log == ["0.0", "0.1", "0.2", "3.0", "3.1"]
    log.clear()
    assert live(tmp_path, lambda: nested(log, None)) == expected
    assert log == ["3.0", "3.1", "3.2", "6.0", "6.1", "6.2"]


def test_a_loop_inside_a_body_with_a_state_of_its_own_is_refused(tmp_path: Path) -> None:
    with life(tmp_path), pytest.raises(OutlastError, match="`inner` begins inside the body of the loop `epochs`"):
        for _ in outlast.steps(3, name="epochs"):
            for _ in outlast.steps(3, outlast.State(a=1), name="inner"):
                pass


# -------------------------------------------------------------------------------------------------------- by hand


def in_thread(work: Callable[[], Any]) -> Any:
    """What it gives or raises."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(timeout=LIMIT_SECONDS)


def test_a_second_loop_with_a_state_in_another_thread_is_refused(tmp_path: Path) -> None:
    with life(tmp_path):
        state = outlast.State(a=0)
        loop = outlast.steps(2, state, save_steps=1)
        next(loop)
        with pytest.raises(OutlastError, match="`other` begins in another thread while the loop `train` runs"):
            in_thread(lambda: list(outlast.steps(3, state, name="other")))
        assert in_thread(lambda: list(outlast.steps(3, name="looks ahead"))) == [0, 1, 2], "it keeps nothing"
        assert list(loop) == [1]
        assert in_thread(lambda: list(outlast.steps(3, state, name="other"))) == [0, 1, 2], "one after the other"


@pytest.mark.parametrize("kept", [True, False])
def test_a_thread_that_asks_for_steps_ahead_of_their_bodies_is_refused(tmp_path: Path, kept: bool) -> None:
    with life(tmp_path if kept else None):
        for loop in (
            outlast.steps(5, outlast.State(a=0)),
            outlast.batches([1, 2, 3], epochs=1, state=outlast.State(a=0)),
        ):
            with pytest.raises(
                OutlastError, match="`train` is gone through by another thread than the one that made it"
            ):
                in_thread(lambda: next(loop))  # noqa: B023
        loop = outlast.steps(5, outlast.State(a=0))
        next(loop)
        with pytest.raises(OutlastError, match="another thread than the one that made it"):
            in_thread(lambda: next(loop))


def test_by_hand_nothing_is_kept_and_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with life(None):
        state = outlast.State(a=np.zeros(3))
        for _ in outlast.steps(3, state, save_steps=1):
            outlast.log(x=1)
        for _ in outlast.batches([1], epochs=1, name="b"):
            pass
        assert outlast.latest_checkpoint() is None
        assert not outlast.should_stop() and outlast.seconds_left() == float("inf") and not outlast.due()
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "nothing is kept or restored" in err
    assert list(tmp_path.iterdir()) == []


def test_importing_and_looking_writes_nothing(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    with life(None):
        import os

        os.environ["OUTLAST_RUN_DIR"] = str(run_dir)
        from outlast.training import context

        context.forget()
        outlast.State(a=1)
        outlast.steps(3)
        assert (outlast.rank(), outlast.workers(), outlast.config()) == (0, 1, {})
        assert not run_dir.exists()


# -------------------------------------------------------------------------------------------------------- damage


DAMAGES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "record is gone": ("checkpoint.json", lambda folder: (folder / "checkpoint.json").unlink()),
    "record is no json": ("checkpoint.json", lambda folder: (folder / "checkpoint.json").write_text("{")),
    "record is a list": ("checkpoint.json", lambda folder: (folder / "checkpoint.json").write_text("[]")),
    "record lacks a field": (
        "checkpoint.json",
        lambda folder: (folder / "checkpoint.json").write_text('{"format": 1}'),
    ),
    "state is gone": ("state.json", lambda folder: (folder / "state.json").unlink()),
    "state is cut": (
        "state.json",
        lambda folder: (folder / "state.json").write_bytes((folder / "state.json").read_bytes()[:-9]),
    ),
    "generators are gone": ("generators.json", lambda folder: (folder / "generators.json").unlink()),
    "tensors are gone": ("tensors.safetensors", lambda folder: (folder / "tensors.safetensors").unlink()),
    "tensors are cut": ("tensors.safetensors", lambda folder: cut(folder / "tensors.safetensors")),
    "one bit of the tensors": ("tensors.safetensors", lambda folder: flip(folder / "tensors.safetensors", -3)),
    "one bit of the state": ("state.json", lambda folder: flip(folder / "state.json", 40)),
    "a tail of zeros": ("tensors.safetensors", lambda folder: zero_tail(folder / "tensors.safetensors")),
}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def zero_tail(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-100] + bytes(100))


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_checkpoint_is_an_error_that_names_the_file(tmp_path: Path, what: str) -> None:
    state = outlast.State(w=np.arange(100.0))
    live(tmp_path, lambda: list(outlast.steps(2, state)))
    name, change = DAMAGES[what]
    change(newest(tmp_path).path)
    with pytest.raises(OutlastError, match=f"damaged.*{name}") as caught:
        live(tmp_path, lambda: list(outlast.steps(5, outlast.State(w=np.zeros(100)))))
    told = "".join(traceback.format_exception(caught.value))
    assert "hint:" in str(caught.value) and told.count("hint: ") == 1, told


def test_a_newer_format_says_update(tmp_path: Path) -> None:
    live(tmp_path, lambda: list(outlast.steps(2)))
    path = newest(tmp_path).path / "checkpoint.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    with pytest.raises(OutlastError, match="update outlast"):
        live(tmp_path, lambda: list(outlast.steps(5)))


def test_an_older_damaged_checkpoint_does_not_stop_the_saving(tmp_path: Path) -> None:
    with life(tmp_path):
        for step in outlast.steps(6, outlast.State(), save_steps=1):
            settle()
            if step == 3:
                (newest(tmp_path).path / "checkpoint.json").write_text("{")
    assert disk.list_checkpoints(tmp_path / "checkpoint", skip_damaged=True)[0].complete
