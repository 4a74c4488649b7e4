"""Many processes on one directory: stopped, woken and killed at random while they count, and no count is lost."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from outlast.clock import SYSTEM
from outlast.errors import KeyMissing, PreconditionFailed
from outlast.store.directory import DirectoryStore
from outlast.store.memory import MemoryStore
from outlast.store.store import Store

KEY = "jobs/x/head.json"
COUNTERS = 4
TOTAL = 160
PADDING = "." * 9000
SECONDS_MAX = 100.0


def content(number: int) -> bytes:
    return json.dumps([number, PADDING, number]).encode()


def number_in(data: bytes) -> int:
    first, _, last = json.loads(data)
    assert first == last
    return int(first)


def in_a_process(call: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        call()
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(code)


def count(home: Path, log: Path) -> None:
    """Adds one, again and again; says in its log which generation it has written, after it was told so."""
    store = DirectoryStore(home)
    with log.open("a") as written:
        while True:
            stored = store.get(KEY)
            number = number_in(stored.data)
            if number >= TOTAL:
                return
            try:
                generation = store.put(KEY, content(number + 1), if_generation=stored.generation)
            except PreconditionFailed:
                continue
            written.write(f"{generation} {number + 1}\n")
            written.flush()


def watch(home: Path) -> None:
    """Never absent, never torn, never older than before: for one who remembers, for one who does not, and in lists."""
    knowing = DirectoryStore(home)
    last = 0
    while last < TOTAL:
        for store in (knowing, DirectoryStore(home)):
            stored = store.get(KEY)
            number = number_in(stored.data)
            assert number >= last
            assert stored.generation == number + 1
            last = number
            (entry,) = store.list("jobs/")
            assert entry.generation >= stored.generation
            assert entry.bytes >= len(content(0))


@pytest.mark.parametrize("seed", range(3))
def test_counting_processes_lose_no_count_although_they_are_stopped_and_killed(seed: int, tmp_path: Path) -> None:
    home = tmp_path / "home"
    random = Random(seed)
    store = DirectoryStore(home)
    store.put(KEY, content(0), if_generation=0)
    logs = [tmp_path / f"{number}.log" for number in range(COUNTERS)]
    counters = [in_a_process(partial(count, home, log)) for log in logs]
    watcher = in_a_process(lambda: watch(home))
    asleep: set[int] = set()
    kills = 0
    until = SYSTEM.monotonic() + SECONDS_MAX
    seen = 0
    while seen < TOTAL:
        assert SYSTEM.monotonic() < until, f"no more than {seen} counts"
        number = number_in(store.get(KEY).data)
        if number == seen:
            SYSTEM.sleep(0.001)
            if len(asleep) == COUNTERS:
                raise AssertionError("somebody must stay awake")
            continue
        seen = number
        victim = random.randrange(COUNTERS)
        if counters[victim] in asleep:
            asleep.discard(counters[victim])
            os.kill(counters[victim], signal.SIGCONT)
        elif seen < TOTAL - 20 and len(asleep) < COUNTERS - 1 and random.random() < 0.7:
            asleep.add(counters[victim])
            os.kill(counters[victim], signal.SIGSTOP)
        elif seen < TOTAL - 20 and random.random() < 0.5:
            os.kill(counters[victim], signal.SIGKILL)
            os.waitpid(counters[victim], 0)
            kills += 1
            counters[victim] = in_a_process(partial(count, home, logs[victim]))
    for pid in asleep:
        os.kill(pid, signal.SIGCONT)
    for pid in [*counters, watcher]:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    stored = store.get(KEY)
    assert (number_in(stored.data), stored.generation) == (TOTAL, TOTAL + 1)
    told = [tuple(map(int, line.split())) for log in logs for line in log.read_text().splitlines()]
    assert all(generation == number + 1 for generation, number in told)
    assert len(set(told)) == len(told)
    assert TOTAL - kills <= len(told) <= TOTAL  # one that was killed between its write and its word has told nobody
    assert sum(path.stat().st_size > 0 for path in (home / "jobs/x").iterdir()) <= 3 + kills


def test_of_many_processes_that_create_one_name_exactly_one_succeeds(tmp_path: Path) -> None:
    def create() -> None:
        store = DirectoryStore(tmp_path)
        for number in range(30):
            try:
                store.put(f"k/{number}", b"%d" % os.getpid(), if_generation=0)
            except PreconditionFailed:
                continue
            store.put(f"won/{number}-{os.getpid()}", b"")

    pids = [in_a_process(create) for _ in range(4)]
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 4
    store = DirectoryStore(tmp_path)
    winners = sorted(entry.key for entry in store.list("won/"))
    assert winners == sorted(f"won/{number}-{store.get(f'k/{number}').data.decode()}" for number in range(30))


def churn(store: Store, name: str, rounds: int) -> None:
    """Writes and purges in directories that others remove as soon as they are empty."""
    for number in range(rounds):
        store.upload(f"parts/shared/{name}-{number}", [b"part"])
        store.put(f"parts/deep/er/{name}-{number}", b"record", if_generation=0)
        assert store.get(f"parts/shared/{name}-{number}").data == b"part"
        assert store.get(f"parts/deep/er/{name}-{number}").data == b"record"
        store.purge([f"parts/shared/{name}-{number}", f"parts/deep/er/{name}-{number}"])


def test_who_purges_takes_no_directory_from_under_a_writer(tmp_path: Path) -> None:
    pids = [in_a_process(partial(churn, DirectoryStore(tmp_path), name, 60)) for name in ("a", "b", "c")]
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 3
    assert [path.name for path in tmp_path.iterdir()] == [".tmp~"]
    assert list((tmp_path / ".tmp~").iterdir()) == []


def test_a_name_and_its_directory_fight_for_their_place_and_both_stay(tmp_path: Path) -> None:
    def rewrite() -> None:
        store = DirectoryStore(tmp_path)
        for number in range(150):
            store.put("a", b"%d" % number)
            assert store.get("a").data == b"%d" % number

    def come_and_go() -> None:
        store = DirectoryStore(tmp_path)
        for number in range(100):
            store.put("a/b", b"%d" % number)
            assert store.get("a/b").data == b"%d" % number
            store.purge(["a/b"])

    DirectoryStore(tmp_path).put("a", b"0")
    pids = [in_a_process(rewrite), in_a_process(come_and_go)]
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 2
    assert [entry.key for entry in DirectoryStore(tmp_path).list("")] == ["a"]


def test_memory_is_one_for_all_threads_and_none_for_other_processes() -> None:
    store = MemoryStore()

    def write() -> None:
        store.put("k", b"1")

    pid = in_a_process(write)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with pytest.raises(KeyMissing):
        store.get("k")
