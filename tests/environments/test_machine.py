"""Environments on a machine: made once, whole or not at all, by however many at once, and kept as they were made."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast.bundle.environment.install import Site
from outlast.errors import Damaged, NotFound
from outlast.folder import layout
from outlast.host import files
from outlast.jobs.environment import Equipment
from outlast.machine import environment as machine_environment
from outlast.machine.environment import SEAL, find_base
from outlast.store.registry import open_store
from tests.environments.conftest import BARE, find_uv
from tests.environments.laptop import Laptop, run
from tests.environments.wheels import make_wheel


@pytest.fixture
def laptop(tmp_path: Path, links: Path) -> Laptop:
    find_uv()
    one = Laptop(tmp_path, links, "uv")
    one.write("train.py", "import alpha\n")
    one.write("requirements.txt", "alpha\n")
    make_wheel(links, "alpha", requires=["beta"], files={"alpha/__init__.py": "x = 1\n", "alpha/more.py": "y = 2\n"})
    make_wheel(links, "beta")
    return one


@pytest.fixture
def equipment(laptop: Laptop) -> Equipment:
    return laptop.equip(requirements=("requirements.txt",))


def made(laptop: Laptop) -> list[Path]:
    return [path for path in (laptop.user_dir / "cache" / "environments").iterdir() if not path.is_symlink()]


def test_it_is_made_once(laptop: Laptop, equipment: Equipment, monkeypatch: pytest.MonkeyPatch) -> None:
    first = laptop.place(equipment)
    monkeypatch.setattr(machine_environment, "read_manifest", lambda *_: 1 / 0)
    assert laptop.place(equipment) == first
    assert len(made(laptop)) == 1


def test_a_trainer_that_compiles_what_it_imports_changes_nothing(laptop: Laptop, equipment: Equipment) -> None:
    first = laptop.place(equipment)
    run(first, "import alpha.more, beta")
    assert list(first.rglob("beta*.pyc"))
    assert laptop.place(equipment) == first


def test_another_machine_with_the_same_home_has_the_same(
    tmp_path: Path, laptop: Laptop, equipment: Equipment, links: Path
) -> None:
    for wheel in links.iterdir():
        wheel.unlink()
    (tmp_path / "other").mkdir()
    other = Laptop(tmp_path / "other", links, "uv", home=str(laptop.root / "home"))
    names = [
        sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path.name != SEAL)
        for root in (laptop.place(equipment), other.place(equipment))
    ]
    assert names[0] == names[1]
    other.write("train.py", "import alpha\n")
    other.write("requirements.txt", "alpha\n")
    assert other.equip(requirements=("requirements.txt",)).resolver == "", "nor does its owner resolve again"


def test_nobody_else_can_read_it(laptop: Laptop, equipment: Equipment) -> None:
    root = laptop.place(equipment)
    for path in (root, root.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def steps(laptop: Laptop, monkeypatch: pytest.MonkeyPatch, die_at: int | None) -> Iterator[int]:
    """Every file that is created, and the seal and the link: the process dies at one of them."""
    count = 0

    def step() -> None:
        nonlocal count
        if count == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1

    create, put, link = Site._create, files.put_json, os.symlink
    monkeypatch.setattr(Site, "_create", lambda *a: (step(), create(*a))[1])
    monkeypatch.setattr(files, "put_json", lambda *a, **k: (step(), put(*a, **k), step())[1])
    monkeypatch.setattr(os, "symlink", lambda *a, **k: (step(), link(*a, **k), step())[1])
    while True:
        yield count


def test_killed_at_any_write_nothing_half_is_left(
    laptop: Laptop, equipment: Equipment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(die_at: int | None) -> int:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            counting = steps(laptop, monkeypatch, die_at)
            next(counting)
            laptop.place(equipment)
            os.write(write, str(next(counting)).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as answer:
            said = answer.read()
        os.waitpid(pid, 0)
        return int(said) if said else -1

    total = attempt(None)
    assert total > 15
    for point in range(total):
        files.remove(laptop.user_dir / "cache" / "environments")
        assert attempt(point) == -1
        root = laptop.place(equipment)
        assert run(root, "import alpha.more, beta; print(alpha.x)") == "1"
        assert made(laptop) == [root], "what the dead one has left is swept"


def test_several_at_once_agree_on_one(laptop: Laptop, equipment: Equipment) -> None:
    read, write = os.pipe()
    children = []
    for _ in range(6):
        pid = os.fork()
        if pid == 0:
            os.write(write, f"{laptop.place(equipment)}\n".encode())
            os._exit(0)
        children.append(pid)
    os.close(write)
    with os.fdopen(read) as answer:
        roots = answer.read().split()
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 6
    assert len(roots) == 6
    assert all(run(Path(root), "import alpha; print(alpha.x)") == "1" for root in set(roots))
    assert laptop.place(equipment) in made(laptop) and len(made(laptop)) == 1


def test_what_somebody_has_installed_into_it_is_not_there_for_the_next(laptop: Laptop, equipment: Equipment) -> None:
    root = laptop.place(equipment)
    packages = next(root.glob("lib/python*/site-packages"))
    (packages / "intruder.py").write_text("")
    again = laptop.place(equipment)
    assert again != root
    assert not list(again.rglob("intruder.py"))
    assert (packages / "intruder.py").exists(), "who runs in the old one goes on"


def test_after_a_restart_of_the_computer_it_is_looked_at_closely(laptop: Laptop, equipment: Equipment) -> None:
    root = laptop.place(equipment)
    seal = json.loads((root / SEAL).read_text())
    (root / SEAL).write_text(json.dumps({**seal, "boot": "another"}))
    assert laptop.place(equipment) == root
    assert json.loads((root / SEAL).read_text())["boot"] == seal["boot"]
    (root / SEAL).write_text(json.dumps({**seal, "boot": "another"}))
    more = next(root.rglob("more.py"))
    more.write_text("")  # never reached the disk
    assert laptop.place(equipment) != root


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"digest": 5}'])
def test_a_seal_that_is_none_is_none(laptop: Laptop, equipment: Equipment, damage: str) -> None:
    root = laptop.place(equipment)
    (root / SEAL).write_text(damage)
    again = laptop.place(equipment)
    assert run(again, "import alpha; print(alpha.x)") == "1"


@pytest.mark.parametrize("damage", ["gone", "changed", "longer"])
def test_wheels_that_are_not_what_was_shipped_are_not_installed(
    laptop: Laptop, equipment: Equipment, damage: str
) -> None:
    store = open_store(str(laptop.root / "home"))
    for entry in list(store.list(layout.ENVIRONMENT_PARTS)):
        data = store.get(entry.key).data
        if damage == "gone":
            store.purge([entry.key])
        else:
            store.upload(entry.key, [data[:-1] + b"x" if damage == "changed" else data + b"x"])
    with pytest.raises(Damaged) as error:
        laptop.place(equipment)
    assert error.value.hint
    assert made(laptop) == []


def test_a_full_disk_leaves_nothing(laptop: Laptop, equipment: Equipment, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Site, "_create", full)
    with pytest.raises(OSError, match="No space left"):
        laptop.place(equipment)
    assert made(laptop) == []


def test_an_interpreter_that_is_gone_is_said_to_be(laptop: Laptop, tmp_path: Path) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / f"python{version}").symlink_to(Path(sys.executable).resolve())
    assert find_base("/gone/python", version, str(tmp_path / "bin")) == os.path.realpath(sys.executable)
    with pytest.raises(NotFound, match=r"no `python3\.99`"):
        find_base("/gone/python", "3.99", str(tmp_path / "bin"))


def test_a_machine_needs_nothing_installed() -> None:
    source = Path(machine_environment.__file__).parents[2]
    code = f"import sys; sys.path.insert(0, {str(source)!r}); import outlast.machine.finder, outlast.machine.furnish"
    subprocess.run([str(BARE), "-I", "-S", "-c", code], check=True)
