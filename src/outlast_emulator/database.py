"""A model's database: one connection, one lock, no syncing (SIGKILL is survived, a power cut is not meant to be)."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

PRAGMAS = ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=OFF", "cache_size=-65536")
NOTES = "CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"


class OtherFormat(Exception):
    """The data was written by another version of the emulator."""


class Database:
    """`with database.write():` is one transaction; `database.rows` reads. Both may be used by any thread."""

    schema = ""
    format = 1
    """Of the tables; it goes up when they change."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._after: list[Callable[[], None]] = []
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1)
        for pragma in PRAGMAS:
            self._connection.execute(f"PRAGMA {pragma}")
        found = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, self.format):
            self._connection.close()
            raise OtherFormat(f"its format is {found}, and this version reads {self.format}")
        self._connection.executescript(self.schema + NOTES)
        self._connection.execute(f"PRAGMA user_version = {self.format}")

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

    def held(self) -> AbstractContextManager[object]:
        """For several reads of one moment: nobody writes meanwhile."""
        return self._lock

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
