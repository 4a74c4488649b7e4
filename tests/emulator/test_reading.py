"""Reading objects and listing them."""

from __future__ import annotations

import gzip
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outlast_emulator.storage.contents import Contents
from outlast_emulator.storage.listing import successor
from outlast_emulator.testing import Running


def _read(emulator: Running, bucket: str, span: str) -> tuple[int, bytes, str]:
    path = f"/storage/v1/b/{bucket}/o/it?alt=media"
    answer = emulator.call("GET", path, headers={"range": span})
    return answer.status, answer.body, answer.headers.get("content-range", "")


@pytest.mark.parametrize("size", [10, 300_000], ids=["in the database", "in a file"])
def test_ranges_are_as_http_has_them(emulator: Running, bucket: str, size: int) -> None:
    data = (b"0123456789" * (size // 10))[:size]
    emulator.put(bucket, "it", data)

    assert _read(emulator, bucket, "bytes=2-4") == (206, data[2:5], f"bytes 2-4/{size}")
    assert _read(emulator, bucket, "bytes=7-") == (206, data[7:], f"bytes 7-{size - 1}/{size}")
    assert _read(emulator, bucket, "bytes=-3") == (206, data[-3:], f"bytes {size - 3}-{size - 1}/{size}")
    assert _read(emulator, bucket, f"bytes=-{size + 5}") == (206, data, f"bytes 0-{size - 1}/{size}")
    assert _read(emulator, bucket, f"bytes=5-{size + 100}") == (206, data[5:], f"bytes 5-{size - 1}/{size}")
    status, _, span = _read(emulator, bucket, f"bytes={size}-")
    assert (status, span) == (416, f"bytes */{size}")
    assert _read(emulator, bucket, "bytes=-0")[0] == 416
    assert _read(emulator, bucket, "lines=1-2")[:2] == (200, data)


def test_a_range_of_an_empty_object_cannot_be_satisfied(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "it", b"")

    assert _read(emulator, bucket, "bytes=0-")[0] == 416
    assert emulator.get(bucket, "it", alt="media").body == b""


def test_bytes_come_with_generation_hashes_and_type(emulator: Running, bucket: str) -> None:
    generation = emulator.put(bucket, "it", b"123456789").json()["generation"]

    headers = emulator.get(bucket, "it", alt="media").headers

    assert headers["x-goog-generation"] == generation
    assert headers["x-goog-hash"] == "crc32c=4waSgw==,md5=JfnnlDI7RTiF9RgfG2JNCw=="
    assert headers["x-goog-stored-content-length"] == headers["content-length"] == "9"
    assert headers["date"].endswith("GMT")


def test_head_answers_with_the_length_and_no_body(emulator: Running, bucket: str) -> None:
    for name, size in (("small", 10), ("large", 3_000_000)):
        emulator.put(bucket, name, b"x" * size)
        answer = emulator.call("HEAD", f"/storage/v1/b/{bucket}/o/{name}?alt=media")
        assert (answer.status, answer.headers["content-length"], answer.body) == (200, str(size), b"")


def test_who_asks_for_bytes_is_refused_in_plain_words(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "it", b"0123456789")
    for path in (f"/storage/v1/b/{bucket}/o/a%26%3Cb?alt=media", f"/download/storage/v1/b/{bucket}/o/a%26%3Cb"):
        answer = emulator.call("GET", path)
        assert (answer.status, answer.body) == (404, f"No such object: {bucket}/a&&lt;b".encode())
        assert answer.headers["content-type"] == "text/html; charset=UTF-8"
    past = emulator.call("GET", f"/storage/v1/b/{bucket}/o/it?alt=media", headers={"range": "bytes=10-"})
    assert (past.status, past.body) == (416, b"Request range not satisfiable")
    assert past.headers["content-range"] == "bytes */10"
    changed = emulator.get(bucket, "it", alt="media", ifGenerationMatch="7")
    assert (changed.status, changed.body[:12]) == (412, b"At least one")
    emulator.fault("storage.objects.get", "error", status=503)
    assert emulator.get(bucket, "it", alt="media").body == b"Service Unavailable"
    assert emulator.get(bucket, "absent").json()["error"]["errors"][0]["reason"] == "notFound"


def test_an_older_generation_is_not_found(emulator: Running, bucket: str) -> None:
    old = emulator.put(bucket, "it", b"old").json()["generation"]
    new = emulator.put(bucket, "it", b"new").json()["generation"]

    assert int(new) > int(old)
    assert emulator.get(bucket, "it", generation=old).status == 404
    assert emulator.get(bucket, "it", generation=new, alt="media").body == b"new"


def test_gzip_is_undone_only_for_those_who_do_not_take_it(emulator: Running, bucket: str) -> None:
    stored = gzip.compress(b"words " * 1000)
    emulator.put(bucket, "it", stored, contentEncoding="gzip")
    path = f"/storage/v1/b/{bucket}/o/it?alt=media"

    taken = emulator.call("GET", path, headers={"accept-encoding": "gzip"})
    undone = emulator.call("GET", path, headers={"accept-encoding": "identity"})

    assert (taken.body, taken.headers["content-encoding"]) == (stored, "gzip")
    assert undone.body == b"words " * 1000
    assert "content-encoding" not in undone.headers
    assert undone.headers["x-goog-stored-content-encoding"] == "gzip"


@pytest.mark.parametrize(
    "name", ["a b", "ä/ö?#%", "a//b", "/a", "a/", "%2F", "日本/語", "..", "a/../b", "-", "x" * 1024]
)
def test_any_name_is_written_read_listed_and_deleted(emulator: Running, bucket: str, name: str) -> None:
    if name == "..":
        assert emulator.put(bucket, name, b"x").status == 400
        return
    assert emulator.put(bucket, name, name.encode()).json()["name"] == name
    assert emulator.get(bucket, name, alt="media").body == name.encode()
    listed = emulator.call("GET", f"/storage/v1/b/{bucket}/o").json()["items"]
    assert [entry["name"] for entry in listed] == [name]


@pytest.mark.parametrize("name", ["x" * 1025, "ä" * 513, "a\nb", "a\rb"])
def test_names_that_google_does_not_take_are_refused(emulator: Running, bucket: str, name: str) -> None:
    assert emulator.put(bucket, name, b"x").status == 400


# --------------------------------------------------------------------------------------------------------------- lists


def _list(emulator: Running, bucket: str, query: str = "") -> dict[str, Any]:
    answer = emulator.call("GET", f"/storage/v1/b/{bucket}/o?{query}")
    assert answer.status == 200, answer.body
    found = answer.json()
    assert isinstance(found, dict)
    return found


def _names(page: dict[str, Any]) -> list[str]:
    return [entry["name"] for entry in page.get("items", [])]


def test_lists_know_prefix_delimiter_and_offsets(emulator: Running, bucket: str) -> None:
    for name in ("a", "b/1", "b/2/x", "b/2/y", "b/3", "c/", "c/1", "d"):
        emulator.put(bucket, name, b"")

    assert _names(_list(emulator, bucket)) == ["a", "b/1", "b/2/x", "b/2/y", "b/3", "c/", "c/1", "d"]
    page = _list(emulator, bucket, "delimiter=/")
    assert (_names(page), page["prefixes"]) == (["a", "d"], ["b/", "c/"])
    page = _list(emulator, bucket, "delimiter=/&prefix=b/")
    assert (_names(page), page["prefixes"]) == (["b/1", "b/3"], ["b/2/"])
    page = _list(emulator, bucket, "delimiter=/&includeTrailingDelimiter=true")
    assert (_names(page), page["prefixes"]) == (["a", "c/", "d"], ["b/", "c/"])
    assert _names(_list(emulator, bucket, "startOffset=b/2/y&endOffset=c/1")) == ["b/2/y", "b/3", "c/"]
    assert _names(_list(emulator, bucket, "matchGlob=b/*")) == ["b/1", "b/3"]
    assert _names(_list(emulator, bucket, "matchGlob=**/{x,1}")) == ["b/1", "b/2/x", "c/1"]
    assert _list(emulator, bucket, "prefix=nothing") == {"kind": "storage#objects"}


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("delimiter", ["", "/"])
def test_pages_hold_everything_once_and_in_order(emulator: Running, bucket: str, size: int, delimiter: str) -> None:
    for name in ("a/1", "a/2", "b", "c/1", "c/2", "d", "e"):
        emulator.put(bucket, name, b"")
    whole = _list(emulator, bucket, f"delimiter={delimiter}")
    names, prefixes, token, pages = [], [], "", 0
    while True:
        page = _list(emulator, bucket, f"delimiter={delimiter}&maxResults={size}&pageToken={token}")
        assert 1 <= len(page.get("items", [])) + len(page.get("prefixes", [])) <= size
        names += _names(page)
        prefixes += page.get("prefixes", [])
        pages += 1
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert (names, prefixes) == (_names(whole), whole.get("prefixes", []))
    assert pages == -(-(len(names) + len(prefixes)) // size)


_NAMES = st.text(st.sampled_from("ab/é\U0010ffff\ud7ff0"), min_size=1, max_size=6)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(names=st.sets(_NAMES, max_size=12), prefix=st.text("ab/é", max_size=2), size=st.integers(1, 5), start=_NAMES)
def test_a_paged_list_is_what_the_definition_says(
    emulator: Running, names: set[str], prefix: str, size: int, start: str
) -> None:
    from urllib.parse import quote

    inside = emulator.inside
    assert inside is not None
    bucket = f"generated-{inside.storage.database.next_id()}"
    emulator.make_bucket(bucket)
    names -= {".", ".."}
    for name in names:
        assert emulator.put(bucket, name, b"").status == 200
    wanted_names, wanted_prefixes = [], []
    for name in sorted(names, key=str.encode):
        if not name.startswith(prefix) or name.encode() < start.encode():
            continue
        at = name.find("/", len(prefix))
        if at < 0:
            wanted_names.append(name)
        elif name[: at + 1] not in wanted_prefixes:
            wanted_prefixes.append(name[: at + 1])

    found_names, found_prefixes, token = [], [], ""
    while True:
        query = f"delimiter=/&prefix={quote(prefix)}&startOffset={quote(start)}&maxResults={size}&pageToken={token}"
        page = _list(emulator, bucket, query)
        found_names += _names(page)
        found_prefixes += page.get("prefixes", [])
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert (found_names, found_prefixes) == (wanted_names, wanted_prefixes)


@settings(deadline=None)
@given(prefix=st.text(st.sampled_from("a/\ud7ff\ue000\U0010ffff"), min_size=1, max_size=4), name=_NAMES)
def test_what_comes_after_a_prefix_is_after_all_that_begin_with_it(prefix: str, name: str) -> None:
    after = successor(prefix)

    assert after is None or prefix.encode() < after.encode()
    assert after is None or (prefix + name).encode() < after.encode()
    if after is not None and name.encode() > prefix.encode() and not name.startswith(prefix):
        assert name.encode() >= after.encode()


def test_fields_choose_what_is_answered(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "a", b"123")

    assert _list(emulator, bucket, "fields=items(name,size)") == {"items": [{"name": "a", "size": "3"}]}
    assert _list(emulator, bucket, "fields=kind,items/name") == {"kind": "storage#objects", "items": [{"name": "a"}]}
    assert emulator.get(bucket, "a", fields="size").json() == {"size": "3"}
    answer = emulator.call("GET", f"/storage/v1/b/{bucket}/o?fields=items(name")
    assert (answer.status, answer.json()["error"]["errors"][0]["reason"]) == (400, "invalidParameter")


@pytest.mark.parametrize(
    ("mask", "kept"),
    [
        ("items/metadata/one,items/metadata/two", {"metadata": {"one": "1", "two": "2"}}),
        ("items(name,metadata/one),items/metadata(two)", {"name": "a", "metadata": {"one": "1", "two": "2"}}),
        ("items/metadata,items/metadata/one", {"metadata": {"one": "1", "two": "2", "three": "3"}}),
        ("items/metadata/one,items/metadata", {"metadata": {"one": "1", "two": "2", "three": "3"}}),
    ],
)
def test_fields_that_are_asked_for_one_by_one_are_all_answered(
    emulator: Running, bucket: str, mask: str, kept: dict[str, object]
) -> None:
    """As `gcloud storage rsync` asks for a file's times; it sent all again where only one of them came."""
    emulator.put(bucket, "a", b"")
    metadata = {"one": "1", "two": "2", "three": "3"}
    assert emulator.call("PATCH", f"/storage/v1/b/{bucket}/o/a", {"metadata": metadata}).status == 200

    assert _list(emulator, bucket, f"fields={mask}") == {"items": [kept]}


@pytest.mark.parametrize(
    "mask", ["bogus", "items/bogus", "items(name,bogus)", "items/name/bogus", "kind,items/acl/bogus"]
)
def test_a_field_that_google_does_not_know_cannot_be_chosen(emulator: Running, bucket: str, mask: str) -> None:
    answer = emulator.call("GET", f"/storage/v1/b/{bucket}/o?fields={mask}")
    assert answer.status == 400 and answer.json()["error"]["message"] == "Invalid field selection bogus", answer.body
    for known in ("*", "items/*", "items/metadata/any", "items(acl(entity),metadata)", "nextPageToken,prefixes"):
        assert emulator.call("GET", f"/storage/v1/b/{bucket}/o?fields={known}").status == 200


def test_an_entity_tag_is_looked_for_in_a_list_of_them(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "a", b"123")
    tag = emulator.get(bucket, "a").headers["etag"]
    path = f"/storage/v1/b/{bucket}/o/a"
    for header, status in ((tag, 304), (f'"x", "{tag}"', 304), ("*", 304), ('"x"', 200), ("", 200)):
        assert emulator.call("GET", path, headers={"If-None-Match": header}).status == status, header
    for header, status in ((f'"x", "{tag}"', 200), ("*", 200), ('"x"', 412)):
        assert emulator.call("GET", path, headers={"If-Match": header}).status == status, header


def test_a_list_of_a_bucket_that_is_not_there_is_404(emulator: Running) -> None:
    answer = emulator.call("GET", "/storage/v1/b/nowhere/o")

    assert answer.status == 404
    assert answer.json()["error"]["errors"][0]["reason"] == "notFound"


@pytest.mark.parametrize("path", ["/storage/v1/b/{}/o/head?alt=media", "/{}/head"], ids=["json", "xml"])
def test_an_object_that_is_replaced_while_it_is_read_is_not_missing(
    emulator: Running, bucket: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulator.fault("storage.buckets.patch", "error", status=503, times=1)  # not calm: each request has a thread
    emulator.put(bucket, "head", b"old")
    original = Contents.slice
    writers: list[threading.Thread] = []

    def replaced_meanwhile(self: Contents, *of: Any) -> Any:
        writers.append(threading.Thread(target=emulator.put, args=(bucket, "head", b"new")))
        writers[-1].start()
        writers[-1].join(0.5)  # whoever may write now has written
        return original(self, *of)

    monkeypatch.setattr(Contents, "slice", replaced_meanwhile)
    answer = emulator.call("GET", path.format(bucket))
    monkeypatch.undo()
    for writer in writers:
        writer.join()
    assert (answer.status, answer.body) == (200, b"old")
    assert emulator.call("GET", path.format(bucket)).body == b"new"
