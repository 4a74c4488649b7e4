"""The verbs from Python, over real jobs on this machine."""

from __future__ import annotations

import itertools
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import outlast
from outlast.clock import SYSTEM
from outlast.errors import NotFound, UsageError
from outlast.jobs.asked import Asked
from outlast.jobs.job_names import read_names
from outlast.jobs.list import list_jobs
from outlast.jobs.pull import pull
from outlast.jobs.submit import submit
from outlast.jobs.world import system_world
from outlast.store.directory import DirectoryStore

TRAIN = """
import sys, outlast
state = outlast.State(total=0)
total = int(sys.argv[1]) if len(sys.argv) > 1 else 6
start = state.total
for step in outlast.steps(total, state, save_steps=2):
    state.total += 1
print("began with", start, "ended with", state.total, "resumed", outlast.latest_checkpoint() is not None, flush=True)
(outlast.output_dir() / "total.txt").write_text(str(state.total))
"""


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("OUTLAST_DIR", str(tmp_path / "outlast"))
    monkeypatch.setenv("OUTLAST_SUPERVISOR_IDLE_SECONDS", "0.2")
    work = tmp_path / "work"
    work.mkdir()
    (work / "train.py").write_text(TRAIN)
    monkeypatch.chdir(work)
    yield


def test_a_job_is_submitted_waited_for_read_and_pulled(tmp_path: Path) -> None:
    job = outlast.submit("train.py", ["4"], labels={"team": "a"})
    status = job.wait()
    assert (status.state, status.head.checkpoints[-1].step, status.head.checkpoints[-1].complete) == (
        "succeeded",
        4,
        True,
    )
    assert repr(status) == f"<outlast job {job.id}: succeeded, step 4>"
    assert "ended with 4" in "".join(job.logs())
    pulled = job.pull(to=str(tmp_path / "results"))
    assert (tmp_path / "results" / "outputs" / "total.txt").read_text() == "4"
    assert any(path.startswith("checkpoint/step-") for path in pulled.files)
    again = job.pull(to=str(tmp_path / "results"))
    assert again.files == [] and again.skipped == len(pulled.files)
    only = job.pull("*.txt", to=str(tmp_path / "one"))
    assert only.files == ["outputs/total.txt"]
    with pytest.raises(NotFound, match="fits `nothing"):
        job.pull("nothing*")


CUT = r"""
import sys, time
for number in range(30_000):
    sys.stdout.write("a\N{EURO SIGN}\N{PARTY POPPER}")
sys.stdout.flush()
for number in range(2):
    for byte in "\N{EURO SIGN}".encode():
        sys.stdout.buffer.write(bytes([byte]))
        sys.stdout.flush()
        time.sleep(0.3)
sys.stdout.buffer.write("\N{EURO SIGN}".encode()[:2])
"""


def test_characters_are_whole_whatever_the_pieces_that_a_log_comes_in() -> None:
    Path("cut.py").write_text(CUT)
    job = outlast.submit("cut.py", env={"PYTHONIOENCODING": "utf-8"})
    said = "a\N{EURO SIGN}\N{PARTY POPPER}" * 30_000 + "\N{EURO SIGN}" * 2 + "\N{REPLACEMENT CHARACTER}"
    assert "".join(job.logs(follow=True)) == said
    assert "".join(job.logs()) == said


def test_a_target_may_be_a_path() -> None:
    assert outlast.submit(Path("train.py"), ["2"]).wait().state == "succeeded"
    (job,) = outlast.submit_many([Path("train.py")])
    assert job.wait().spec.target.value == "train.py"


def test_a_pull_mends_what_was_changed_here(tmp_path: Path) -> None:
    job = outlast.submit("train.py")
    job.wait()
    job.pull(to=str(tmp_path / "results"))
    file = tmp_path / "results" / "outputs" / "total.txt"
    file.write_text("9")
    assert job.pull(to=str(tmp_path / "results")).files == ["outputs/total.txt"]
    assert file.read_text() == "6"


