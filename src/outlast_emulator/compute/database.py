"""The database of Compute Engine's model: one connection, one lock, no syncing (SIGKILL is survived, a power cut is not meant to be).

`with database.write():` is one transaction and, since there is one lock, also what makes a change of several resources
whole for everybody else. Nothing slow is done within it: machines are started and ended outside.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from outlast_emulator.storage.database import OtherFormat

_SCHEMA = """
CREATE TABLE IF NOT EXISTS resources (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, project TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL,
    document TEXT NOT NULL, state TEXT NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS resources_by_name ON resources (kind, project, scope, name);
CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, due_at REAL NOT NULL, name TEXT NOT NULL, arguments TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS requests (
    project TEXT NOT NULL, id TEXT NOT NULL, method TEXT NOT NULL, target TEXT NOT NULL,
    scope TEXT NOT NULL, operation TEXT NOT NULL, PRIMARY KEY (project, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS usage (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, resource INTEGER NOT NULL, name TEXT NOT NULL,
    zone TEXT NOT NULL, usd_per_hour REAL NOT NULL, began_at REAL NOT NULL, ended_at REAL);
CREATE INDEX IF NOT EXISTS usage_open ON usage (resource) WHERE ended_at IS NULL;
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

FORMAT = 1
"""Of the tables; it goes up when they change."""


class Database:
    """Both `write` and the readers may be used by any thread."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1)
        for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=OFF"):
            self._connection.execute(f"PRAGMA {pragma}")
        found = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            self._connection.close()
            raise OtherFormat(f"its format is {found}, and this version reads {FORMAT}")
        self._connection.executescript(_SCHEMA)
        self._connection.execute(f"PRAGMA user_version = {FORMAT}")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction; within another, a part of it."""
        with self._lock:
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def rows(self, question: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(question, values).fetchall()

    def row(self, question: str, values: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        with self._lock:
            found: tuple[Any, ...] | None = self._connection.execute(question, values).fetchone()
            return found

    def note(self, name: str) -> str:
        found = self.row("SELECT value FROM notes WHERE name = ?", (name,))
        return str(found[0]) if found else ""

    def keep_note(self, name: str, value: str) -> None:
        with self.write() as connection:
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def close(self) -> None:
        with self._lock:
            self._connection.close()
