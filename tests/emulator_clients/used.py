"""Which methods each foreign client has used, noted while its tests run and kept in used.json, which the docs are made from.

`OUTLAST_TEST_NOTE_USED=1 pytest tests/emulator_clients` writes it again.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest

from outlast_emulator.testing import Running

PATH = Path(__file__).with_name("used.json")
WRITING = os.environ.get("OUTLAST_TEST_NOTE_USED") == "1"
HINT = "hint: `OUTLAST_TEST_NOTE_USED=1 .venv/bin/pytest tests/emulator_clients`, then `make docs`"

REMEMBERED_MAX = 10_000
"""Of requests, by the emulator: those of the tests themselves too."""


def requests(emulator: Running) -> list[dict[str, Any]]:
    """All but what the tests themselves ask: every client says who it is, and `Running.call` says nothing."""
    found: list[dict[str, Any]] = emulator.call("GET", "/_emulator/requests").json()["requests"]
    assert len(found) < REMEMBERED_MAX, "more calls than the emulator remembers"
    return [call for call in found if call["headers"].get("user-agent")]


def seen_so_far(emulator: Running) -> int:
    """How many calls there were; the emulator remembers the last ten thousand, more than any of these tests makes."""
    return len(requests(emulator))


def compare(emulator: Running, before: int, client: str, test: str, pinned: bool) -> None:
    """The calls since `before`. No bug (500), nothing unknown (501); and the methods are those that used.json says.

    What is written of a test must have been called in it; what was called must be written of the client.
    """
    fresh = requests(emulator)[before:]
    bad = [
        f"{call['verb']} {call['path']}?{call['query']} -> {call['status']}"
        for call in fresh
        if call["status"] in (500, 501)
    ]
    assert not bad, f"{client} was answered by errors of the emulator: {bad}"
    methods = {call["method"] for call in fresh if call["status"] < 400}
    if WRITING:
        note(client, test, methods)
        return
    written = read().get(client, {})
    lacking = set(written.get(test, [])) - methods
    unwritten = methods.difference(*written.values())
    if lacking or (pinned and unwritten):
        pytest.fail(f"{client} in `{test}`: not called {sorted(lacking)}, not written {sorted(unwritten)}\n{HINT}")


def read() -> dict[str, dict[str, list[str]]]:
    """Client -> test -> methods."""
    found: dict[str, dict[str, list[str]]] = json.loads(PATH.read_text()) if PATH.exists() else {}
    return found


def note(client: str, test: str, methods: set[str]) -> None:
    with open(PATH.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = read()
        known.setdefault(client, {})[test] = sorted(methods)
        PATH.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    PATH.with_suffix(".lock").unlink(missing_ok=True)


def by_method() -> dict[str, list[str]]:
    """Method -> the clients that have used it, for the table in the docs."""
    found: dict[str, set[str]] = {}
    for client, tests in read().items():
        for methods in tests.values():
            for method in methods:
                found.setdefault(method, set()).add(client)
    return {method: sorted(clients) for method, clients in sorted(found.items())}
