"""Cloud Logging by plain requests: what was written is found, in order, page by page, and not too often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from outlast_emulator.switches import Switches
from outlast_emulator.testing import Running, running

LOG = "projects/emulated/logs/mine"
GLOBAL = {"type": "global"}


def write(emulator: Running, *entries: dict[str, Any], **shared: Any) -> None:
    body = {"logName": LOG, "resource": GLOBAL, **shared, "entries": list(entries)}
    answer = emulator.call("POST", "/v2/entries:write", body)
    assert answer.status == 200, answer.body


def page(emulator: Running, wanted: str = "", **more: Any) -> dict[str, Any]:
    body = {"resourceNames": ["projects/emulated"], "filter": wanted, **more}
    answer = emulator.call("POST", "/v2/entries:list", body)
    assert answer.status == 200, answer.body
    return dict(answer.json())


def texts(emulator: Running, wanted: str = "", **more: Any) -> list[str]:
    return [one.get("textPayload", "") for one in page(emulator, wanted, **more).get("entries", [])]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One emulator with four entries, a to d."""
    with running(tmp_path_factory.mktemp("emulator")) as emulator:
        emulator.switch(log_reads_per_minute=0)

        def job(number: str) -> dict[str, Any]:
            return {"type": "ml_job", "labels": {"job_id": number, "task_name": "workerpool0-0"}}

        write(
            emulator,
            {"textPayload": "a word", "severity": "INFO", "resource": job("1"), "timestamp": "2026-01-01T00:00:01Z"},
            {"textPayload": "b word", "severity": "ERROR", "resource": job("2"), "timestamp": "2026-01-01T00:00:01.5Z"},
            {
                "textPayload": "c",
                "severity": "WARNING",
                "labels": {"k8s.io/name": "x"},
                "timestamp": "2026-01-01T00:00:02Z",
            },
            {"jsonPayload": {"n": 3}, "timestamp": "2026-01-01T00:00:03Z"},
        )
        yield emulator


def test_entries_are_read_in_the_order_of_their_times_page_by_page(emulator: Running) -> None:
    write(emulator, *({"textPayload": str(n), "timestamp": f"2026-01-01T00:00:0{n}Z"} for n in (3, 1, 2, 0)))
    assert texts(emulator) == ["0", "1", "2", "3"]
    assert texts(emulator, orderBy="timestamp desc") == ["3", "2", "1", "0"]
    first = page(emulator, pageSize=3)
    assert [one["textPayload"] for one in first["entries"]] == ["0", "1", "2"]
    rest = page(emulator, pageSize=3, pageToken=first["nextPageToken"])
    assert [one["textPayload"] for one in rest["entries"]] == ["3"] and "nextPageToken" not in rest
    entry = first["entries"][0]
    assert entry["logName"] == LOG and entry["insertId"] and entry["receiveTimestamp"]
    other = {"resourceNames": ["projects/emulated"], "filter": "a:b", "pageToken": first["nextPageToken"]}
    assert emulator.call("POST", "/v2/entries:list", other).status == 400


def test_the_same_entry_is_kept_once(emulator: Running) -> None:
    for _ in range(2):
        write(emulator, {"textPayload": "one", "insertId": "i", "timestamp": "2026-01-01T00:00:00Z"})
    assert texts(emulator) == ["one"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ('resource.type="ml_job"', "ab"),
        ('resource.labels.job_id="1"', "a"),
        ('resource.type="ml_job" AND resource.labels.job_id="2"', "b"),
        ('resource.type="ml_job"\nresource.labels.job_id="2"', "b"),
        ("severity>=WARNING", "bc"),
        ("severity=INFO", "a"),
        ("severity<ERROR AND NOT severity=DEFAULT", "ac"),
        ('timestamp>"2026-01-01T00:00:01Z"', "bcd"),
        ('timestamp>="2026-01-01T01:00:01.500+01:00"', "bcd"),
        ('timestamp>"2026-01-01T00:00:01.4Z" timestamp<"2026-01-01T00:00:02.5Z"', "bc"),
        ('textPayload:"WORD"', "ab"),
        ('textPayload=~"^a w"', "a"),
        ('-textPayload:"word" AND severity>=WARNING', "c"),
        ('jsonPayload.n>2 OR severity="INFO"', "ad"),
        ("jsonPayload.n=3", "d"),
        ('labels."k8s.io/name"="x"', "c"),
        ('(severity=INFO OR severity=ERROR) AND textPayload:"a"', "a"),
        ('severity=("INFO" OR "ERROR")', "ab"),
        ("word", "ab"),
        (f'logName="{LOG}"', "abcd"),
        ("jsonPayload:*", "d"),
        ('severity=INFO AND resource.labels.job_id="2"', ""),
    ],
)
def test_filters_find_what_they_say(shared: Running, wanted: str, found: str) -> None:
    entries = page(shared, wanted).get("entries", [])
    assert "".join(one.get("textPayload", "d")[0] for one in entries) == found


