"""`outlast delete` and `outlast prune`, as somebody types them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from outlast.clock import SYSTEM
from outlast.engines.local.layout import LocalDir
from outlast.folder.records import Pin
from outlast.jobs.delete import delete
from outlast.jobs.environment_caches import remove_environment
from outlast.jobs.prune import find_local, find_unneeded, prune
from outlast.jobs.submit import submit
from outlast.jobs.world import system_world
from tests.cli.user import Terminal
from tests.cli.user import User as Typist
from tests.housekeeping.user import DAY, User


@pytest.fixture
def typist(tmp_path: Path) -> Typist:
    typist = Typist(tmp_path, {"OUTLAST_SUPERVISOR_IDLE_SECONDS": "0.2"})
    typist.work.mkdir()
    typist.write("train.py", "print('hello')\n")
    return typist


def keys(user: User, prefix: str) -> list[str]:
    return [entry.key for entry in user.store.list(prefix)]


def test_delete_shows_sizes_asks_and_removes_all_of_a_job(typist: Typist) -> None:
    for job in ("one", "two"):
        assert typist.outlast("run", "--job-id", job, "train.py").code == 0
    refused = typist.outlast("delete", "one")
    assert refused.code == 2 and "--yes" in refused.err and "nothing was removed" in refused.err
    terminal = Terminal(typist, "rm", "one", "two")
    terminal.read_until(b"[y/N]")
    assert b"JOB" in terminal.seen and b"kB" in terminal.seen
    terminal.press(b"n\n")
    assert terminal.wait() == 0
    assert len(typist.outlast("jobs", "--json").json) == 2
    done = typist.outlast("delete", "one", "--yes", "--json")
    assert done.code == 0, done.err
    (told,) = done.json
    assert told["job"] == "one" and told["bytes"] > 0 and told["objects"] > 3
    assert [row["job"] for row in typist.outlast("jobs", "--json").json] == ["two"]
    assert not list((typist.home / "jobs" / "one").glob("spec*"))


def test_delete_refuses_a_job_that_runs_before_it_deletes_any_other(typist: Typist) -> None:
    typist.write("slow.py", "import time; time.sleep(60)\n")
    assert typist.outlast("run", "--job-id", "done", "train.py").code == 0
    assert typist.outlast("run", "--detach", "--job-id", "busy", "slow.py").code == 0
    refused = typist.outlast("delete", "done", "busy", "--yes")
    assert refused.code == 2 and "outlast stop busy" in refused.err
    assert {row["job"] for row in typist.outlast("jobs", "--json").json} == {"done", "busy"}
    assert typist.outlast("stop", "busy").code == 0


def test_a_damaged_job_can_be_deleted(typist: Typist) -> None:
    assert typist.outlast("run", "--job-id", "bad", "train.py").code == 0
    newest = max((typist.home / "jobs" / "bad").glob("head.json~*"), key=lambda path: int(path.name.rpartition("~")[2]))
    newest.write_text("{nonsense\n")
    assert typist.outlast("jobs", "--json").json[0]["state"] in ("damaged", "succeeded")
    done = typist.outlast("delete", "bad", "--yes")
    assert done.code == 0, done.err
    assert typist.outlast("jobs", "--json").json == []


def test_prune_removes_what_no_job_needs_and_says_how_much(typist: Typist) -> None:
    assert typist.outlast("run", "--job-id", "old", "train.py").code == 0
    other = typist.write("other/train.py", "print('another')\n").parent
    assert typist.outlast("run", "--job-id", "new", "train.py", cwd=other).code == 0
    assert typist.outlast("delete", "old", "--yes").code == 0
    dry = typist.outlast("prune", "--keep-jobs", "--dry-run", "--json")
    assert dry.code == 0 and dry.json["removed"] is False
    kinds = {item["kind"] for item in dry.json["items"]}
    assert kinds == {"bundle", "pack"}
    before = typist.outlast("jobs", "--json").out
    done = typist.outlast("prune", "--keep-jobs", "--yes", "--json")
    assert done.code == 0 and done.json["removed"] is True, done.err
    assert {item["name"] for item in done.json["items"]} == {item["name"] for item in dry.json["items"]}
    assert typist.outlast("jobs", "--json").out == before
    assert "nothing to prune" in typist.outlast("prune", "--keep-jobs", "--yes").err
    again = typist.outlast("run", "--job-id", "again", "train.py", cwd=other)
    assert again.code == 0 and "another" in again.out


def test_prune_deletes_jobs_that_ended_long_ago_and_no_other(typist: Typist) -> None:
    assert typist.outlast("run", "--job-id", "done", "train.py").code == 0
    assert typist.outlast("prune", "--yes", "--json").json["items"] == []
    assert "nobody is here to say yes" in typist.outlast("prune", "--older-than", "0s").err
    done = typist.outlast("prune", "--older-than", "0s", "--yes", "--json")
    assert [item["name"] for item in done.json["items"] if item["kind"] == "job"] == ["done"]
    assert typist.outlast("jobs", "--json").json == []
    assert not any((typist.home / "packs").glob("*"))


def test_a_job_that_somebody_copies_from_keeps_its_files_until_the_copy_is_done(user: User) -> None:
    job = user.finished("old")
    user.store.put(job.folder.keys.output("model.pt"), b"weights")
    job.folder.rewrite(job.folder.keys.pin("reader"), Pin("m", user.store.now() + 60))
    pruned = prune(user.world(), find_unneeded(user.world().home(), older_than_seconds=30 * DAY))
    assert "old" in pruned.spared
    assert keys(user, job.folder.keys.outputs)
    job.folder.rewrite(job.folder.keys.pin("reader"), Pin("m", user.store.now() - 60))
    prune(user.world(), find_unneeded(user.world().home(), older_than_seconds=0))
    assert keys(user, job.folder.keys.outputs) != [], "its submit is not a day old, and it may be half a submit"


def test_half_a_submit_goes_after_a_day_and_not_before(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(user.world(), user.asked("half")).job
    user.store.delete(job.folder.keys.head, if_generation=job.folder.read_head().generation)
    found = find_unneeded(user.world().home(), older_than_seconds=0)
    assert found.halves == []
    now = user.store.now()
    monkeypatch.setattr(user.store, "now", lambda: now + 2 * DAY)
    prune(user.world(), find_unneeded(user.world().home(), older_than_seconds=0))
    assert keys(user, "jobs/") == [] and keys(user, "index/") == [] and keys(user, "packs/") == []


def test_while_a_job_cannot_be_read_nothing_that_jobs_share_is_removed(user: User) -> None:
    gone, job = user.finished("gone"), user.finished("unreadable")
    (user.work / "train.py").write_text("# other\n")
    delete(user.world(), gone)
    stored = user.store.get(job.folder.keys.spec)
    user.store.put(job.folder.keys.spec, b'{"format": 99}', if_generation=stored.generation)
    found = find_unneeded(user.world().home(), older_than_seconds=1000 * DAY)
    assert found.unknown == ["unreadable"] and found.others == []


def test_a_bundle_that_is_changes_to_another_keeps_that_one(user: User) -> None:
    first = user.finished("first")
    (user.work / "train.py").write_text("# changed\n")
    submit(user.world(), user.asked("second"))
    delete(user.world(), first)
    found = find_unneeded(user.world().home(), older_than_seconds=0, with_jobs=False)
    assert [one.entry.key for one in found.others] == []


def test_what_dead_machines_left_is_removed_and_what_lives_is_not(typist: Typist) -> None:
    assert typist.outlast("run", "--job-id", "one", "train.py").code == 0
    paths = LocalDir(typist.outlast_dir / "local")
    dead = paths.machines / "gone" / "0-1"
    dead.mkdir(parents=True)
    (dead / "machine.log").write_text("x" * 5000)
    living = paths.machines / "alive" / "0-1"
    living.mkdir(parents=True)
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        from outlast.host.process import Process

        process = Process.of(sleeper.pid)
        assert process is not None
        (living / "init.json").write_bytes(process.encode())
        done = typist.outlast("prune", "--keep-jobs", "--yes", "--json")
        machines = [item for item in done.json["items"] if item["kind"] == "machine"]
        assert [Path(item["name"]).name for item in machines] == ["gone"] and machines[0]["bytes"] >= 5000
        assert not dead.exists() and living.exists()
    finally:
        sleeper.kill()
        sleeper.wait()


def test_old_caches_go_and_fresh_ones_stay(typist: Typist) -> None:
    assert typist.outlast("run", "--job-id", "one", "train.py").code == 0
    old = typist.outlast_dir / "cache" / "jobs-00000000.json"
    old.write_text("{}")
    long_ago = SYSTEM.now() - 40 * DAY
    os.utime(old, (long_ago, long_ago))
    done = typist.outlast("prune", "--keep-jobs", "--yes", "--json")
    assert [item["name"] for item in done.json["items"] if item["kind"] == "cache"] == [str(old)]
    assert not old.exists() and any((typist.outlast_dir / "cache").iterdir())


def environment(typist: Typist) -> tuple[Path, Path]:
    """(link, directory) of one that a machine has put in place and nobody has used for forty days."""
    folder = typist.outlast_dir / "cache" / "environments"
    root = folder / "abc-12345678.999999999-x"
    root.mkdir(parents=True)
    (root / "sealed.json").write_text("{}")
    (root / "library").write_bytes(bytes(5000))
    link = folder / "abc-12345678"
    link.symlink_to(root.name)
    long_ago = SYSTEM.now() - 40 * DAY
    os.utime(link, (long_ago, long_ago), follow_symlinks=False)
    return link, root


def test_an_environment_that_nobody_used_for_long_goes_with_its_size(typist: Typist) -> None:
    link, root = environment(typist)
    done = typist.outlast("prune", "--keep-jobs", "--yes", "--json")
    (told,) = (item for item in done.json["items"] if item["kind"] == "environment")
    assert told["name"] == str(link) and told["bytes"] >= 5000
    assert not root.exists() and not link.is_symlink()


def test_an_environment_stays_while_a_machine_is_there(typist: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    link, root = environment(typist)
    machine = typist.outlast_dir / "local" / "machines" / "some" / "0-1"
    monkeypatch.setenv("OUTLAST_DIR", str(typist.outlast_dir))
    world = system_world()
    found = [path for _, path in find_local(world, older_than_seconds=30 * DAY)]
    assert link in found
    machine.mkdir(parents=True)  # it began after that, and may have looked before anything is removed
    remove_environment(world, link)
    assert (root / "sealed.json").read_text() == "{}" and link.is_symlink()
    assert link not in [path for _, path in find_local(world, older_than_seconds=30 * DAY)]
