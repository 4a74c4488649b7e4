"""Environments in the home: written so that nothing names what is not there, shared, and found again after a death at any write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from outlast.bundle.environment import ship
from outlast.bundle.environment.record import digest_of, read_manifest
from outlast.errors import Damaged
from outlast.folder import layout
from outlast.folder.prunes import Prunes, condemn
from outlast.store.mortal import Mortal
from outlast.store.registry import open_store
from outlast.store.store import Store
from outlast.testing.crash import killed_at
from tests.environments.conftest import find_uv
from tests.environments.laptop import Laptop, run
from tests.environments.wheels import make_wheel

KILL_POINTS = 8
"""Two parts, a manifest, a declaration; each before and after."""


@pytest.fixture
def laptop(tmp_path: Path, links: Path) -> Laptop:
    find_uv()
    one = Laptop(tmp_path, links, "uv")
    one.write("train.py", "import alpha\n")
    one.write("requirements.txt", "alpha\n")
    make_wheel(links, "alpha", requires=["beta"])
    make_wheel(links, "beta")
    return one


def home(laptop: Laptop) -> Store:
    return open_store(laptop.home or str(laptop.root / "home"))


def keys(store: Store, prefix: str = layout.ENVIRONMENTS) -> list[str]:
    return [entry.key for entry in store.list(prefix)]


def equip(laptop: Laptop) -> str:
    environment = laptop.equip(requirements=("requirements.txt",)).environment
    assert environment is not None
    return environment.digest


@pytest.mark.parametrize("point", [*range(KILL_POINTS), None])
def test_a_death_at_any_write_is_survived(laptop: Laptop, point: int | None) -> None:
    def verb(world: Any) -> object:
        return laptop.equip(world=world, requirements=("requirements.txt",))

    counted = killed_at(laptop.world(), verb, point)
    assert counted == (KILL_POINTS if point is None else -1)
    equipment = laptop.equip(requirements=("requirements.txt",))
    store = home(laptop)
    assert len(keys(store, layout.ENVIRONMENT_PARTS)) == 2
    assert len(keys(store)) == 4
    assert run(laptop.place(equipment), "import alpha, beta; print(alpha.version)") == "1.0"
    assert laptop.equip(requirements=("requirements.txt",)).resolver == ""


def test_a_declaration_is_written_last(laptop: Laptop) -> None:
    written: list[str] = []

    def note(operation: str, key: str) -> None:
        if operation != "chunk":
            written.append(key)

    world = laptop.world().over(lambda store: Mortal(store, note, lambda *_: None), lambda engine: engine)
    laptop.equip(world=world, requirements=("requirements.txt",))
    assert [key.split("/")[1] for key in written[:2]] == ["parts", "parts"]
    assert written[2].endswith("manifest.json") and "by-declaration" in written[3] and len(written) == 4


def test_two_environments_share_what_they_have_in_common(laptop: Laptop) -> None:
    equip(laptop)
    laptop.write("requirements.txt", "beta\n")
    laptop.write("train.py", "import beta\n")
    equip(laptop)
    assert len(keys(home(laptop), layout.ENVIRONMENT_PARTS)) == 2


def test_a_large_wheel_is_several_parts(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ship, "PART_BYTES_MAX", 256)
    monkeypatch.setattr(ship, "CHUNK_BYTES", 100)
    equipment = laptop.equip(requirements=("requirements.txt",))
    assert equipment.environment is not None
    manifest = read_manifest(home(laptop), equipment.environment.digest)
    assert all(len(package.parts) >= 2 for package in manifest.packages)
    assert run(laptop.place(equipment), "import alpha; print(alpha.version)") == "1.0"


@pytest.mark.parametrize("what", ["parts", "manifest", "declaration"])
def test_what_is_gone_from_the_home_is_shipped_again(laptop: Laptop, what: str) -> None:
    digest = equip(laptop)
    store = home(laptop)
    wanted = {
        "parts": layout.ENVIRONMENT_PARTS,
        "manifest": layout.environment(digest),
        "declaration": layout.DECLARATIONS,
    }
    for key in keys(store, wanted[what]):
        store.purge([key]) if what == "parts" else store.delete(key)
    assert equip(laptop) == digest
    assert run(laptop.place(laptop.equip(requirements=("requirements.txt",))), "import alpha; print(1)") == "1"


@pytest.mark.parametrize(
    "document", [{}, {"format": 1}, [], {"format": 1, "digest": "../x"}, {"format": 1, "digest": 5}]
)
def test_a_damaged_declaration_is_resolved_again(laptop: Laptop, document: object) -> None:
    digest = equip(laptop)
    store = home(laptop)
    (key,) = keys(store, layout.DECLARATIONS)
    store.put(key, json.dumps(document).encode(), if_generation=store.get(key).generation)
    assert equip(laptop) == digest


def test_a_manifest_that_describes_another_environment_is_damaged(laptop: Laptop) -> None:
    digest = equip(laptop)
    store = home(laptop)
    key = layout.environment(digest)
    stored = store.get(key)
    store.put(key, stored.data.replace(b'"1.0"', b'"6.6"'), if_generation=stored.generation)
    with pytest.raises(Damaged, match="another environment"):
        read_manifest(store, digest)
    assert equip(laptop) == digest, "and it is written anew"
    assert digest_of(read_manifest(store, digest)) == digest


def test_what_a_prune_has_condemned_is_shipped_under_another_name(laptop: Laptop) -> None:
    digest = equip(laptop)
    store = home(laptop)
    records = {entry.key: entry.generation for entry in store.list(layout.ENVIRONMENTS) if entry.key.endswith(".json")}
    masses = keys(store, layout.ENVIRONMENT_PARTS)
    assert condemn(store, Prunes(), records, masses) is not None
    assert equip(laptop) == digest
    parts = {part.name for package in read_manifest(store, digest).packages for part in package.parts}
    assert not parts & {key.removeprefix(layout.ENVIRONMENT_PARTS) for key in masses}
    store.purge(masses)
    for key, generation in records.items():
        assert store.get(key).generation != generation
    assert run(laptop.place(laptop.equip(requirements=("requirements.txt",))), "import alpha; print(1)") == "1"


def test_another_setup_reuses_the_packages(laptop: Laptop, links: Path) -> None:
    laptop.write("setup.sh", "true\n")
    first = equip(laptop)
    for wheel in links.iterdir():
        wheel.unlink()
    environment = laptop.equip(requirements=("requirements.txt",), setup="setup.sh").environment
    assert environment is not None and environment.digest != first
    assert len(keys(home(laptop), layout.ENVIRONMENT_PARTS)) == 2


def test_a_setup_is_its_text_and_the_files_that_it_names(laptop: Laptop) -> None:
    laptop.write("setup.sh", "pip install -r more.txt\n")
    laptop.write("more.txt", "a\n")
    digests = []
    for name, text in (("more.txt", "b\n"), ("unrelated.txt", "c\n"), ("setup.sh", "pip install -r more.txt -q\n")):
        laptop.write(name, text)
        environment = laptop.equip(requirements=("requirements.txt",), setup="setup.sh").environment
        assert environment is not None
        digests.append(environment.digest)
    assert digests[0] == digests[1] != digests[2]
