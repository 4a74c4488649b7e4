"""Killed before and after every write, and run again: nothing is lost, nothing is uploaded twice, nothing half is taken for whole."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest

from outlast.bundle.dataset import unpack as unpack_module
from outlast.bundle.dataset.listing import PIECE_BYTES
from outlast.bundle.dataset.push import push
from outlast.bundle.unpack import write_pieces
from outlast.clock import SYSTEM
from outlast.engines.local.engine import LocalEngine
from outlast.errors import OutlastError
from outlast.jobs.asked import Asked
from outlast.jobs.push import push_named
from outlast.jobs.submit import submit
from outlast.jobs.watch import wait
from outlast.jobs.world import World
from outlast.machine.datasets import Datasets
from outlast.spec.spec import Dataset, Machine, Provenance, Spec, Target, TargetKind
from outlast.store.directory import DirectoryStore
from outlast.store.registry import open_store
from outlast.store.store import Store
from outlast.testing.crash import killed_at
from tests.data.material import back, contents, make, many, noise

PUSH_KILL_POINTS = 12
"""Before and after six writes: two pieces of the large file, the small files, the listing, the record, the name."""


def world_of(tmp_path: Path) -> World:
    user_dir = tmp_path / "user"
    user_dir.mkdir(mode=0o700, exist_ok=True)
    return World(
        clock=SYSTEM,
        random=Random(1),
        user_dir=user_dir,
        open_store=open_store,
        make_engine=lambda name: LocalEngine(user_dir, SYSTEM),
        environ=os.environ,
    )


def dataset(tmp_path: Path) -> Path:
    root = many(tmp_path / "data", 30)
    return make(root, {"large": noise(PIECE_BYTES + 2_000_000)})


def test_a_push_killed_at_any_write_goes_on_where_it_was(tmp_path: Path) -> None:
    root = dataset(tmp_path)
    whole_bytes = sum(len(content) for content, _ in contents(root).values())
    points = killed_at(world_of(tmp_path), lambda world: push_named(world, str(root), "mine"), None)
    assert points == PUSH_KILL_POINTS
    for point in range(points):
        place = tmp_path / f"at{point}"
        place.mkdir()
        assert killed_at(world_of(place), lambda world: push_named(world, str(root), "mine"), point) == -1
        home = world_of(place).home().store
        there = sum(entry.bytes for entry in home.list("packs/"))
        named = push_named(world_of(place), str(root), "mine")
        assert named.pushed.uploaded_bytes <= whole_bytes - there + 20_000
        assert len({entry.key for entry in home.list("packs/")}) == 4
    assert contents(back(home, named.pushed.digest, tmp_path / "back")) == contents(root)


def die_at(number: int) -> Callable[..., None]:
    real, count = write_pieces, [0]

    def write(handle: int, pieces: Iterable[bytes]) -> None:
        if count[0] == number:
            os.write(handle, b"half")
            os.kill(os.getpid(), signal.SIGKILL)
        count[0] += 1
        real(handle, pieces)

    return write


def spec_with(dataset: Dataset) -> Spec:
    return Spec(
        job="j",
        name="j",
        target=Target(TargetKind.SCRIPT, "x.py"),
        bundle="",
        python="",
        provenance=Provenance("0"),
        submitted_at=0,
        machine=Machine(),
        datasets={"": dataset},
    )


def placed(store: Store, cache: Path, digest: str) -> Path:
    datasets = Datasets(store, cache, open_store, SYSTEM, lambda text: None)
    return Path(datasets.environment(spec_with(Dataset(digest=digest)))["OUTLAST_DATASET"])


@pytest.mark.parametrize("point", [0, 1, 15, 31])
def test_a_machine_killed_while_it_puts_a_dataset_in_place_leaves_none(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: int
) -> None:
    root = dataset(tmp_path)
    pushed = push(store, root, cache=tmp_path / "cache")
    pid = os.fork()
    if pid == 0:
        monkeypatch.setattr(unpack_module, "write_pieces", die_at(point))
        placed(store, tmp_path / "machine", pushed.digest)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    folder = tmp_path / "machine" / "datasets"
    assert [name for name in os.listdir(folder) if not name.startswith(".")] == []
    assert contents(placed(store, tmp_path / "machine", pushed.digest)) == contents(root)
    assert {name.lstrip(".").partition(".")[2] for name in os.listdir(folder)} == {"", "lock", "seal"}


def rewrite(root: Path) -> None:
    (root / "class1" / "000001.bin").write_bytes(b"changed")


def rewrite_with_its_old_time(root: Path) -> None:
    path = root / "class1" / "000001.bin"
    before = path.stat()
    path.write_bytes(b"y" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def add(root: Path) -> None:
    (root / ".cache").write_bytes(b"as some libraries do")


def remove(root: Path) -> None:
    (root / "class1" / "000001.bin").unlink()


@pytest.mark.parametrize("change", [rewrite, rewrite_with_its_old_time, add, remove], ids=lambda one: one.__name__)
def test_what_a_trainer_has_done_to_a_dataset_the_next_one_does_not_see(
    store: DirectoryStore, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    root = many(tmp_path / "data", 20)
    pushed = push(store, root, cache=tmp_path / "cache")
    place = placed(store, tmp_path / "machine", pushed.digest)
    inode = place.stat().st_ino
    assert placed(store, tmp_path / "machine", pushed.digest).stat().st_ino == inode
    for path in [place, *place.rglob("*")] if os.geteuid() != 0 else ():
        path.chmod(0o700)  # what its owner can do too
    change(place)
    assert contents(placed(store, tmp_path / "machine", pushed.digest)) == contents(root)


def test_several_jobs_at_once_put_one_dataset_in_place_once(store: DirectoryStore, tmp_path: Path) -> None:
    root = dataset(tmp_path)
    pushed = push(store, root, cache=tmp_path / "cache")
    pids = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            whole = contents(placed(store, tmp_path / "machine", pushed.digest)) == contents(root)
            os._exit(0 if whole else 1)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4


def test_a_dataset_that_does_not_fit_is_refused_before_it_is_copied(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = dataset(tmp_path)
    pushed = push(store, root, cache=tmp_path / "cache")
    monkeypatch.setattr("outlast.machine.datasets.shutil.disk_usage", lambda path: _Usage)
    with pytest.raises(OutlastError, match="does not fit on this machine: 1,000 are free"):
        placed(store, tmp_path / "machine", pushed.digest)


class _Usage:
    free = 1000


SUBMIT_KILL_POINTS = 6
"""Of the dataset's three writes, before and after: pack, listing, record. Those of the job itself are in tests/crash."""


def test_a_submit_killed_while_its_dataset_is_shipped_is_nothing_and_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTLAST_SUPERVISOR_IDLE_SECONDS", "0.2")
    work = make(tmp_path / "work", {"train.py": b"import outlast; print(len(list(outlast.dataset().iterdir())))"})
    root = many(tmp_path / "data", 5)
    asked = Asked("train.py", directory=str(work), job_id="job", datasets=(str(root),), config_values=("a.b=1",))
    for point in range(4, 4 + SUBMIT_KILL_POINTS):
        place = tmp_path / f"at{point}"
        place.mkdir()
        assert killed_at(world_of(place), lambda world: submit(world, asked), point) == -1
        assert list(world_of(place).home().jobs()) == []
    status = wait(world_of(place), submit(world_of(place), asked).job)
    assert status.state == "succeeded"
    assert list(world_of(place).home().store.list("datasets/"))
