"""Requests and answers are what Google's discovery documents say, and the documents are Google's newest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast_emulator.discovery.document import load, names
from outlast_emulator.discovery.types import Mismatch
from outlast_emulator.discovery.validate import BadAnswer, Checker
from outlast_emulator.request import Request
from outlast_emulator.response import answer
from outlast_emulator.switches import Switches
from outlast_emulator.testing import Running, running
from outlast_emulator.wire.bodies import MemoryBody
from tools import take_discovery


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Running]:
    """Fresh for each test: switches, accounts and bindings are its own."""
    with running(tmp_path / "emulator") as found:
        yield found


DOCUMENT_BYTES_MAX = 40_000


@pytest.mark.parametrize("name", take_discovery.SHIPPED)
def test_the_documents_have_not_drifted_from_googles(name: str) -> None:
    assert take_discovery.current(name) == take_discovery.take(name), "hint: `python tools/take_discovery.py`"
    assert take_discovery.taken_path(name).stat().st_size < DOCUMENT_BYTES_MAX


def test_all_that_is_shipped_is_taken_by_the_tool() -> None:
    assert names() == take_discovery.SHIPPED


@pytest.mark.parametrize("name", ["compute.v1", "batch.v1", "aiplatform.v1", "logging.v2"])
def test_other_apis_can_be_taken_and_have_no_prose(name: str) -> None:
    taken = take_discovery.take(name)
    assert len(taken["methods"]) > 10
    assert "description" not in {key for schema in taken["schemas"].values() for key in schema}
    assert all("description" not in method for method in taken["methods"].values())


def test_a_property_that_is_called_description_is_no_prose() -> None:
    assert "description" in take_discovery.take("compute.v1")["schemas"]["Instance"]["properties"]


@pytest.mark.parametrize(
    ("query", "reason", "words"),
    [
        ("zip=1", "invalid", 'Unknown name "zip"'),
        ("ifGenerationMatch=many", "invalidParameter", "Invalid long value: 'many'."),
        ("ifGenerationMatch=9223372036854775808", "invalidParameter", "Invalid long value"),
        ("projection=half", "invalidParameter", "Allowed values: [full, noAcl]"),
        ("softDeleted=perhaps", "invalidParameter", "Invalid boolean value"),
    ],
)
def test_a_wrong_parameter_is_refused(emulator: Running, query: str, reason: str, words: str) -> None:
    emulator.make_bucket("one")
    refused = emulator.call("GET", f"/storage/v1/b/one/o/x?{query}")
    assert refused.status == 400
    assert refused.json()["error"]["errors"][0]["reason"] == reason
    assert words in refused.json()["error"]["message"]


def test_a_parameter_that_is_missing_is_named(emulator: Running) -> None:
    refused = emulator.call("GET", "/storage/v1/b")
    assert refused.status == 400 and refused.json()["error"]["message"] == "Required parameter: project"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"zip": 1}, 'Unknown name "zip": Cannot find field.'),
        ({"labels": {"a": 1}}, "Invalid value at 'labels.a'"),
        (
            {"lifecycle": {"rule": [{"action": {"tipe": "Delete"}}]}},
            "Unknown name \"tipe\" at 'lifecycle.rule[0].action'",
        ),
        ({"softDeletePolicy": {"retentionDurationSeconds": "long"}}, "TYPE_INT64"),
        ({"versioning": [True]}, "a JSON object"),
        ({"location": 7}, "TYPE_STRING"),
    ],
)
def test_a_body_with_wrong_names_or_types_is_refused(emulator: Running, change: dict[str, Any], words: str) -> None:
    emulator.make_bucket("one")
    refused = emulator.call("PATCH", "/storage/v1/b/one", change)
    assert refused.status == 400 and words in refused.json()["error"]["message"], refused.body
    # `name` alone is always right: the same check lets it pass.
    assert emulator.call("PATCH", "/storage/v1/b/one", {"name": "one", "labels": None}).status == 200


def test_without_the_switch_unknown_names_are_ignored(emulator: Running) -> None:
    emulator.switch(validate=False)
    emulator.make_bucket("one", zip=1)
    assert emulator.call("GET", "/storage/v1/b/one/o?zip=1").status == 200
    assert "zip" not in emulator.call("GET", "/storage/v1/b/one").json()


def test_the_metadata_within_an_upload_is_checked_too(emulator: Running) -> None:
    emulator.make_bucket("one")
    body = b'--x\r\ncontent-type: application/json\r\n\r\n{"name": "a", "zip": 1}\r\n--x\r\n\r\nhello\r\n--x--\r\n'
    place = "/upload/storage/v1/b/one/o?uploadType=multipart"
    refused = emulator.call("POST", place, body, {"content-type": "multipart/related; boundary=x"})
    assert refused.status == 400 and "zip" in refused.json()["error"]["message"]


def test_what_is_not_implemented_answers_501_with_its_name(emulator: Running) -> None:
    assert emulator.inside is not None
    served = {route.method_id for route in emulator.inside.router.routes if route.operation.__name__ != "_refuse"}
    known = load("storage.v1").methods
    missing = sorted(set(known) - served)
    assert missing, "all of Cloud Storage is implemented: this test needs another document"
    for method_id in missing:
        path = known[method_id].paths[0].replace("{", "").replace("}", "")
        refused = emulator.call(known[method_id].verb, path, b"" if known[method_id].verb != "GET" else None)
        assert refused.status == 501 and method_id in refused.json()["error"]["message"], (method_id, refused.body)


def test_a_wrong_answer_of_our_own_is_found() -> None:
    checker = Checker(Switches())
    request = Request("GET", "/storage/v1/b/one", "", {}, MemoryBody(b""))
    request.method_id = "storage.buckets.get"
    assert checker.step(request, lambda _: answer({"kind": "storage#bucket", "metageneration": "1"})).status == 200
    for wrong in ({"metageneration": 1}, {"zip": "1"}, {"name": None}):
        with pytest.raises(BadAnswer):
            checker.step(request, lambda _, wrong=wrong: answer(wrong))  # type: ignore[misc]


def test_every_schema_of_every_document_compiles() -> None:
    for name in names():
        for method in load(name).methods.values():
            for check in (method.request, method.response):
                if check is not None:
                    check({}, "")
                    with pytest.raises(Mismatch):
                        check([], "")
