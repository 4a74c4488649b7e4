"""What a store promises to those who use it together. The list is in `store_contract`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial

from outlast.errors import KeyMissing, PreconditionFailed
from outlast.testing.store_checks_alone import Open, refused


def another_handle_sees_every_write_at_once(open_store: Open) -> None:
    one, other = open_store(), open_store()
    generation = 0
    for number in range(20):
        generation = one.put("k", b"%d" % number, if_generation=generation)
        assert other.get("k").data == b"%d" % number
        assert other.get("k").generation == generation
        one, other = other, one
        one.put("plain", b"%d" % number)
        assert other.get("plain").data == b"%d" % number
        assert [entry.generation for entry in other.list("k")] == [generation]
    one.delete("k")
    with refused(KeyMissing, "deleted by the other"):
        other.get("k")


def several_who_count_lose_no_count(open_store: Open) -> None:
    workers, counts = 4, 25
    open_store().put("count", b"0", if_generation=0)
    written: list[int] = []

    def count() -> None:
        store = open_store()
        for _ in range(counts):
            while True:
                stored = store.get("count")
                number = int(stored.data) + 1
                try:
                    store.put("count", b"%d" % number, if_generation=stored.generation)
                except PreconditionFailed:
                    continue
                written.append(number)
                break

    _at_once([count] * workers)
    assert sorted(written) == list(range(1, workers * counts + 1))
    assert open_store().get("count").data == b"%d" % (workers * counts)


def of_several_who_create_one_succeeds(open_store: Open) -> None:
    winners: list[tuple[str, bytes]] = []

    def create(name: bytes) -> None:
        store = open_store()
        for number in range(20):
            try:
                store.put(f"k/{number}", name, if_generation=0)
            except PreconditionFailed:
                continue
            winners.append((f"k/{number}", name))

    _at_once([partial(create, b"%d" % worker) for worker in range(4)])
    store = open_store()
    assert sorted(key for key, _ in winners) == sorted(f"k/{number}" for number in range(20))
    assert all(store.get(key).data == name for key, name in winners)


def a_reader_never_sees_less_than_before_nor_half_of_anything(open_store: Open) -> None:
    def content(number: int) -> bytes:
        return b"%08d" % number * 3000

    open_store().put("if", content(0), if_generation=0)
    open_store().put("plain", content(0))
    done = threading.Event()

    def write() -> None:
        store = open_store()
        generation = store.get("if").generation
        try:
            for number in range(1, 40):
                generation = store.put("if", content(number), if_generation=generation)
                store.put("plain", content(number))
        finally:
            done.set()

    def read() -> None:
        last = {"if": 0, "plain": 0}
        while not done.is_set():
            store = open_store()  # knows nothing from before
            for key, before in list(last.items()):
                data = store.get(key).data
                number = int(data[:8])
                assert data == content(number)
                assert number >= before
                last[key] = number
            assert {entry.key for entry in store.list("")} == {"if", "plain"}
            assert {entry.bytes for entry in store.list("")} == {len(content(0))}

    _at_once([write, read, read])


def it_can_be_used_after_a_fork(open_store: Open) -> None:
    store = open_store()
    generation = store.put("k", b"before", if_generation=0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.put("k", b"in the child", if_generation=generation)
            code = 0 if store.get("k").data == b"in the child" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.get("k").data in (b"before", b"in the child")  # memory is not shared with a child, a home is


def _at_once(calls: list[Callable[[], None]]) -> None:
    """Runs each in a thread of its own; raises the first error of any."""
    errors: list[BaseException] = []

    def run(call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - handed on below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
