"""Rows of ended jobs in the user's cache, a line each, so that what is not shown need not be taken to pieces.

    outlast jobs 4 <crc32 of all that follows> <the home's url as JSON>
    <key in the index> TAB <state> TAB <submitted_at> TAB <job> TAB <the row as JSON>

Only a cache: missing, damaged or foreign, it is as if there were none. A final state never changes under its index key: a later launch
has a later key, and a deleted job has none.
"""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from outlast.spec.plain_file import read_plain

Row = dict[str, Any]

MAGIC = b"outlast jobs 4 "
BYTES_MAX = 512 << 20
"""A million jobs; a longer list is made anew each time."""


class Listed(NamedTuple):
    """One job of a list; its row is decoded when it is asked for."""

    submitted_at: float
    job: str
    state: str
    raw: bytes

    def row(self) -> Row:
        return json.loads(self.raw)  # type: ignore[no-any-return]


def listed(row: Row) -> Listed:
    return Listed(row["submitted_at"], row["job"], row["state"], encoded(row))


def encoded(row: Row) -> bytes:
    """As `--json` prints it: ASCII, and without what JSON has not."""
    from outlast.jobs.finite import finite

    try:
        return json.dumps(row, allow_nan=False).encode()
    except ValueError:
        return json.dumps(finite(row), allow_nan=False).encode()


class Remembered:
    def __init__(self, cache_dir: Path, home: str) -> None:
        self._home = home
        self._path = cache_dir / f"jobs-{zlib.crc32(os.fsencode(home)):08x}.rows"
        self._new = False
        self._seen: list[bytes] = []
        self._lines = self._read()

    def _read(self) -> dict[bytes, bytes]:
        try:
            data = read_plain(self._path, BYTES_MAX)
            head, _, body = data.partition(b"\n")
            crc, _, home = head.removeprefix(MAGIC).partition(b" ")
            if not head.startswith(MAGIC) or json.loads(home) != self._home or int(crc, 16) != zlib.crc32(body):
                return {}
        except (OSError, ValueError, RecursionError):
            return {}
        return {line[: line.find(b"\t")]: line for line in body.split(b"\n") if line}

    def get(self, key: str) -> Listed | None:
        line = self._lines.get(key.encode())
        if line is None:
            return None
        self._seen.append(line)
        _, state, submitted_at, job, raw = line.split(b"\t", 4)
        return Listed(float(submitted_at), job.decode(), state.decode(), raw)

    def add(self, key: str, one: Listed) -> None:
        fields = (key, one.state, repr(one.submitted_at), one.job)
        self._seen.append("\t".join(fields).encode() + b"\t" + one.raw)
        self._new = True

    def keep(self) -> None:
        """Written whole, and only when something is new or gone."""
        if not self._new and len(self._seen) == len(self._lines):
            return
        body = b"".join(line + b"\n" for line in self._seen)
        head = MAGIC + f"{zlib.crc32(body):08x} {json.dumps(self._home)}\n".encode()
        temporary = self._path.with_name(f".{self._path.name}-{os.getpid()}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(head + body)
            temporary.replace(self._path)
        except OSError:
            # Without a cache the next list is slower, nothing else.
            return
