"""The tables of Cloud Storage's model, and the numbers that it gives."""

from __future__ import annotations

from pathlib import Path

from outlast_emulator import database
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
"""


class Database(database.Database):
    schema = _SCHEMA

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(path)
        self._clock = clock
        self._last_id = self._highest_id()

    def next_id(self) -> int:
        """Microseconds since 1970, and never the same twice: generations, and names of contents."""
        with self._lock:
            self._last_id = max(self._last_id + 1, int(self._clock.now() * 1_000_000))
            return self._last_id

    def content(self, content_id: int) -> bytes:
        found = self.row("SELECT data FROM contents WHERE id = ?", (content_id,))
        if found is None:
            raise KeyError(content_id)
        data: bytes = found[0]
        return data

    def _highest_id(self) -> int:
        tables = (("objects", "generation"), ("departed", "generation"), ("contents", "id"), ("buckets", "created_us"))
        found = (self.row(f"SELECT max({column}) FROM {table}") for table, column in tables)  # noqa: S608
        return max((int(row[0]) for row in found if row and row[0] is not None), default=0)
