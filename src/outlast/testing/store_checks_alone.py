"""What a store promises to one who uses it alone. The list is in `store_contract`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

from outlast.errors import KeyMissing, PreconditionFailed
from outlast.store.store import CHUNK_BYTES, Store

Open = Callable[[], Store]
Check = Callable[[Open], None]

CONTENTS = (
    b"",
    b"\n",
    b"x",
    b"\0",
    b"\0data\n",
    b"no newline at its end",
    b"deleted",
    b"deleted\n",
    b"delete",
    b"{}\n",
    bytes(range(256)),
    b"0123456789abcdef" * (3 * CHUNK_BYTES // 16) + b"end",
)


@contextmanager
def refused(expected: type[Exception], why: object) -> Iterator[None]:
    try:
        yield
    except expected:
        return
    raise AssertionError(f"{expected.__name__} was not raised: {why}")


def what_is_missing_is_said_to_be_missing(open_store: Open) -> None:
    store = open_store()
    with refused(KeyMissing, "get"):
        store.get("a/b")
    with refused(KeyMissing, "download"):
        next(iter(store.download("a/b")))
    assert list(store.list("")) == []
    store.delete("a/b")
    store.purge(["a/b", "c"])


def what_was_written_is_read_byte_for_byte(open_store: Open) -> None:
    store = open_store()
    for number, data in enumerate(CONTENTS):
        generation = store.put(f"if/{number}", data, if_generation=0)
        assert (store.get(f"if/{number}").data, store.get(f"if/{number}").generation) == (data, generation)
        generation = store.put(f"plain/{number}", data)
        assert (store.get(f"plain/{number}").data, store.get(f"plain/{number}").generation) == (data, generation)
        assert store.upload(f"streamed/{number}", iter([data[:5], b"", data[5:]])) == len(data)
        for kind in ("if", "plain", "streamed"):
            chunks = list(store.download(f"{kind}/{number}"))
            assert b"".join(chunks) == data
            assert all(0 < len(chunk) <= CHUNK_BYTES for chunk in chunks)
    sizes = {entry.key: entry.bytes for entry in store.list("")}
    assert sizes == {
        f"{kind}/{number}": len(data) for kind in ("if", "plain", "streamed") for number, data in enumerate(CONTENTS)
    }


def several_are_created_at_once_and_each_once(open_store: Open) -> None:
    store = open_store()
    store.put("there", b"before", if_generation=0)
    store.put("gone", b"before", if_generation=0)
    store.delete("gone")
    several = [(f"k/{number}/x{'a' * number}", f"{number}".encode()) for number in range(20)]
    asked = [("there", b"after"), *several, ("gone", b"after")]
    assert list(store.create_many(asked)) == [False, *(True for _ in several), True]
    assert [store.get(key).data for key, _ in several] == [data for _, data in several]
    assert (store.get("there").data, store.get("gone").data) == (b"before", b"after")
    assert not any(store.create_many(asked)), "a second time"
    store.put(several[3][0], b"later", if_generation=store.get(several[3][0]).generation)
    assert list(store.create_many([several[3], ("alone", b"")])) == [False, True]
    assert (store.get(several[3][0]).data, store.get("alone").data) == (b"later", b"")
    assert list(store.create_many([])) == []
    with refused(ValueError, "create_many of a bad key"):
        store.create_many([("fine", b""), ("../bad", b"")])


def an_object_is_created_once(open_store: Open) -> None:
    store = open_store()
    generation = store.put("k", b"first", if_generation=0)
    assert generation != 0
    with refused(PreconditionFailed, "second create"):
        store.put("k", b"second", if_generation=0)
    assert store.get("k").data == b"first"
    assert store.get("k").generation == generation


def a_write_with_a_condition_needs_the_newest_generation(open_store: Open) -> None:
    store = open_store()
    for never in (1, 2, 7):
        with refused(PreconditionFailed, f"nothing is there, not even {never}"):
            store.put("k", b"!", if_generation=never)
    seen = [store.put("k", b"0", if_generation=0)]
    for number in range(1, 9):
        seen.append(store.put("k", b"%d" % number, if_generation=seen[-1]))
        for wrong in (0, *seen[:-1], seen[-1] + 1, seen[-1] + 2, -1):
            with refused(PreconditionFailed, f"{wrong} of {seen}"):
                store.put("k", b"!", if_generation=wrong)
        assert store.get("k").data == b"%d" % number
        assert store.get("k").generation == seen[-1]
    assert len(set(seen)) == len(seen)
    assert 0 not in seen


def a_write_without_condition_wins_and_has_a_new_generation(open_store: Open) -> None:
    store = open_store()
    seen = []
    for number in range(20):
        seen.append(store.put("k", b"%d" % number))
        assert store.get("k").data == b"%d" % number
        assert store.get("k").generation == seen[-1]
    store.upload("k", [b"streamed"])
    assert store.get("k").data == b"streamed"
    seen.append(store.get("k").generation)
    assert len(set(seen)) == len(seen)
    assert 0 not in seen


def what_was_deleted_is_gone_and_its_generations_never_come_back(open_store: Open) -> None:
    store = open_store()
    seen = []
    for _ in range(3):
        seen.append(store.put("k", b"1", if_generation=0))
        seen.append(store.put("k", b"2", if_generation=seen[-1]))
        store.delete("k")
        store.delete("k")
        with refused(KeyMissing, "deleted"):
            store.get("k")
        assert list(store.list("")) == []
        for old in seen:
            with refused(PreconditionFailed, f"{old} is gone"):
                store.put("k", b"!", if_generation=old)
    seen.append(store.put("k", b"3", if_generation=0))
    assert len(set(seen)) == len(seen)
    assert store.get("k").data == b"3"
    store.put("plain", b"1")
    store.delete("plain")
    with refused(KeyMissing, "deleted"):
        store.get("plain")


def a_delete_with_a_condition_needs_the_newest_generation(open_store: Open) -> None:
    store = open_store()
    with refused(PreconditionFailed, "nothing is there"):
        store.delete("k", if_generation=1)
    first = store.put("k", b"1", if_generation=0)
    second = store.put("k", b"2", if_generation=first)
    for wrong in (0, first, second + 1):
        with refused(PreconditionFailed, f"{wrong} is not {second}"):
            store.delete("k", if_generation=wrong)
    assert store.get("k").data == b"2"
    store.delete("k", if_generation=second)
    with refused(KeyMissing, "deleted"):
        store.get("k")
    with refused(PreconditionFailed, "gone already"):
        store.delete("k", if_generation=second)


def what_was_purged_leaves_nothing(open_store: Open) -> None:
    store = open_store()
    keep = ["p", "p/1/keep", "q"]
    gone = [f"p/{number}/part" for number in range(5)] + ["p/1", "r/s/t/u"]
    for key in keep + gone[:3]:
        store.upload(key, [b"part"])
    generation = 0
    for key in gone[3:]:
        generation = store.put(key, b"record", if_generation=0)
    for _ in range(4):
        generation = store.put(gone[-1], b"again", if_generation=generation)
    store.purge(iter([*gone, "never/there"]))
    assert [entry.key for entry in store.list("")] == keep
    for key in gone:
        with refused(KeyMissing, key):
            open_store().get(key)
    store.purge(gone)
    assert store.get("p/1/keep").data == b"part"


def an_upload_that_breaks_off_changes_nothing_and_raises_what_broke_it(open_store: Open) -> None:
    def breaking(error: Exception) -> Iterator[bytes]:
        yield b"half"
        raise error

    store = open_store()
    for there in ([], ["k"]):
        # The last ones are about the file that is being uploaded, not about the store.
        for error in (LookupError(), FileNotFoundError(2, "gone"), OSError(28, "full")):
            try:
                store.upload("k", breaking(error))
            except (LookupError, OSError) as raised:
                assert raised is error
            else:
                raise AssertionError(f"{error!r} was swallowed")
            assert [entry.key for entry in store.list("")] == there
        store.upload("k", [b"whole"])
        assert store.get("k").data == b"whole"


def random_calls_are_answered_like_a_dictionary_would(open_store: Open) -> None:
    for seed in range(10):
        _random_calls(open_store(), Random(seed), f"{seed}/")


def _random_calls(store: Store, random: Random, prefix: str) -> None:
    keys = [f"{prefix}{key}" for key in ("a", "a/b", "a/b/c", "a~", "b")]
    model: dict[str, tuple[bytes, int]] = {}
    for number in range(60):
        key = random.choice(keys)
        data = b"%d" % number
        held = model[key][1] if key in model else 0
        asked = random.choice([held, held, held, 0, held + 1])
        operation = random.choice(["put", "put", "put", "delete", "delete at", "get"])
        try:
            if operation == "put":
                model[key] = (data, store.put(key, data, if_generation=asked))
                assert asked == held
            elif operation == "delete at":
                store.delete(key, if_generation=asked)
                assert asked == held
                del model[key]
            elif operation == "delete":
                store.delete(key)
                model.pop(key, None)
            else:
                stored = store.get(key)
                assert (stored.data, stored.generation) == model[key]
        except PreconditionFailed:
            assert asked != held or (operation == "delete at" and held == 0)
        except KeyMissing:
            assert key not in model
        expected = [(one, model[one][1], len(model[one][0])) for one in sorted(model)]
        assert [(entry.key, entry.generation, entry.bytes) for entry in store.list(prefix)] == expected


def it_says_where_it_is_and_how_often_to_look(open_store: Open) -> None:
    store = open_store()
    assert store.url
    assert store.poll_seconds > 0
    assert store.rewrite_seconds >= 0
    assert store.now() <= store.now()