@pytest.mark.parametrize(
    "wanted", ["severity>", "(a=b", "severity=LOUD", "a=b)", 'timestamp>"yesterday"', "AND", 'a=~"("']
)
def test_a_filter_that_cannot_be_read_is_refused(shared: Running, wanted: str) -> None:
    answer = shared.call("POST", "/v2/entries:list", {"resourceNames": ["projects/emulated"], "filter": wanted})
    assert answer.status == 400 and "Unparseable filter" in answer.json()["error"]["message"]


def test_what_is_no_entry_is_refused(emulator: Running) -> None:
    def status(entry: dict[str, Any], **shared: Any) -> int:
        body = {"logName": LOG, "resource": GLOBAL, **shared, "entries": [entry]}
        return emulator.call("POST", "/v2/entries:write", body).status

    assert status({"textPayload": "x"}) == 200
    assert status({"textPayload": "x"}, logName="projects/other/logs/x") == 400
    assert status({"textPayload": "x"}, resource={}) == 400
    assert status({"textPayload": "x", "jsonPayload": {}}) == 400
    assert status({"textPayload": "x" * 300_000}) == 400
    assert status({"text": "x"}) == 400
    assert emulator.call("POST", "/v2/entries:list", {"filter": ""}).status == 400
    assert emulator.call("POST", "/v2/entries:list", {"resourceNames": ["projects/other"]}).status == 403


def test_a_project_has_so_many_reads_a_minute_and_no_more(emulator: Running) -> None:
    assert Switches().log_reads_per_minute == 60
    emulator.switch(log_reads_per_minute=3)
    assert emulator.inside is not None
    emulator.inside.clock.scale = 1.0
    body = {"resourceNames": ["projects/emulated"]}
    answers = [emulator.call("POST", "/v2/entries:list", body) for _ in range(4)]
    assert [one.status for one in answers] == [200, 200, 200, 429]
    error = answers[-1].json()["error"]
    assert error["status"] == "RESOURCE_EXHAUSTED" and error["details"][0]["reason"] == "RATE_LIMIT_EXCEEDED"


def test_logs_are_listed_and_deleted_and_rights_are_asked_for(emulator: Running) -> None:
    write(emulator, {"textPayload": "x"}, logName="projects/424242424242/logs/a%2Fb")
    assert emulator.call("GET", "/v2/projects/emulated/logs").json() == {"logNames": ["projects/emulated/logs/a%2Fb"]}
    assert emulator.call("DELETE", "/v2/projects/emulated/logs/a%2Fb").status == 200
    assert emulator.call("GET", "/v2/projects/emulated/logs").json() == {}
    emulator.call("POST", "/_emulator/iam/users", {"email": "w@example.com", "roles": ["roles/logging.logWriter"]})
    token = emulator.call("POST", "/_emulator/iam/tokens", {"email": "w@example.com"}).json()["access_token"]
    headers = {"authorization": f"Bearer {token}"}
    body = {"logName": LOG, "resource": GLOBAL, "entries": [{"textPayload": "x"}]}
    assert emulator.call("POST", "/v2/entries:write", body, headers).status == 200
    refused = emulator.call("POST", "/v2/entries:list", {"resourceNames": ["projects/emulated"]}, headers)
    assert refused.status == 403 and "logging.logEntries.list" in refused.json()["error"]["message"]
