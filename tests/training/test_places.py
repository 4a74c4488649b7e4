"""Directories, datasets, configuration, rank; and what importing costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import outlast
from outlast.bundle.select import select_walked
from outlast.errors import NotFound, UsageError
from outlast.training import context
from tests.training.lives import life, run_script


def test_directories_are_there_and_where_the_agent_says(tmp_path: Path) -> None:
    with life(tmp_path):
        assert outlast.output_dir() == tmp_path / "output" and outlast.output_dir().is_dir()
        assert outlast.checkpoint_dir() == tmp_path / "checkpoint" and outlast.checkpoint_dir().is_dir()
        os.environ["OUTLAST_OUTPUT_DIR"] = str(tmp_path / "results")
        os.environ["OUTLAST_CHECKPOINT_DIR"] = str(tmp_path / "mine")
        context.forget()
        assert outlast.output_dir() == tmp_path / "results" and outlast.checkpoint_dir() == tmp_path / "mine"


def test_by_hand_outputs_go_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with life(None):
        assert outlast.output_dir() == outlast.output_dir() == tmp_path / "output"
        assert outlast.checkpoint_dir().is_dir() and outlast.checkpoint_dir() == outlast.checkpoint_dir()


@pytest.mark.parametrize("call", ["outlast.checkpoint_dir()", "outlast.log(loss=1.0)", "outlast.latest_checkpoint()"])
def test_by_hand_whatever_is_not_kept_is_said_once(tmp_path: Path, call: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"import outlast\n{call}\n{call}\n")
    code, _, err = run_script(script, None)
    assert code == 0 and err.count("nothing is kept or restored") == 1, err


def test_by_hand_each_worker_knows_its_rank(tmp_path: Path) -> None:
    """As torchrun starts them; one of them speaks for all."""
    script = tmp_path / "train.py"
    script.write_text("import outlast\nfor _ in outlast.steps(1): print(outlast.rank(), outlast.workers())\n")
    for rank in (0, 1):
        code, out, err = run_script(script, None, env={"RANK": str(rank), "WORLD_SIZE": "2"})
        assert (code, out) == (0, f"{rank} 2\n") and err.count("nothing is kept") == 1 - rank, err
    code, _, err = run_script(script, None, env={"RANK": "first", "WORLD_SIZE": "2"})
    assert code == 1 and "RANK is `first`" in err and "attempt.json" not in err


def test_what_a_script_leaves_that_was_started_by_hand_is_no_code(tmp_path: Path) -> None:
    """Of directories that were there before, nobody but their owner knows what they are."""
    script = tmp_path / "train.py"
    script.write_text(
        "import outlast\nfor _ in outlast.steps(2, outlast.State(n=0)): outlast.log(loss=1.0)\n"
        "(outlast.output_dir() / 'result').write_text('found')\n"
    )
    early = tmp_path / "early.py"
    early.write_text("import outlast\n(outlast.checkpoint_dir() / 'last').write_text('x')\n")
    assert run_script(early, tmp_path / "other")[0] == 0
    early.unlink()
    (tmp_path / "mine").mkdir()
    for run_dir in (None, tmp_path / "runs" / "1", tmp_path / "mine"):
        done = run_script(script, run_dir)
        assert done[0] == 0, done
    assert (tmp_path / "output" / "result").exists() and (tmp_path / "runs" / "1" / "output" / "result").exists()
    shipped = select_walked(tmp_path, b"", ()).names
    assert {path.split(b"/")[0] for path in shipped} == {b"train.py", b"mine"}


def test_datasets_by_name(tmp_path: Path) -> None:
    with life(None):
        with pytest.raises(NotFound, match="no dataset"):
            outlast.dataset()
        (tmp_path / "digits").mkdir()
        os.environ["OUTLAST_DATASET"] = str(tmp_path)
        assert outlast.dataset() == tmp_path and outlast.dataset("digits") == tmp_path / "digits"
        os.environ["OUTLAST_DATASET_MY_DATA"] = "/there"
        assert outlast.dataset("my-data") == Path("/there")
        for name in ("absent", "../etc"):
            with pytest.raises(NotFound, match="called"):
                outlast.dataset(name)


def test_configuration_is_text_or_a_file(tmp_path: Path) -> None:
    with life(None):
        assert outlast.config() == {}
        for text, suffix in (('{"a": [1]}', "json"), ("a = [1]\n", "toml")):
            path = tmp_path / f"config.{suffix}"
            path.write_text(text)
            os.environ["OUTLAST_CONFIG"] = str(path)
            assert outlast.config() == {"a": [1]}
        os.environ["OUTLAST_CONFIG"] = '{"b": 2}'
        assert outlast.config() == {"b": 2}
        (tmp_path / "binary.json").write_bytes(b"\xff")
        os.environ["OUTLAST_CONFIG"] = str(tmp_path / "binary.json")
        with pytest.raises(UsageError, match="is no text"):
            outlast.config()
        for bad, error in (("{", UsageError), ("/absent", NotFound)):
            os.environ["OUTLAST_CONFIG"] = bad
            with pytest.raises(error, match="OUTLAST_CONFIG"):
                outlast.config()


def test_rank_and_workers(tmp_path: Path) -> None:
    with life(tmp_path, attempt=1, rank=2, workers=4):
        assert (outlast.rank(), outlast.workers()) == (2, 4)
    with life(None):
        assert (outlast.rank(), outlast.workers()) == (0, 1)


def test_importing_loads_nothing_of_others_and_next_to_nothing_at_all() -> None:
    code = "import sys; before = set(sys.modules); import outlast; print(*sorted(set(sys.modules) - before)); print(outlast.__version__)"
    environ = {**os.environ, "PYTHONPATH": str(Path(context.__file__).parents[2])}
    out = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[0].split() == ["__future__", "outlast"]


def test_using_it_loads_no_library_of_arrays_and_no_other_part_of_outlast() -> None:
    code = (
        "import sys, outlast\n"
        "for name in outlast.__all__:\n"
        "    if name not in ('submit', 'submit_many', 'job', 'push'): getattr(outlast, name)\n"
        "for step in outlast.steps(2, outlast.State(a=1)): outlast.log(a=1)\n"
        "mine = sorted({m.split('.')[1] for m in sys.modules if m.startswith('outlast.')})\n"
        "others = sorted(m for m in sys.modules if m.split('.')[0] not in sys.stdlib_module_names and '.' not in m)\n"
        "print(mine, others)"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(context.__file__).parents[2])}
    out = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environ, capture_output=True, text=True, check=True
    ).stdout
    assert out == "['clock', 'errors', 'training'] ['__main__', 'outlast']\n"


def test_an_unknown_name_is_an_attribute_error_and_all_is_listed() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        outlast.nonsense  # noqa: B018
    assert set(outlast.__all__) <= set(dir(outlast))


RANKS = """
import os, random, sys, time, outlast
rank = outlast.rank()
random.seed(100 + rank)
state = outlast.State(w=0.0)
kill_at = int(sys.argv[1])
loop = outlast.steps(9, state, save_steps=2)
for step in loop:
    state.w += random.random()
    if step == kill_at:
        while True: time.sleep(1)