def test_two_pulls_to_one_place_at_once_copy_every_file_whole(tmp_path: Path) -> None:
    Path("large.py").write_text(
        "import outlast\n(outlast.output_dir() / 'large').write_bytes(bytes(range(256)) * 9000)\n"
    )
    job = outlast.submit("large.py")
    job.wait()
    to = tmp_path / "results"
    others: list[list[str]] = []

    def pull_too(doing: str, done: int, total: int, unit: str = "") -> None:
        if not others:
            others.append([])
            others.append(job.pull(to=str(to)).files)

    assert pull(job._job, to=str(to), on_progress=pull_too).files == ["outputs/large"]
    assert others == [[], ["outputs/large"]]
    assert [path.name for path in (to / "outputs").iterdir()] == ["large"]
    assert (to / "outputs" / "large").read_bytes() == bytes(range(256)) * 9000


def test_many_jobs_share_one_bundle_and_each_ends() -> None:
    jobs = outlast.submit_many(Asked(target="train.py", args=(str(number),)) for number in (2, 4, 6))
    assert [job.wait().state for job in jobs] == ["succeeded"] * 3
    assert len({job.status().spec.bundle for job in jobs}) == 1
    assert len({job.id for job in jobs}) == 3


def test_of_jobs_that_were_submitted_in_one_millisecond_the_last_is_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    began_at = float(int(SYSTEM.now()))
    with monkeypatch.context() as patched:
        patched.setattr(DirectoryStore, "now", lambda store: began_at + 1e-5 * next(ticks))
        jobs = outlast.submit_many({"target": "train.py", "args": [2], "job_id": name} for name in ("a", "c", "b"))
    for job in jobs:
        job.wait()
    assert outlast.job().id == "b"
    assert [row["job"] for row in list_jobs(system_world())] == ["b", "c", "a"]


def test_a_job_is_found_by_id_prefix_folder_and_as_the_newest() -> None:
    first = outlast.submit("train.py", job_id="alpha-1")
    second = outlast.submit("train.py", job_id="alpha-2")
    for job in (first, second):
        job.wait()
    assert outlast.job("alpha-1").id == "alpha-1"
    assert outlast.job(first.folder).id == "alpha-1"
    assert outlast.job().id == "alpha-2"
    with pytest.raises(UsageError, match="may be 2 jobs"):
        outlast.job("alpha")
    with pytest.raises(NotFound, match="there is no job `alhpa-1`") as raised:
        outlast.job("alhpa-1")
    assert "alpha-1" in raised.value.hint


def test_the_same_id_again_is_the_same_job_and_an_ended_one_is_not_begun_anew() -> None:
    job = outlast.submit("train.py", job_id="one")
    job.wait()
    with pytest.raises(UsageError, match="already"):
        outlast.submit("train.py", job_id="one")


def test_a_job_that_is_submitted_again_while_it_runs_is_still_asked_for_what_it_was(tmp_path: Path) -> None:
    (tmp_path / "work" / "long.py").write_text("import time\nwhile True:\n    time.sleep(0.1)\n")
    first = submit(system_world(), Asked(target="long.py", args=("--lr", "1"), job_id="one"))
    second = submit(system_world(), Asked(target="long.py", args=("--lr", "2"), job_id="one"))
    outlast.job("one").stop()
    assert second.resubmitted
    assert second.spec == first.spec


def test_from_begins_a_new_job_with_the_weights_and_at_step_zero() -> None:
    outlast.submit("train.py", ["4"], job_id="parent").wait()
    child = outlast.submit("train.py", ["3"], job_id="child", from_job="parent")
    status = child.wait()
    assert status.state == "succeeded"
    said = "".join(child.logs())
    assert "ended with 7" in said, said
    assert status.head.checkpoints[-1].step == 3
    assert outlast.job("parent").status().state == "succeeded"


