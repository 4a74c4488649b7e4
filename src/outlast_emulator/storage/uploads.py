"""Resumable uploads: sessions that outlast connections, clients and the emulator itself.

A session keeps whole blocks of what it received (`switches.upload_persists_multiple`); the rest of a request that broke off
is forgotten, as Google may. What is kept is the length of its file, so that a killed emulator knows it too.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from typing import Any, NamedTuple

from outlast_emulator.clock import Clock
from outlast_emulator.errors import ApiError, invalid
from outlast_emulator.request import Incoming
from outlast_emulator.storage.checks import Claims
from outlast_emulator.storage.conditions import Conditions
from outlast_emulator.storage.contents import Content, Contents
from outlast_emulator.storage.database import Database
from outlast_emulator.storage.hashing import Hasher
from outlast_emulator.switches import Switches

PIECE_BYTES = 1 << 20


class Plan(NamedTuple):
    """What an upload becomes when all of it is there."""

    bucket: str
    name: str
    fields: dict[str, Any]
    conditions: Conditions
    claims: Claims
    total: int | None
    """Announced when the session began, or by the first request that said it: from then on it is that."""


class Session:
    """One upload. `lock` is held while a request writes to it."""

    def __init__(self, session_id: str, plan: Plan, content_id: int, path: str, expires_us: int) -> None:
        self.id = session_id
        self.plan = plan
        self.content_id = content_id
        self.expires_us = expires_us
        self.lock = threading.Lock()
        self.generation = 0
        """Of the object that it became; 0: not yet."""
        self._path = path
        self._hasher: Hasher | None = None
        self.size = os.path.getsize(path) if os.path.exists(path) else 0

    def append(self, body: Incoming, skip: int, multiple: int, *, last: bool) -> int:
        """Adds what arrives, but for the first `skip` bytes; keeps whole blocks, and everything if `last`. Bytes received."""
        hasher = self._hashed()
        received, tail = 0, b""
        with open(self._path, "r+b", buffering=0) as file:
            file.truncate(self.size)
            file.seek(self.size)
            while piece := body.read(PIECE_BYTES):
                received += len(piece)
                if skip:
                    dropped = min(skip, len(piece))
                    skip -= dropped
                    piece = piece[dropped:]
                tail += piece
                whole = len(tail) - len(tail) % multiple
                if whole:
                    self._keep(file.fileno(), hasher, tail[:whole])
                    tail = tail[whole:]
            if last and tail:
                self._keep(file.fileno(), hasher, tail)
        return received

    def finished(self) -> Content:
        md5, crc = self._hashed().finish()
        return Content(self.content_id, self.size, md5, crc, None)

    def forget_from(self, size: int) -> None:
        """Keeps the first `size` bytes only: Google may answer that it has less than it took."""
        if size < self.size:
            os.truncate(self._path, size)
            self.size = size
            self._hasher = None

    def _keep(self, file: int, hasher: Hasher, data: bytes) -> None:
        hasher.put(data)
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        self.size += len(data)

    def _hashed(self) -> Hasher:
        """The hash of what is kept; after a restart it is made anew from the file."""
        if self._hasher is None:
            self._hasher = Hasher()
            with open(self._path, "ab"):
                pass
            with open(self._path, "rb") as file:
                left = self.size
                while left and (piece := file.read(min(PIECE_BYTES, left))):
                    self._hasher.put(piece)
                    left -= len(piece)
        return self._hasher


class Uploads:
    def __init__(self, database: Database, contents: Contents, clock: Clock, switches: Switches) -> None:
        self._database = database
        self._contents = contents
        self._clock = clock
        self._switches = switches
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        for row in database.rows("SELECT id, content, expires_us, done, fields FROM uploads"):
            session = Session(row[0], _plan(row[4]), row[1], contents.path(row[1]), row[2])
            session.generation = row[3]
            self._sessions[session.id] = session

    def begin(self, plan: Plan) -> Session:
        content_id = self._database.next_id()
        life_us = int(self._clock.scaled(self._switches.upload_expiry_seconds) * 1e6)
        expires_us = int(self._clock.now() * 1e6) + life_us
        session = Session(secrets.token_urlsafe(48), plan, content_id, self._contents.path(content_id), expires_us)
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO uploads VALUES (?, ?, ?, ?, 0, ?)",
                (session.id, plan.bucket, content_id, expires_us, json.dumps(plan)),
            )
        with self._lock:
            self._sessions[session.id] = session
        return session

    def find(self, session_id: str) -> Session:
        """404 if there is none; 410 if its time is over."""
        with self._lock:
            session = self._sessions.get(session_id)
        if session is None:
            raise ApiError(404, "notFound", "Upload not found. The upload id is unknown.")
        if session.expires_us <= self._clock.now() * 1e6:
            if not session.generation:
                self.cancel(session)
            raise ApiError(410, "uploadExpired", "The upload session has expired.")
        return session

    def announce(self, session: Session, total: int, *, keep: bool) -> None:
        """`keep`: more requests are to come, perhaps to another life of the emulator."""
        session.plan = session.plan._replace(total=total)
        if keep:
            with self._database.write() as connection:
                connection.execute("UPDATE uploads SET fields = ? WHERE id = ?", (json.dumps(session.plan), session.id))

    def complete(self, session: Session, generation: int) -> None:
        """Its content belongs to the object now; the session still answers how it ended."""
        with self._database.write() as connection:
            connection.execute("UPDATE uploads SET done = ? WHERE id = ?", (generation, session.id))
        session.generation = generation

    def cancel(self, session: Session) -> None:
        with self._database.write() as connection:
            connection.execute("DELETE FROM uploads WHERE id = ?", (session.id,))
        with self._lock:
            self._sessions.pop(session.id, None)
        self._contents.drop(session.content_id, False)

    def restart(self, session: Session) -> Content:
        """A content for what was received, that the object may own or drop without harm to the session."""
        return self._contents.linked(session.finished(), False)


def _plan(text: str) -> Plan:
    bucket, name, fields, conditions, claims, total = json.loads(text)
    return Plan(bucket, name, fields, Conditions(*conditions), Claims(*claims), total)


class ContentRange(NamedTuple):
    start: int | None
    """None: `bytes */N`, a question."""
    end: int | None
    """The last byte's number plus one; None: not said."""
    total: int | None


def content_range(header: str) -> ContentRange | None:
    """`bytes 0-9/10`, `bytes 0-9/*`, `bytes */10`, `bytes */*`; None: no header, so the body is all there is."""
    if not header:
        return None
    unit, _, rest = header.partition(" ")
    span, slash, total_text = rest.strip().partition("/")
    first, _, last = span.partition("-")
    words = [word for word in (first, last, total_text) if word not in ("*", "")]
    if unit.lower() != "bytes" or not slash or not all(word.isascii() and word.isdigit() for word in words):
        raise invalid(f"Failed to parse Content-Range header: {header}")
    total = None if total_text == "*" else int(total_text)
    if span == "*":
        return ContentRange(None, None, total)
    if not first.isdigit():
        raise invalid(f"Failed to parse Content-Range header: {header}")
    end = None if last in ("*", "") else int(last) + 1
    if end is not None and (end < int(first) or (total is not None and end > total)):
        raise invalid(f"Failed to parse Content-Range header: {header}")
    return ContentRange(int(first), end, total)
