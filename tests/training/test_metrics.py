"""`outlast.log`: never raises, never waits, and writes whole lines."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import outlast
from tests.training.lives import life


def lines(run_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run_dir / "metrics").read_text().splitlines()]


def test_numbers_of_every_kind_are_written_with_step_and_time(tmp_path: Path) -> None:
    before = time.time()
    with life(tmp_path):
        for _ in outlast.steps(2):
            outlast.log(
                a=1,
                b=2.5,
                c=True,
                d=np.float32(1.5),
                e=torch.tensor(3.0, requires_grad=True),
                f=np.array([4]),
                g=jnp.float32(5),
            )
        outlast.log(17, loss=1)
        outlast.log(step=18, loss=2)
        outlast.log(loss=3)
    rows = lines(tmp_path)
    assert [row["step"] for row in rows] == [0, 1, 17, 18, None]
    assert {key: rows[0][key] for key in "abcdefg"} == {"a": 1, "b": 2.5, "c": 1, "d": 1.5, "e": 3.0, "f": 4, "g": 5.0}
    assert all(before - 1 < row["at"] < time.time() + 1 for row in rows)


def test_what_is_not_finite_is_still_json(tmp_path: Path) -> None:
    with life(tmp_path):
        outlast.log(1, a=math.nan, b=-math.inf, c=torch.tensor(math.inf))

    def refuse(text: str) -> None:
        raise AssertionError(text)

    row = json.loads((tmp_path / "metrics").read_text(), parse_constant=refuse)
    assert (row["a"], row["b"], row["c"]) == ("nan", "-inf", "inf")


class Evil:
    def item(self) -> float:
        raise RuntimeError("evil")

    def __float__(self) -> float:
        raise RuntimeError("evil")


@pytest.mark.parametrize(
    "bad",
    [object(), "text", None, [1], np.zeros(3), torch.zeros(2), torch.empty(3, device="meta"), Evil(), 1j, 10**400],
)
def test_what_is_no_number_is_left_out_and_said_once_and_the_rest_is_written(
    tmp_path: Path, bad: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with life(tmp_path):
        for step in range(3):
            outlast.log(step, bad=bad, good=step)
    assert [row["good"] for row in lines(tmp_path)] == [0, 1, 2] and "bad" not in lines(tmp_path)[0]
    assert capsys.readouterr().err.count("`bad`") == 1


def test_the_names_of_the_line_itself_are_not_metrics(tmp_path: Path) -> None:
    with life(tmp_path):
        outlast.log(3, at=5, x=1)
        outlast.log("three", x=1)  # type: ignore[arg-type]
    assert len(lines(tmp_path)) == 1 and lines(tmp_path)[0]["at"] > 1e9


def test_a_tensor_that_changes_after_it_was_logged_is_written_as_it_was(tmp_path: Path) -> None:
    with life(tmp_path):
        running = torch.zeros(())
        for step in range(3):
            running += 1
            outlast.log(step, running=running)
    assert [row["running"] for row in lines(tmp_path)] == [1, 2, 3]


class Later:
    """An array whose number is not there yet, as on a GPU."""

    made: list[Later] = []

    def __init__(self) -> None:
        self.done = False
        self.made.append(self)

    def is_ready(self) -> bool:
        return self.done

    def item(self) -> float:
        assert self.done, "it was waited for"
        return 1.0


def test_numbers_that_are_not_ready_are_not_waited_for_and_order_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import jax

    monkeypatch.setattr(jax, "Array", Later)
    with life(tmp_path):
        first, second = Later(), Later()
        outlast.log(1, x=first)
        outlast.log(2, x=second)
        outlast.log(3, y=3)
        assert not (tmp_path / "metrics").exists()
        second.done = True
        outlast.log(4, y=4)
        assert not (tmp_path / "metrics").exists()
        first.done = True
        outlast.log(5, y=5)
        assert [row["step"] for row in lines(tmp_path)] == [1, 2, 3, 4, 5]


def test_a_run_directory_that_cannot_be_written_is_said_and_survived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "metrics").mkdir()
    with life(tmp_path):
        for step in range(3):
            outlast.log(step, x=1)
    assert capsys.readouterr().err.count("metrics could not be written") == 1


def test_a_line_that_was_cut_short_does_not_spoil_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    real = os.write
    with life(tmp_path):
        outlast.log(1, x=1)
        monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:5]))
        outlast.log(2, x=1)
        monkeypatch.undo()
        outlast.log(3, x=1)
    text = (tmp_path / "metrics").read_text().splitlines()
    assert json.loads(text[0])["step"] == 1 and json.loads(text[2])["step"] == 3


def test_several_threads_may_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    threads, calls = 4, 4000

    def log(first: int) -> None:
        for step in range(first, first + calls):
            outlast.log(step, a=1)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with life(tmp_path):
            running = [threading.Thread(target=log, args=(number * calls,)) for number in range(threads)]
            for one in running:
                one.start()
            for one in running:
                one.join()
    finally:
        sys.setswitchinterval(interval)
    assert sorted(line["step"] for line in lines(tmp_path)) == list(range(threads * calls))
    assert "ignored" not in capsys.readouterr().err
