"""Preconditions, on every operation that takes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from outlast_emulator.testing import Answer, Running

MULTIPART = b'--x\r\ncontent-type: application/json\r\n\r\n{"name": "it"}\r\n--x\r\ncontent-type: text/plain\r\n\r\nnew\r\n--x--'


def _insert(emulator: Running, bucket: str, query: str) -> Answer:
    return emulator.call("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=it{query}", b"new")


def _multipart(emulator: Running, bucket: str, query: str) -> Answer:
    return emulator.call(
        "POST",
        f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart{query}",
        MULTIPART,
        {"content-type": "multipart/related; boundary=x"},
    )


def _resumable(emulator: Running, bucket: str, query: str) -> Answer:
    begun = emulator.call("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=resumable&name=it{query}", {})
    if begun.status != 200:
        return begun
    return emulator.call("PUT", begun.headers["location"].split(emulator.url)[1], b"new")


def _compose(emulator: Running, bucket: str, query: str) -> Answer:
    body = {"sourceObjects": [{"name": "source"}]}
    return emulator.call("POST", f"/storage/v1/b/{bucket}/o/it/compose?{query}", body)


def _copy(emulator: Running, bucket: str, query: str) -> Answer:
    return emulator.call("POST", f"/storage/v1/b/{bucket}/o/source/copyTo/b/{bucket}/o/it?{query}", {})


def _rewrite(emulator: Running, bucket: str, query: str) -> Answer:
    return emulator.call("POST", f"/storage/v1/b/{bucket}/o/source/rewriteTo/b/{bucket}/o/it?{query}", {})


def _move(emulator: Running, bucket: str, query: str) -> Answer:
    return emulator.call("POST", f"/storage/v1/b/{bucket}/o/source/moveTo/o/it?{query}", {})


def _get(emulator: Running, bucket: str, query: str) -> Answer:
    return emulator.call("GET", f"/storage/v1/b/{bucket}/o/it?{query}")


def _media(emulator: Running, bucket: str, query: str) -> Answer:
    return emulator.call("GET", f"/storage/v1/b/{bucket}/o/it?alt=media{query}")


def _patch(emulator: Running, bucket: str, query: str) -> Answer:
    return emulator.call("PATCH", f"/storage/v1/b/{bucket}/o/it?{query}", {"contentType": "text/plain"})


def _update(emulator: Running, bucket: str, query: str) -> Answer:
    return emulator.call("PUT", f"/storage/v1/b/{bucket}/o/it?{query}", {"contentType": "text/plain"})


def _delete(emulator: Running, bucket: str, query: str) -> Answer:
    return emulator.call("DELETE", f"/storage/v1/b/{bucket}/o/it?{query}")


Operation = Callable[[Running, str, str], Answer]

CREATING: dict[str, Operation] = {
    "insert media": _insert,
    "insert multipart": _multipart,
    "insert resumable": _resumable,
    "compose": _compose,
    "copy": _copy,
    "rewrite": _rewrite,
    "move": _move,
}
READING: dict[str, Operation] = {"get": _get, "get media": _media}
CHANGING: dict[str, Operation] = {"patch": _patch, "update": _update, "delete": _delete}
OPERATIONS = CREATING | READING | CHANGING

EXPECTED: dict[tuple[str, str, bool], tuple[int, ...]] = {
    # kind, what is sent as ifGenerationMatch, is the object there -> the status
    ("creating", "absent", True): (200,),
    ("creating", "absent", False): (200,),
    ("creating", "0", True): (412,),
    ("creating", "0", False): (200,),
    ("creating", "right", True): (200,),
    ("creating", "right", False): (412,),
    ("creating", "wrong", True): (412,),
    ("creating", "wrong", False): (412,),
    ("reading", "absent", True): (200,),
    ("reading", "absent", False): (404,),
    ("reading", "0", True): (412,),
    ("reading", "0", False): (404,),
    ("reading", "right", True): (200,),
    ("reading", "right", False): (404,),
    ("reading", "wrong", True): (412,),
    ("reading", "wrong", False): (404,),
    ("changing", "absent", True): (200, 204),
    ("changing", "absent", False): (404,),
    ("changing", "0", True): (412,),
    ("changing", "0", False): (404,),
    ("changing", "right", True): (200, 204),
    ("changing", "right", False): (404,),
    ("changing", "wrong", True): (412,),
    ("changing", "wrong", False): (404,),
}


def _kind(name: str) -> str:
    return "creating" if name in CREATING else "reading" if name in READING else "changing"


def _prepared(emulator: Running, bucket: str, there: bool) -> dict[str, Any] | None:
    assert emulator.put(bucket, "source", b"source").status == 200
    if not there:
        return None
    found = emulator.put(bucket, "it", b"old").json()
    assert isinstance(found, dict)
    return found


def _state(emulator: Running, bucket: str) -> dict[str, Any] | None:
    answer = emulator.get(bucket, "it")
    return answer.json() if answer.status == 200 else None


@pytest.mark.parametrize("there", [True, False], ids=["there", "not there"])
@pytest.mark.parametrize("sent", ["absent", "0", "right", "wrong"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_generation_condition_decides_and_a_refusal_changes_nothing(
    emulator: Running, bucket: str, name: str, sent: str, there: bool
) -> None:
    old = _prepared(emulator, bucket, there)
    generation = int(old["generation"]) if old else 1234
    query = {"absent": "", "0": "&ifGenerationMatch=0", "right": f"&ifGenerationMatch={generation}",
             "wrong": f"&ifGenerationMatch={generation + 1}"}[sent]  # fmt: skip

    answer = OPERATIONS[name](emulator, bucket, query)

    assert answer.status in EXPECTED[_kind(name), sent, there], answer.body
    after = _state(emulator, bucket)
    if answer.status >= 400:
        assert after == old
        if answer.status == 412:
            if name == "get media":
                assert answer.body.startswith(b"At least one of the pre-conditions")
            else:
                assert answer.json()["error"]["errors"][0]["reason"] == "conditionNotMet"
    elif name == "delete":
        assert after is None
    elif _kind(name) == "creating":
        assert after is not None
        assert int(after["generation"]) > generation if there else int(after["generation"]) > 0
        assert after["metageneration"] == "1"
    elif _kind(name) == "changing":
        assert after is not None and old is not None
        assert (after["generation"], after["metageneration"]) == (old["generation"], "2")


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_a_metageneration_condition_decides(emulator: Running, bucket: str, name: str, right: bool) -> None:
    _prepared(emulator, bucket, True)
    changed = _patch(emulator, bucket, "&projection=noAcl").json()
    assert changed["metageneration"] == "2"

    answer = OPERATIONS[name](emulator, bucket, f"&ifMetagenerationMatch={2 if right else 1}")

    assert answer.status in ((200, 204) if right else (412,))
    if not right:
        assert _state(emulator, bucket) == changed


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "compose"])  # compose has no such condition
@pytest.mark.parametrize("same", [True, False], ids=["same", "other"])
@pytest.mark.parametrize("meta", [False, True], ids=["generation", "metageneration"])
def test_a_not_match_condition_refuses_what_is_known(
    emulator: Running, bucket: str, name: str, same: bool, meta: bool
) -> None:
    old = _prepared(emulator, bucket, True)
    assert old is not None
    number = int(old["metageneration" if meta else "generation"])
    word = "ifMetagenerationNotMatch" if meta else "ifGenerationNotMatch"

    answer = OPERATIONS[name](emulator, bucket, f"&{word}={number if same else number + 1}")

    if not same:
        assert answer.status in (200, 204)
    else:
        assert answer.status == (304 if _kind(name) == "reading" else 412)
        assert answer.status != 304 or answer.body == b""
        assert _state(emulator, bucket) == old


@pytest.mark.parametrize("name", ["copy", "rewrite", "move"])
@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_a_condition_on_the_source_decides(emulator: Running, bucket: str, name: str, right: bool) -> None:
    generation = int(emulator.put(bucket, "source", b"source").json()["generation"])

    answer = OPERATIONS[name](emulator, bucket, f"&ifSourceGenerationMatch={generation + (not right)}")

    assert answer.status == (200 if right else 412)
    assert (_state(emulator, bucket) is not None) == right


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_compose_checks_the_generation_of_each_source(emulator: Running, bucket: str, right: bool) -> None:
    generation = int(emulator.put(bucket, "source", b"source").json()["generation"])
    wanted = {"ifGenerationMatch": str(generation if right else generation + 1)}
    body = {"sourceObjects": [{"name": "source", "objectPreconditions": wanted}]}

    answer = emulator.call("POST", f"/storage/v1/b/{bucket}/o/it/compose", body)

    assert answer.status == (200 if right else 412)


@pytest.mark.parametrize("name", ["get", "patch", "delete"])
def test_the_switch_for_what_is_not_there_answers_412(emulator: Running, bucket: str, name: str) -> None:
    emulator.switch(absent_condition_412=True)
    try:
        assert OPERATIONS[name](emulator, bucket, "&ifGenerationMatch=77").status == 412
        assert OPERATIONS[name](emulator, bucket, "").status == 404
    finally:
        emulator.switch(absent_condition_412=False)


def test_a_condition_that_is_no_number_is_refused_as_google_refuses_it(emulator: Running, bucket: str) -> None:
    answer = _insert(emulator, bucket, "&ifGenerationMatch=x")

    assert answer.status == 400
    assert json.loads(answer.body)["error"]["code"] == 400


def test_a_resumable_upload_whose_condition_ceased_to_hold_is_refused_at_its_end(
    emulator: Running, bucket: str
) -> None:
    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=resumable&name=it&ifGenerationMatch=0"
    begun = emulator.call("POST", path, {})
    other = emulator.put(bucket, "it", b"other").json()

    ended = emulator.call("PUT", begun.headers["location"].split(emulator.url)[1], b"late")

    assert ended.status == 412
    assert emulator.get(bucket, "it").json()["generation"] == other["generation"]


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
@pytest.mark.parametrize("verb", ["GET", "PATCH", "PUT", "DELETE"])
def test_buckets_have_metageneration_conditions(emulator: Running, bucket: str, verb: str, right: bool) -> None:
    body = {"labels": {"a": "b"}} if verb in ("PATCH", "PUT") else None

    answer = emulator.call(verb, f"/storage/v1/b/{bucket}?ifMetagenerationMatch={1 if right else 7}", body)

    assert answer.status in ((200, 204) if right else (412,))