def test_resume_goes_back_to_the_checkpoint_that_was_asked_for() -> None:
    slow = "import outlast, time\nfor step in outlast.steps(400, save_steps=1):\n    time.sleep(0.05)\n"
    Path("slow.py").write_text(slow)
    job = outlast.submit("slow.py", job_id="slow")
    while len(job.status().head.checkpoints) < 3:
        SYSTEM.sleep(0.02)
    status = job.stop()
    assert status.state == "stopped"
    oldest = status.head.checkpoints[0].step
    job.resume(checkpoint=str(oldest))
    while "2" not in job.status().head.attempts:
        SYSTEM.sleep(0.02)
    assert job.status().head.attempts["2"].resumed_from_step == oldest
    assert job.stop().state == "stopped"


def test_many_jobs_are_asked_for_by_targets_and_dicts(tmp_path: Path) -> None:
    first, second = outlast.submit_many(["train.py", {"target": "train.py", "args": [3], "labels": {"team": "b"}}])
    assert first.wait().state == "succeeded" and "ended with 6" in "".join(first.logs())
    assert second.wait().spec.labels == {"team": "b"} and "ended with 3" in "".join(second.logs())
    assert read_names(tmp_path / "outlast" / "cache") == [second.id, first.id], (
        "a shell completes them, the newest first"
    )


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        ({"target": "train.py", "retires": 1}, "no option `retires`", "`retries`"),
        ({"target": "train.py", "zzzz": 1}, "no option `zzzz`", "`retries=0`"),
        ({"target": "train.py", "args": "--n 5"}, "`args` is a list of texts, not '--n 5'", "args=[...]"),
        ({"target": "train.py", "datasets": "./data"}, "`datasets` is a list", "datasets=[...]"),
        ({"target": "train.py", "env": ["A=1"]}, "`env` is a dict", '"NAME": "VALUE"'),
        ({"target": "train.py", "cpus": 0}, "`cpus` is at least 1, not 0", "`cpus=None`"),
        ({"target": "train.py", "cpus": "x"}, "`cpus` is a whole number or None, not 'x'", "`cpus=None`"),
        ({"target": "train.py", "retries": True}, "`retries` is a whole number, not True", "`retries=0`"),
        ({"target": "train.py", "max_run_seconds": float("nan")}, "a number that has an end", "`max_run_seconds="),
        ({"target": "train.py", "max_run_seconds": -5}, "`max_run_seconds` is at least 1, not -5", "`max_run_seconds="),
        ({"target": "train.py", "stall_seconds": -0.5}, "`stall_seconds` is at least 0", "`stall_seconds=None`"),
        ({"target": "train.py", "name": 3}, "`name` is a text or None, not 3", "`name=None`"),
        ({"args": ["1"]}, "needs a `target`", "train.py"),
        (7, "not by a `int`", "submit_many"),
    ],
)
def test_what_cannot_be_a_job_is_answered_with_what_can_and_nothing_is_submitted(
    tmp_path: Path, wanted: object, message: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as raised:
        outlast.submit_many(["train.py", wanted])  # type: ignore[list-item]
    assert hint in raised.value.hint
    if sys.version_info >= (3, 11):
        assert f"hint: {raised.value.hint}" in "".join(traceback.format_exception(raised.value))
    assert not (tmp_path / "outlast" / "home").exists()
    if isinstance(wanted, dict) and "target" in wanted:
        with pytest.raises(UsageError, match=re.escape(message)):
            outlast.submit(**wanted)


def test_a_target_where_a_list_of_them_is_due_is_refused(tmp_path: Path) -> None:
    for one in ("train.py", {"target": "train.py"}):
        with pytest.raises(UsageError, match="several jobs are a list"):
            outlast.submit_many(one)
    assert not (tmp_path / "outlast" / "home").exists()


def test_waiting_for_a_job_rings_no_bell_and_being_told_of_it_does(tmp_path: Path) -> None:
    job = outlast.submit("train.py")
    assert job.wait().state == "succeeded"
    assert not (Path(job.folder) / "requests").exists()
    told: list[str] = []
    again = outlast.submit("train.py")
    assert again.wait(on_status=lambda status: told.append(status.state)).state == "succeeded"
    assert told and (Path(again.folder) / "requests" / "bell").exists()
