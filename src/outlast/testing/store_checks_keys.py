"""What a store promises about keys: which are legal, that all of them are different, and how they are listed."""

from __future__ import annotations

from outlast.store.store import KEY_BYTES_MAX
from outlast.testing.store_checks_alone import Open, refused

KEYS = (
    "a",
    "a/b",
    "a/b/c",
    "a-b",
    "a.b",
    "a0",
    "with space/and 'quote' \"double\" ; $(x) `y`",
    "tilde~1",
    "tilde~",
    "~",
    "percent%41",
    "%",
    "%7E1",
    "new\nline\tand\x1besc\x7f",
    ".hidden",
    "...",
    ".tmp/x",
    ".tmp~/x",
    ".nfs000",
    ".DS_Store",
    "._x",
    "+",
    "~+/+",
    "back\\slash:colon*star?",
    "größe/模型/🙂",
    "\u00e9",
    "\ufeff\u2028",
    "x" * 255,
    "x" * 300,
    "y" * 240 + ".",
    "y" * 240 + "..",
    "ä" * 300 + "/" + "~" * 90,
    "z" * KEY_BYTES_MAX,
    "d/" * 100 + "d",
)
"""All of them legal, and all of them different."""

FOLDED_KEYS = ("a", "A", "a/B", "a/b", "e\u0301", "\u00e9", "ss", "ß", "\u212a", "k")
"""Different for everybody but a file system that folds case or normalises."""

BAD_KEYS = (
    "",
    "/",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "a/.",
    "a/../b",
    "./a",
    "nul\0",
    "x" * (KEY_BYTES_MAX + 1),
    "\ud800",
)


def a_list_is_in_the_order_of_bytes_and_begins_and_ends_where_asked(open_store: Open) -> None:
    store = open_store()
    for number, key in enumerate(KEYS):
        if number % 2:
            store.put(key, b"x" * number, if_generation=0)
        else:
            store.put(key, b"x" * number)
    everything = [(entry.key, entry.bytes, entry.generation) for entry in store.list("")]
    assert [key for key, _, _ in everything] == sorted(KEYS, key=str.encode)
    assert all(size == KEYS.index(key) for key, size, _ in everything)
    assert all(generation == store.get(key).generation for key, _, generation in everything)
    ordered = [key for key, _, _ in everything]
    for prefix in ("", "a", "a/", "a/b", "a/b/", ".", "x" * 250, "ä" * 290, "d/" * 20, "none", "~", "e"):
        expected = [key for key in ordered if key.startswith(prefix)]
        assert [entry.key for entry in store.list(prefix)] == expected
        for after in ("a", "a/", "a/b", "d/d/d0", "x" * 270, *ordered[::3]):
            rest = [key for key in expected if key > after]
            assert [entry.key for entry in store.list(prefix, after=after)] == rest
            assert [entry.key for entry in store.list(prefix, after=after, limit=2)] == rest[:2]
    for prefix in ("/", "a//", "..", "../", "a/../", "./a"):
        assert list(store.list(prefix)) == [entry for entry in store.list("") if entry.key.startswith(prefix)]
    assert list(store.list("", limit=0)) == []


def every_legal_key_is_an_object_of_its_own(open_store: Open) -> None:
    store = open_store()
    generations = {key: store.put(key, key.encode(), if_generation=0) for key in KEYS}
    assert all(store.get(key).data == key.encode() for key in KEYS)
    for key in KEYS[::2]:
        store.delete(key, if_generation=generations[key])
    assert {entry.key for entry in store.list("")} == set(KEYS[1::2])
    plain = open_store()
    plain.purge(KEYS)
    for key in KEYS:
        plain.put(key, key.encode())
    assert all(plain.get(key).data == b"".join(plain.download(key)) == key.encode() for key in KEYS)
    for key in KEYS[::2]:
        plain.delete(key)
    assert {entry.key for entry in plain.list("")} == set(KEYS[1::2])


def keys_that_only_a_careless_file_system_confuses_are_different(open_store: Open) -> None:
    store = open_store()
    for key in FOLDED_KEYS:
        store.put(key, key.encode(), if_generation=0)
    assert all(store.get(key).data == key.encode() for key in FOLDED_KEYS)
    assert [entry.key for entry in store.list("")] == sorted(FOLDED_KEYS)


def an_illegal_key_is_refused_by_every_call(open_store: Open) -> None:
    store = open_store()
    for key in BAD_KEYS:
        with refused(ValueError, ascii(key)):
            store.get(key)
        with refused(ValueError, ascii(key)):
            store.put(key, b"")
        with refused(ValueError, ascii(key)):
            store.put(key, b"", if_generation=0)
        with refused(ValueError, ascii(key)):
            store.delete(key)
        with refused(ValueError, ascii(key)):
            store.purge([key])
        with refused(ValueError, ascii(key)):
            store.upload(key, [b""])
        with refused(ValueError, ascii(key)):
            next(iter(store.download(key)))
    assert list(store.list("")) == []
