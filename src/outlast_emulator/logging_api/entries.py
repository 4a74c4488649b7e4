"""Log entries in a database: written once each, read in the order of their times, page by page."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from outlast_emulator import database
from outlast_emulator.clock import Clock, rfc3339
from outlast_emulator.filters import Test, moment

KEPT_MAX = 500_000
"""Entries; of more, the oldest are forgotten."""
LOOK_ROWS = 500
"""Read at a time, until a page is full."""


class Database(database.Database):
    schema = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, log TEXT NOT NULL, insert_id TEXT NOT NULL, job TEXT NOT NULL,
    document TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS entries_by_time ON entries (at, id);
CREATE INDEX IF NOT EXISTS entries_by_job ON entries (job, at, id);
CREATE UNIQUE INDEX IF NOT EXISTS entries_once ON entries (log, at, insert_id);
"""


class Entries:
    """Thread-safe. An entry of the same log, time and insert id as another is that one."""

    def __init__(self, root: Path, clock: Clock) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.database = Database(root / "entries.db")
        self._clock = clock
        self._written = 0

    def write(self, entries: Iterable[dict[str, Any]]) -> None:
        """Each with `logName`, `resource` and a payload; what else is needed is added."""
        with self.database.write() as connection:
            for entry in entries:
                now = rfc3339(int(self._clock.now() * 1e6))
                kept = {**entry, "receiveTimestamp": now}
                kept.setdefault("timestamp", now)
                kept.setdefault("insertId", secrets.token_hex(8))
                at = int((moment(str(kept["timestamp"])) or 0.0) * 1e6)
                job = str(kept.get("resource", {}).get("labels", {}).get("job_id", ""))
                connection.execute(
                    "INSERT OR IGNORE INTO entries (at, log, insert_id, job, document) VALUES (?, ?, ?, ?, ?)",
                    (at, kept["logName"], kept["insertId"], job, json.dumps(kept)),
                )
                self._written += 1
            if self._written % 1000 == 0:
                connection.execute("DELETE FROM entries WHERE id <= (SELECT max(id) FROM entries) - ?", (KEPT_MAX,))

    def page(
        self, test: Test, size: int, after: tuple[int, int] | None, *, newest_first: bool, job: str = ""
    ) -> tuple[list[dict[str, Any]], tuple[int, int] | None]:
        """At most `size` that pass, and where the next page begins; None: there is none. `job`: of no other."""
        found: list[dict[str, Any]] = []
        last = after
        sign, way = ("<", "DESC") if newest_first else (">", "ASC")
        at, number = after if after is not None else ((1 << 62, 1 << 62) if newest_first else (-1, -1))
        of_job = "job = ? AND" if job else "? = '' AND"
        question = (
            f"SELECT at, id, document FROM entries WHERE {of_job} (at, id) {sign} (?, ?) "  # noqa: S608  words of ours
            f"ORDER BY at {way}, id {way} LIMIT {LOOK_ROWS}"
        )
        while True:
            rows = self.database.rows(question, (job, at, number))
            for at, number, text in rows:
                entry = json.loads(text)
                if not test(entry):
                    continue
                if len(found) == size:
                    return found, last
                found.append(entry)
                last = (at, number)
            if len(rows) < LOOK_ROWS:
                return found, None

    def logs(self) -> list[str]:
        return [row[0] for row in self.database.rows("SELECT DISTINCT log FROM entries ORDER BY log")]

    def delete_log(self, log: str) -> bool:
        with self.database.write() as connection:
            return connection.execute("DELETE FROM entries WHERE log=?", (log,)).rowcount > 0

    def close(self) -> None:
        self.database.close()
