"""Lists of many jobs: what has ended is read once, the cache is private and may be damaged, a person is shown what fits."""

from __future__ import annotations

import stat
import zlib
from pathlib import Path

import pytest

from bench.jobs_many import fill
from outlast.clock import SYSTEM
from outlast.jobs.list import list_jobs
from outlast.jobs.world import World, system_world
from outlast.store.directory import DirectoryStore
from outlast.store.mortal import Mortal
from tests.cli.user import User as Typist

MANY = 120


@pytest.fixture
def typist(tmp_path: Path) -> Typist:
    typist = Typist(tmp_path)
    typist.work.mkdir()
    fill(typist.home, MANY, SYSTEM.now())
    return typist


@pytest.fixture
def world(typist: Typist, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("OUTLAST_DIR", str(typist.outlast_dir))
    return system_world()


def cache_of(typist: Typist) -> Path:
    (cache,) = (typist.outlast_dir / "cache").glob("jobs-*.rows")
    return cache


def test_a_person_is_shown_the_newest_and_told_of_the_rest(typist: Typist) -> None:
    said = typist.outlast("jobs")
    assert len(said.out.splitlines()) == 51 and f"lists all {MANY}" in said.err
    assert said.out.splitlines()[1].startswith("job-000000")
    assert len(typist.outlast("jobs", "--limit", "0").out.splitlines()) == MANY + 1
    assert len(typist.outlast("jobs", "--limit", "3").out.splitlines()) == 4
    assert len(typist.outlast("jobs", "--json").json) == MANY
    assert [row["job"] for row in typist.outlast("jobs", "--json", "--limit", "1").json] == ["job-000000"]
    assert typist.outlast("jobs", "--json", "--name", "job", "--limit", "2").json[1]["job"] == "job-000001"
    assert typist.outlast("jobs", "--json", "--name", "jo").json == []


def test_what_has_not_ended_is_shown_however_old_it_is(typist: Typist) -> None:
    for name in ("head.json~1", "spec.json~1"):
        (typist.home / "jobs" / f"job-{MANY - 1:06d}" / name).unlink()  # half a submit
    said = typist.outlast("jobs", "--limit", "3")
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == [
        "job-000000",
        "job-000001",
        "job-000002",
        f"job-{MANY - 1:06d}",
    ]


def test_the_second_list_reads_no_job_that_has_ended(typist: Typist, world: World) -> None:
    first = list_jobs(world)
    assert len(first) == MANY
    read: list[str] = []

    class Reading(DirectoryStore):
        def get(self, key: str):  # type: ignore[no-untyped-def]
            read.append(key)
            return super().get(key)

    world = system_world()
    world.open_store = Reading
    assert list_jobs(world) == first
    assert read == []


def test_the_cache_is_private(typist: Typist) -> None:
    typist.outlast("jobs")
    assert stat.S_IMODE(cache_of(typist).stat().st_mode) == 0o600
    assert stat.S_IMODE(cache_of(typist).parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign home", "not text", "empty", "long"])
def test_a_damaged_cache_is_no_cache(typist: Typist, damage: str) -> None:
    right = typist.outlast("jobs", "--json").json
    cache = cache_of(typist)
    data = cache.read_bytes()
    _, _, body = data.partition(b"\n")
    changed = {
        "cut": data[: len(data) // 2],
        "flipped": data.replace(b"succeeded", b"sucseeded", 1),
        "foreign home": b'outlast jobs 4 %08x "/elsewhere"\n' % zlib.crc32(body) + body,
        "not text": b"\xff\x00" * 1000,
        "empty": b"",
        "long": data + b"x" * 100,
    }[damage]
    cache.write_bytes(changed)
    said = typist.outlast("jobs", "--json")
    assert said.code == 0 and said.json == right
    assert cache.read_bytes() == data


def test_a_job_that_is_deleted_is_listed_no_more_and_one_that_is_resumed_is_looked_at_anew(typist: Typist) -> None:
    typist.outlast("jobs")
    assert typist.outlast("delete", "job-000001", "--yes").code == 0
    assert "job-000001" not in {row["job"] for row in typist.outlast("jobs", "--json").json}


def test_the_index_is_told_quickly_and_rightly_also_with_foreign_files_in_it(typist: Typist) -> None:
    store = DirectoryStore(typist.home)
    right = [entry.key for entry in store.list("index/")]
    assert list(store.names_written_once("index/")) == right
    (typist.home / "index" / ".DS_Store").write_text("x")
    (typist.home / "index" / "notes.txt").write_text("x")
    told = [key for key in store.names_written_once("index/") if key != "index/notes.txt"]
    assert told == right
    assert list(store.names_written_once("absent/")) == []


def test_a_store_without_quick_names_is_listed_as_well(typist: Typist, world: World) -> None:
    slow = system_world()
    slow.open_store = lambda url: Mortal(DirectoryStore(url), lambda *_: None, lambda *_: None)
    assert list_jobs(slow) == list_jobs(world)


def test_a_row_that_was_deleted_is_not_listed_although_its_first_generation_lies_there(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    for name in ("one", "two"):
        store.put(f"index/{name}", b"", if_generation=0)
    store.delete("index/one", if_generation=1)
    assert list(store.names_written_once("index/")) == ["index/two"]
