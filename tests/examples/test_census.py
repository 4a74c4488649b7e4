"""`examples/census` by hand: it learns, is evaluated, and explains what is wrong; local paths and `gs://` alike."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from outlast.clock import SYSTEM
from outlast_emulator.testing import Running
from tests.examples.by_hand import run_example, value
from tests.examples.places import CENSUS, EXAMPLES

SECONDS_MAX = 90.0
SAMPLE = ("--rows", "1500")


def test_a_model_is_searched_for_and_evaluated_afterwards(census: Path, tmp_path: Path) -> None:
    """By scikit-learn; by XGBoost in the README."""
    where = ("--census-data-path", str(census), "--model-output-path", "there/a.model")
    trained = run_example("census", "--model", "sklearn", *where, *SAMPLE, cwd=tmp_path)
    assert trained.code == 0, trained.err
    assert 0.80 < float(value(trained.out, "accuracy")) < 0.90
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["a.model"]
    assert not (tmp_path / "output").exists()
    evaluated = run_example("census", "--mode", "evaluate", *where, cwd=tmp_path)
    assert evaluated.code == 0, evaluated.err
    for name in ("accuracy", "parameters", "model"):
        assert value(evaluated.out, name) == value(trained.out, name)


def test_on_all_the_data_it_is_as_good_as_such_models_are_known_to_be(census: Path, tmp_path: Path) -> None:
    ran = run_example("census", "--census-data-path", str(census), "--cv-iterations", "2", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert float(value(ran.out, "accuracy")) > 0.87
    assert (tmp_path / "output/census.model").is_file()


def test_how_many_work_at_a_time_changes_no_bit(census: Path, tmp_path: Path) -> None:
    made = []
    for workers in ("1", "3"):
        path = tmp_path / f"{workers}.model"
        where = ("--census-data-path", str(census), "--model-output-path", str(path))
        ran = run_example("census", *where, *SAMPLE, "--cv-iterations", "3", "--workers", workers, cwd=tmp_path)
        assert ran.code == 0, ran.err
        made.append(path.read_bytes())
    assert made[0] == made[1]


def test_a_longer_search_begins_with_the_candidates_of_a_shorter_one() -> None:
    code = "import json, models; print(json.dumps([models.candidates(k, n) for k in models.KINDS for n in (4, 9)]))"
    said = subprocess.run([sys.executable, "-c", code], cwd=EXAMPLES / "census", capture_output=True, check=True).stdout
    short, long, *others = json.loads(said)
    assert short == long[:4] and len({tuple(one.items()) for one in long}) == 9
    assert others[0] == others[1][:4]


def test_data_and_model_may_be_in_a_bucket(emulator: Running, bucket: str, tmp_path: Path) -> None:
    url = f"gs://{bucket}"
    for name in ("adult.data", "adult.test"):
        assert emulator.put(bucket, f"census/{name}", (CENSUS / name).read_bytes()).status == 200
    where = ("--census-data-path", f"{url}/census", "--model-output-path", f"{url}/models/a.model")
    trained = run_example("census", *where, *SAMPLE, cwd=tmp_path)
    assert trained.code == 0, trained.err
    assert emulator.get(bucket, "models/a.model").status == 200
    evaluated = run_example("census", "--mode", "evaluate", *where, cwd=tmp_path)
    assert value(evaluated.out, "accuracy") == value(trained.out, "accuracy")
    assert value(evaluated.out, "model") == f"{url}/models/a.model"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("gs://BUCKET/nowhere", "there is no such object, or no such bucket"),
        ("gs://no-such-bucket-at-all/census", "there is no such object, or no such bucket"),
        ("gs://", "names no object: `gs://BUCKET/NAME`"),
        ("nowhere", "No such file or directory"),
    ],
)
def test_data_that_are_not_there_are_said_in_a_line(
    place: str, why: str, emulator: Running, bucket: str, tmp_path: Path
) -> None:
    place = place.replace("BUCKET", bucket)
    ran = run_example("census", "--census-data-path", place, cwd=tmp_path)
    assert ran.code == 1
    assert ran.err.startswith("error: `") and place in ran.err and why in ran.err, ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("fault", "hint"),
    [
        ({"status": 403, "times": 9}, "need `roles/storage.objectUser` on the bucket"),
        ({"status": 401, "times": 9}, "`gcloud auth application-default login`"),
    ],
)
def test_who_may_not_read_the_bucket_is_told_what_is_missing(
    fault: dict[str, int], hint: str, emulator: Running, bucket: str, tmp_path: Path
) -> None:
    emulator.fault("storage.objects.get", "error", **fault)
    ran = run_example("census", "--census-data-path", f"gs://{bucket}/census", cwd=tmp_path)
    assert ran.code == 1
    assert "hint: " in ran.err and hint in ran.err and "Traceback" not in ran.err, ran.err


@pytest.mark.parametrize("text", ["1, 2, 3\n", "|only a remark\n\n"])
def test_a_file_that_is_no_census_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "adult.data").write_text(text)
    ran = run_example("census", "--census-data-path", str(tmp_path), cwd=tmp_path)
    assert ran.code == 1 and ran.err.startswith("error: "), ran.err


def test_a_search_of_nothing_is_refused(census: Path, tmp_path: Path) -> None:
    ran = run_example("census", "--census-data-path", str(census), "--cv-iterations", "0", cwd=tmp_path)
    assert ran.code == 1 and "--cv-iterations 0" in ran.err


def begin_search(census: Path, cwd: Path, mark: str) -> subprocess.Popen[bytes]:
    """One that would take long; returns when it has scored a candidate."""
    command = [sys.executable, str(EXAMPLES / "census/train.py"), "--census-data-path", str(census)]
    search = subprocess.Popen(
        [*command, "--cv-iterations", "500"],
        cwd=cwd,
        env={**os.environ, "CENSUS_MARK": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert search.stdout is not None
    while not search.stdout.readline().startswith(b"candidate"):
        assert search.poll() is None
    return search


def test_a_search_that_is_killed_leaves_no_process_behind(census: Path, tmp_path: Path) -> None:
    mark = f"killed-{os.getpid()}"
    search = begin_search(census, tmp_path, mark)
    assert len(marked(mark)) >= 2, "there were no workers"
    search.kill()
    search.communicate(timeout=SECONDS_MAX)
    until = SYSTEM.monotonic() + SECONDS_MAX
    while marked(mark):
        assert SYSTEM.monotonic() < until, f"still there: {marked(mark)}"
        SYSTEM.sleep(0.05)


def test_a_search_whose_worker_was_killed_ends_and_says_so(census: Path, tmp_path: Path) -> None:
    mark = f"bereft-{os.getpid()}"
    search = begin_search(census, tmp_path, mark)
    workers = [pid for pid in marked(mark) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(workers[0], signal.SIGKILL)
    _, said = search.communicate(timeout=SECONDS_MAX)
    assert search.returncode == 1
    assert b"error: a worker was killed" in said and b"hint: `--workers N`" in said, said


def marked(mark: str) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"CENSUS_MARK={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def test_the_data_are_fetched_once_and_known_by_content(tmp_path: Path) -> None:
    """Whatever pip can reach: files that are right are not fetched again, and nothing else is taken for them."""
    for name in ("adult.data", "adult.test"):
        (tmp_path / name).write_bytes((CENSUS / name).read_bytes())
    command = [sys.executable, str(EXAMPLES / "census/get_data.py")]
    nowhere = {**os.environ, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    for name in [name for name in nowhere if name.startswith("PIP_FIND")]:
        del nowhere[name]
    fetched = subprocess.run([*command, str(tmp_path)], env=nowhere, capture_output=True, text=True)
    assert fetched.returncode == 0, fetched.stderr
    (tmp_path / "adult.test").write_bytes(b"another")
    again = subprocess.run([*command, str(tmp_path)], env=nowhere, capture_output=True, text=True)
    assert again.returncode == 1 and "hint: " in again.stderr, again.stderr
    assert subprocess.run(command, capture_output=True).returncode == 2
