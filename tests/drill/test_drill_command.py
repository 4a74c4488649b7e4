"""Around a drill: what is refused before it begins, and that nothing is left when it is cut short."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from outlast.engines.engine import Capabilities
from outlast.errors import UsageError
from outlast.jobs.asked import Asked
from outlast.jobs.drill import drill
from outlast.jobs.drill_like import asked_like
from outlast.jobs.drill_probe import _fit
from outlast.jobs.list import list_jobs
from outlast.jobs.world import World
from tests.drill.asking import EXAMPLES, SCRIPTS, asked_for, unmodified

NUMPY = asked_for(EXAMPLES / "numpy_rebinding/train.py")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 10, "seconds": 10.0}, "exclude each other"),
        ({"steps": 0}, "no step"),
        ({"seconds": 0.0}, "no time"),
        ({"tolerance": -1.0}, "not a number from 0 on"),
        ({"tolerance": float("nan")}, "not a number from 0 on"),
        ({"kills": 0}, "between 1 and"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_runs(
    world: World, options: dict[str, Any], words: str
) -> None:
    lines: list[str] = []
    with pytest.raises(UsageError, match=words):
        drill(world, NUMPY, report=lines.append, **options)
    assert not any("steps in" in line for line in lines)


def test_an_engine_that_cannot_take_machines_away_cannot_be_drilled(world: World) -> None:
    class Rigid:
        name = "rigid"
        capabilities = Capabilities(gpus=False, same_machine=True, preempts=False)

    rigid = world.over(lambda store: store, lambda engine: cast(Any, Rigid()))
    with pytest.raises(UsageError, match="`rigid` cannot be drilled"):
        drill(rigid, NUMPY)


def test_a_drill_that_is_interrupted_leaves_nothing_running(world: World) -> None:
    def interrupt(line: str) -> None:
        if line.startswith("Kill 1"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drill(world, NUMPY, seed=3, report=interrupt)
    assert not list_jobs(world, running=True)


@pytest.mark.parametrize("options", [{"steps": 50}, {"seconds": 10.0}])
def test_a_script_without_the_librarys_loop_cannot_be_capped_from_outside(
    world: World, options: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="has no such loop") as caught:
        drill(world, unmodified(SCRIPTS / "forgets_generator.py", args=("--steps", "20")), **options)
    assert "fewer steps in its own arguments" in caught.value.hint


def test_what_is_asked_for_now_counts_before_what_a_job_was_submitted_with(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from outlast.jobs import drill_like
    from outlast.jobs.plan import plan

    old = replace(unmodified(SCRIPTS / "runs_on.py", args=("--steps", "7")), env={"A": "1"}, cpus=1, name="old")
    spec = plan(world, old).spec
    monkeypatch.setattr(
        drill_like, "find", lambda world, text: cast(Any, type("Found", (), {"id": "old", "spec": lambda self: spec})())
    )
    like = asked_like(world, Asked(target=""), "old")
    assert like == replace(old, on="local")
    other = asked_like(world, Asked(target="", args=("--steps", "9"), env={"B": "2"}), "old")
    assert other.args == ("--steps", "9")
    assert other.env == {"B": "2"}
    assert other.checkpoint_dir == "checkpoints"


def test_the_steps_that_fit_are_judged_without_the_time_to_start() -> None:
    assert _fit(None, (8, 4.0), 40.0) == 80
    assert _fit((8, 10.8), (32, 13.2), 30.0) == 200
