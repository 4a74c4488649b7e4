"""A writer that is stopped before any call that it makes, and wakes up later or never, harms nobody."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from outlast.clock import SYSTEM
from outlast.errors import KeyMissing
from outlast.store.directory import DirectoryStore
from outlast.store.files import TEMPORARY_SECONDS_MAX
from outlast.store.paths import TEMPORARY
from tests.store.steps import DONE, REFUSED, HastyDisk, Operation, Writer, steps_of

KEY = "jobs/x/head.json"
LONG = b"." * 10_000
NEW = b"new" + LONG

WRITE = ["create", "write", "sync", "close"]
IN_PLACE = ["link", "sync_directory", "sync", "unlink"]
EMPTY_OLDER = ["create", "write", "close", "rename"]
SYNCED = ["sync_directory", "sync"]


@dataclass(frozen=True)
class Scenario:
    """What a writer does to a home in which `generations` of `KEY` were written (none of them empty)."""

    generations: int
    operation: Operation
    steps: list[str]
    """All the calls that it makes. Each is a moment to stop at, and so is the end."""

    after: bytes | None
    """What is there when it was done."""

    deleted_before: bool = False

    def prepare(self, root: Path) -> None:
        store = DirectoryStore(root, disk=HastyDisk())
        store.put("other/object", b"other", if_generation=0)
        for number in range(self.generations):
            store.put(KEY, b"%d" % number + LONG, if_generation=number)
        if self.deleted_before:
            store.delete(KEY)

    @property
    def before(self) -> bytes | None:
        return None if self.deleted_before or not self.generations else b"%d" % (self.generations - 1) + LONG


SCENARIOS = {
    "create": Scenario(
        0,
        lambda store: store.put(KEY, NEW, if_generation=0),
        # The directories of the job, made on the way up and down.
        [*WRITE, "link", *["make_directory"] * 3, "link", *SYNCED, *SYNCED, *SYNCED, "unlink"],
        NEW,
    ),
    "swap the first": Scenario(1, lambda store: store.put(KEY, NEW, if_generation=1), [*WRITE, *IN_PLACE], NEW),
    "swap": Scenario(4, lambda store: store.put(KEY, NEW, if_generation=4), [*WRITE, *IN_PLACE, *EMPTY_OLDER], NEW),
    "create again": Scenario(
        3,
        lambda store: store.put(KEY, NEW, if_generation=0),
        [*WRITE, *IN_PLACE, *EMPTY_OLDER],
        NEW,
        deleted_before=True,
    ),
    "delete": Scenario(4, lambda store: store.delete(KEY, if_generation=4), [*WRITE, *IN_PLACE, *EMPTY_OLDER], None),
}
"""Those with a condition."""


def stop_points() -> list[tuple[str, int]]:
    return [(name, step) for name, scenario in SCENARIOS.items() for step in range(len(scenario.steps) + 1)]


def read(root: Path) -> bytes | None:
    try:
        return DirectoryStore(root).get(KEY).data
    except KeyMissing:
        return None


def rivals_go_on(root: Path, reader: DirectoryStore) -> bytes:
    """Five swaps, a deletion and a creation by somebody else; after each, everybody sees what was written."""
    data = b""
    for number in range(7):
        store = DirectoryStore(root, disk=HastyDisk())
        try:
            generation = store.get(KEY).generation
        except KeyMissing:
            generation = 0
        if number == 5:
            store.delete(KEY, if_generation=generation)
            assert read(root) is None
            continue
        data = b"rival %d" % number + LONG
        written = store.put(KEY, data, if_generation=generation)
        assert read(root) == data
        assert reader.get(KEY).data == data
        assert [(entry.key, entry.generation, entry.bytes) for entry in reader.list("jobs/")] == [
            (KEY, written, len(data))
        ]
    return data


def check_stopped_writer(root: Path, scenario: Scenario, step: int) -> None:
    """It wakes up after others went on: if its write was not seen while it slept, it is refused."""
    scenario.prepare(root)
    reader = DirectoryStore(root)
    with Writer(root, scenario.operation, step) as writer:
        seen = read(root)
        assert seen in (scenario.before, scenario.after)
        last = rivals_go_on(root, reader)
        outcome = writer.wake()
    done = seen == scenario.after and scenario.after != scenario.before
    assert outcome == (DONE if done else REFUSED)
    assert read(root) == last
    assert reader.get(KEY).data == last
    assert [entry.key for entry in reader.list("")] == [KEY, "other/object"]


def check_killed_writer(root: Path, scenario: Scenario, step: int) -> None:
    scenario.prepare(root)
    reader = DirectoryStore(root)
    Writer(root, scenario.operation, step).kill()
    assert read(root) in (scenario.before, scenario.after)
    last = rivals_go_on(root, reader)
    assert read(root) == last
    assert [entry.key for entry in reader.list("")] == [KEY, "other/object"]
    later = DirectoryStore(root, clock=Later())
    later.put("other/object", b"again", if_generation=1)
    assert list((root / TEMPORARY).iterdir()) == []


class Later:
    """A clock by which everything that was written today is old."""

    def now(self) -> float:
        return SYSTEM.now() + TEMPORARY_SECONDS_MAX + 60

    def monotonic(self) -> float:
        return SYSTEM.monotonic()

    def sleep(self, seconds: float) -> None:
        raise AssertionError("a store never sleeps")


def test_there_are_sixty_five_moments_to_stop_at() -> None:
    assert len(stop_points()) == 65


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_moments_to_stop_at_are_all_the_calls_that_are_made(name: str, tmp_path: Path) -> None:
    SCENARIOS[name].prepare(tmp_path)
    assert steps_of(tmp_path, SCENARIOS[name].operation) == SCENARIOS[name].steps
    assert read(tmp_path) == SCENARIOS[name].after


@pytest.mark.parametrize(("name", "step"), stop_points())
def test_a_writer_that_wakes_up_late_is_refused_unless_its_write_was_seen(name: str, step: int, tmp_path: Path) -> None:
    check_stopped_writer(tmp_path, SCENARIOS[name], step)


@pytest.mark.parametrize(("name", "step"), stop_points())
def test_a_writer_that_is_killed_leaves_all_of_its_write_or_nothing(name: str, step: int, tmp_path: Path) -> None:
    check_killed_writer(tmp_path, SCENARIOS[name], step)