print(rank, loop.start, repr(state.w), repr(random.random()))
"""


def ranks(script: Path, run_dir: Path, kill_at: int) -> list[str]:
    from tests.training.lives import Trainer, progress

    trainers = [Trainer(script, run_dir, str(kill_at), env={"RANK": str(r), "WORLD_SIZE": "3"}) for r in range(3)]
    if kill_at < 9:
        trainers[0].wait_for(lambda: progress(run_dir) >= kill_at)
        for trainer in trainers:
            trainer.kill()
        return []
    ends = [trainer.end() for trainer in trainers]
    assert [end[0] for end in ends] == [0, 0, 0], ends
    return [end[1] for end in ends]


def test_workers_that_share_a_run_directory_each_get_their_own_state_back(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(RANKS)
    expected = ranks(script, tmp_path / "reference", 9)
    assert ranks(script, tmp_path / "run", 5) == []
    resumed = ranks(script, tmp_path / "run", 9)
    assert [line.split()[2:] for line in resumed] == [line.split()[2:] for line in expected]
    assert [line.split()[1] for line in resumed] == ["4", "4", "4"]
    record = sorted((tmp_path / "run" / "checkpoint").glob("step-*"))[-1]
    assert sorted(path.name for path in record.iterdir() if path.is_dir()) == ["rank-1", "rank-2"]


def test_one_worker_per_machine_only_rank_0_saves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank in (0, 1):
        with life(tmp_path / str(rank), attempt=1, rank=rank, workers=2):
            list(outlast.steps(4, outlast.State(a=1), save_steps=2))
    assert (tmp_path / "0" / "checkpoint").exists() and not list((tmp_path / "1").glob("checkpoint/step-*"))
    (tmp_path / "0").rename(tmp_path / "2")
    with life(tmp_path / "2", attempt=2, rank=1, workers=2):
        state = outlast.State(a=0)
        assert list(outlast.steps(6, state, save_steps=2)) == [4, 5] and state.a == 1
    assert "rank 1 has no save of its own" in capsys.readouterr().err


def test_the_library_runs_on_a_script_without_a_writable_working_directory(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import json, outlast\nfor s in outlast.steps(1): pass\nprint(json.dumps(outlast.latest_checkpoint().step))\n"
    )
    code, out, err = run_script(script, tmp_path / "deep" / "run")
    assert (code, json.loads(out)) == (0, 1), err
