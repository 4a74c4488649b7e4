"""Every request that outlast has sent to any emulator of this test process, and which of them Google does not document.

Emulators validate each request against the discovery documents and refuse, as Google does, what these do not know. They write
down what they were asked (`OUTLAST_EMULATOR_RECORD`), whoever started them; at the end all of it is looked through.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORD = "OUTLAST_EMULATOR_RECORD"
USER_AGENT = "outlast"
UNKNOWN = (405, 501)

REFUSED_ON_PURPOSE = "refused-on-purpose"
"""In the name of an object whose contents a test has damaged: that it is refused is what the test wants."""


def begin(path: Path) -> None:
    os.environ[RECORD] = str(path)


def sent() -> Iterator[dict[str, Any]]:
    """What outlast sent; what tests and foreign clients sent is theirs."""
    path = os.environ.get(RECORD, "")
    if not path or not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if entry["headers"].get("user-agent") == USER_AGENT:
                yield entry


def unknown_to_google() -> list[str]:
    return [
        f"{one['verb']} {one['path']}?{one['query']}: {one['status']} {one['reason']}"
        for one in sent()
        if (one["undocumented"] or one["status"] in UNKNOWN or one["method"].startswith("xml."))
        and REFUSED_ON_PURPOSE not in one["path"] + one["query"]
    ]
