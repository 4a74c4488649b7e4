"""A user with a script whose cells say what they do, and wait where a test wants them to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.user import User, stop_everything

SCRIPT = """
import pathlib, sys, time

import outlast

SCRATCH = pathlib.Path("@SCRATCH@")


@outlast.main
def main(lr: float = 0.1, depth: int = 1, fails: int = 0, gate: str = "", steps: int = 3, mode: str = "train"):
    if mode == "evaluate":
        outlast.log(accuracy=1 - lr)
        return
    state = outlast.State(w=1.0)
    for step in outlast.steps(steps, state):
        state.w = state.w * lr
        outlast.log(loss=state.w * depth, rate=lr)
        print(f"lr {lr} depth {depth} step {step}", flush=True)
        while gate and step == 1 and not pathlib.Path(gate).exists() and not outlast.should_stop():
            time.sleep(0.02)
    if depth == fails and not (SCRATCH / "mended").exists():
        sys.exit(3)
    pathlib.Path(outlast.output_dir(), "model.txt").write_text(f"{lr} {depth}\\n")
    with open(SCRATCH / "done", "a") as done:
        done.write(f"{lr} {depth}\\n")


if __name__ == "__main__":
    main()
"""


def made(root: Path) -> User:
    one = User(root)
    one.work.mkdir()
    one.write("train.py", SCRIPT.replace("@SCRATCH@", str(root)))
    return one


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    one = made(tmp_path)
    yield one
    stop_everything(one)


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """Whose sweep `lr` has ended: six cells, of which those of depth 3 (4, 5 and 6) failed. Tests only look at it."""
    one = made(tmp_path_factory.mktemp("swept"))
    one.write("grid.json", '{"lr": [0.5, 0.2, 0.4], "depth": [2, 3]}')
    ended = one.outlast("run", "--sweep", "grid.json", "--name", "lr", "train.py", "--", "--fails", "3")
    assert ended.code == 1, ended.err
    yield one
    stop_everything(one)


def done(user: User) -> list[str]:
    """What cells have done to their end, in the order of that."""
    path = user.root / "done"
    return path.read_text().splitlines() if path.exists() else []
