"""The database of Cloud Storage's model: one connection, one lock, no syncing (SIGKILL is survived, a power cut is not meant to be)."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from outlast_emulator.clock import Clock

_COLUMNS = """
    bucket TEXT NOT NULL, name TEXT NOT NULL, generation INTEGER NOT NULL, metageneration INTEGER NOT NULL,
    size INTEGER NOT NULL, md5 BLOB NOT NULL, crc32c INTEGER NOT NULL, components INTEGER NOT NULL,
    created_us INTEGER NOT NULL, updated_us INTEGER NOT NULL, content INTEGER NOT NULL, inline INTEGER NOT NULL,
    fields TEXT NOT NULL"""

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS buckets (
    name TEXT PRIMARY KEY, project TEXT NOT NULL, metageneration INTEGER NOT NULL,
    created_us INTEGER NOT NULL, updated_us INTEGER NOT NULL, fields TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects ({_COLUMNS}, PRIMARY KEY (bucket, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS departed ({_COLUMNS}, departed_us INTEGER NOT NULL, purge_us INTEGER NOT NULL,
    PRIMARY KEY (bucket, name, generation)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS contents (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS uploads (
    id TEXT PRIMARY KEY, bucket TEXT NOT NULL, content INTEGER NOT NULL, expires_us INTEGER NOT NULL,
    done INTEGER NOT NULL, fields TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


FORMAT = 1
"""Of the tables; it goes up when they change."""


class OtherFormat(Exception):
    """The data was written by another version of the emulator."""


class Database:
    """`with database.write():` is one transaction; `database.rows` reads. Both may be used by any thread."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1)
        for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=OFF", "cache_size=-65536"):
            self._connection.execute(f"PRAGMA {pragma}")
        found = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            self._connection.close()
            raise OtherFormat(f"its format is {found}, and this version reads {FORMAT}")
        self._connection.executescript(_SCHEMA)
        self._connection.execute(f"PRAGMA user_version = {FORMAT}")
        self._last_id = self._highest_id()
        self._after: list[Callable[[], None]] = []

    def next_id(self) -> int:
        """Microseconds since 1970, and never the same twice: generations, and names of contents."""
        with self._lock:
            self._last_id = max(self._last_id + 1, int(self._clock.now() * 1_000_000))
            return self._last_id

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
                self._after.clear()
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
            if self._after:
                due, self._after = self._after, []
                for call in due:
                    call()

    def after_commit(self, call: Callable[[], None]) -> None:
        """For what must not happen before the transaction has: a file is removed when no row names it any more."""
        self._after.append(call)

    def rows(self, question: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(question, values).fetchall()

    def row(self, question: str, values: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        with self._lock:
            found: tuple[Any, ...] | None = self._connection.execute(question, values).fetchone()
            return found

    def content(self, content_id: int) -> bytes:
        found = self.row("SELECT data FROM contents WHERE id = ?", (content_id,))
        if found is None:
            raise KeyError(content_id)
        data: bytes = found[0]
        return data

    def note(self, name: str) -> str:
        found = self.row("SELECT value FROM notes WHERE name = ?", (name,))
        return str(found[0]) if found else ""

    def keep_note(self, name: str, value: str) -> None:
        with self.write() as connection:
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _highest_id(self) -> int:
        tables = (("objects", "generation"), ("departed", "generation"), ("contents", "id"), ("buckets", "created_us"))
        found = (self.row(f"SELECT max({column}) FROM {table}") for table, column in tables)  # noqa: S608
        return max((int(row[0]) for row in found if row and row[0] is not None), default=0)
