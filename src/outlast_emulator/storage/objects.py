"""Objects: the rows of a bucket, with generations, metagenerations and preconditions.

Every write is one transaction: what is checked there still holds when it is written. Contents that lost their owner are
dropped after it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from outlast_emulator.clock import Clock
from outlast_emulator.errors import ApiError, invalid, not_found
from outlast_emulator.response import FileSlice
from outlast_emulator.storage.buckets import Buckets
from outlast_emulator.storage.conditions import NONE, Conditions
from outlast_emulator.storage.contents import Content, Contents
from outlast_emulator.storage.database import Database
from outlast_emulator.storage.guards import WriteLimit, check_free
from outlast_emulator.storage.stored import COLUMNS, Departed, Stored, fields_text
from outlast_emulator.storage.usage import Usage
from outlast_emulator.switches import Switches

NAME_BYTES_MAX = 1024

_MARKS = ", ".join("?" * len(Stored._fields))


class Objects:
    def __init__(
        self,
        database: Database,
        contents: Contents,
        buckets: Buckets,
        usage: Usage,
        clock: Clock,
        switches: Switches,
    ) -> None:
        self._database = database
        self._contents = contents
        self._buckets = buckets
        self._usage = usage
        self._clock = clock
        self._switches = switches
        self._limit = WriteLimit(clock, switches)

    # ---------------------------------------------------------------------------------------------------------- reading

    def get(self, bucket: str, name: str, conditions: Conditions = NONE, generation: int | None = None) -> Stored:
        """404 if it is not there, or not in this generation; 304 or 412 if a precondition does not hold."""
        self._buckets.find(bucket)
        stored = self._find(bucket, name)
        if stored is None or generation not in (None, stored.generation):
            self._absent(bucket, name, conditions)
        assert stored is not None
        conditions.check(stored.generation, stored.metageneration, reading=True)
        return stored

    def held(self) -> AbstractContextManager[object]:
        """So long nobody replaces an object: what was found can be opened."""
        return self._database.held()

    def peek(self, bucket: str, name: str) -> Stored | None:
        """The object, if it is there, without conditions."""
        return self._find(bucket, name)

    def open(self, stored: Stored, start: int = 0, length: int | None = None) -> bytes | FileSlice:
        """A part of its bytes, for an answer's body; 404 if it was replaced since it was found (see `held`)."""
        end = stored.size if length is None else min(stored.size, start + length)
        try:
            return self._contents.slice(stored.content, bool(stored.inline), start, max(0, end - start))
        except (FileNotFoundError, KeyError) as error:
            raise no_such_object(stored.bucket, stored.name) from error

    # ---------------------------------------------------------------------------------------------------------- writing

    def put(
        self,
        bucket: str,
        name: str,
        content: Content,
        fields: dict[str, Any],
        conditions: Conditions = NONE,
        components: int = 0,
        replacing: Callable[[], None] | None = None,
    ) -> Stored:
        """The object's next generation. On a refusal nothing is changed and the content is dropped.

        `replacing` is asked before a live object is replaced, and may refuse that.
        """
        try:
            check_object_name(name)
            with self._database.write() as connection:
                self._buckets.find(bucket)
                old = self._find(bucket, name)
                if old is not None and replacing is not None:
                    replacing()
                self._check(old, conditions)
                self._check_free(old)
                self._limit.count(bucket, name)
                return self._place(connection, bucket, name, content, fields, old, components)
        except BaseException:
            self._contents.drop(content.id, content.data is not None)
            raise

    def change(
        self,
        bucket: str,
        name: str,
        changed: Callable[[dict[str, Any]], dict[str, Any]],
        conditions: Conditions = NONE,
        generation: int | None = None,
    ) -> Stored:
        """The same generation with other fields and the next metageneration."""
        with self._database.write() as connection:
            old = self._existing(bucket, name, conditions, generation)
            self._limit.count(bucket, name)
            stored = old._replace(
                metageneration=old.metageneration + 1,
                updated_us=self._database.next_id(),
                fields_text=fields_text(changed(old.fields)),
            )
            connection.execute(
                "UPDATE objects SET metageneration = ?, updated_us = ?, fields = ? WHERE bucket = ? AND name = ?",
                (stored.metageneration, stored.updated_us, stored.fields_text, bucket, name),
            )
            return stored

    def delete(self, bucket: str, name: str, conditions: Conditions = NONE, generation: int | None = None) -> None:
        with self._database.write() as connection:
            old = self._existing(bucket, name, conditions, generation)
            self._check_free(old)
            connection.execute("DELETE FROM objects WHERE bucket = ? AND name = ?", (bucket, name))
            self._retire(connection, old)

    def move(
        self, bucket: str, source: str, target: str, source_conditions: Conditions, conditions: Conditions
    ) -> Stored:
        """One transaction: the source is gone when the target is there."""
        check_object_name(target)
        if source == target:
            raise invalid("The source and destination object names must differ.")
        with self._database.write() as connection:
            old = self._existing(bucket, source, source_conditions, None)
            replaced = self._find(bucket, target)
            self._check(replaced, conditions)
            self._check_free(old)
            self._check_free(replaced)
            self._limit.count(bucket, target)
            content = self.linked(old)
            stored = self._place(connection, bucket, target, content, old.fields, replaced, old.components)
            connection.execute("DELETE FROM objects WHERE bucket = ? AND name = ?", (bucket, source))
            self._retire(connection, old)
            return stored

    def restore(self, bucket: str, name: str, generation: int, conditions: Conditions = NONE) -> Stored:
        """A departed object, as a new generation of its name."""
        departed = self.departed(bucket, name, generation)
        content = self.linked(departed.stored)
        return self.put(bucket, name, content, departed.stored.fields, conditions, departed.stored.components)

    def departed(self, bucket: str, name: str, generation: int) -> Departed:
        row = self._database.row(
            f"SELECT {COLUMNS}, departed_us, purge_us FROM departed WHERE bucket = ? AND name = ? AND generation = ?",  # noqa: S608
            (bucket, name, generation),
        )
        if row is None or row[-1] <= self._clock.now() * 1e6:
            raise no_such_object(bucket, name)
        return Departed(Stored(*row[:-2]), row[-2], row[-1])

    def purge(self) -> None:
        """Forgets departed objects whose time is over."""
        with self._database.write() as connection:
            now = int(self._clock.now() * 1e6)
            rows = connection.execute(f"SELECT {COLUMNS} FROM departed WHERE purge_us <= ?", (now,)).fetchall()  # noqa: S608
            connection.execute("DELETE FROM departed WHERE purge_us <= ?", (now,))
            for row in rows:
                self._release(connection, Stored(*row))

    def linked(self, stored: Stored) -> Content:
        """Its bytes again, for another object; 404 if it was replaced since it was read."""
        content = Content(stored.content, stored.size, stored.md5, stored.crc32c, None)
        try:
            return self._contents.linked(content, bool(stored.inline))
        except (FileNotFoundError, KeyError) as error:
            raise no_such_object(stored.bucket, stored.name) from error

    # ---------------------------------------------------------------------------------------------------------- the rules

    def _find(self, bucket: str, name: str) -> Stored | None:
        row = self._database.row(f"SELECT {COLUMNS} FROM objects WHERE bucket = ? AND name = ?", (bucket, name))  # noqa: S608
        return Stored._make(row) if row else None

    def _existing(self, bucket: str, name: str, conditions: Conditions, generation: int | None) -> Stored:
        self._buckets.find(bucket)
        stored = self._find(bucket, name)
        if stored is None or generation not in (None, stored.generation):
            self._absent(bucket, name, conditions)
        self._check(stored, conditions)
        assert stored is not None
        return stored

    def _absent(self, bucket: str, name: str, conditions: Conditions) -> None:
        if self._switches.absent_condition_412 and conditions != NONE:
            conditions.check(0, 0)
        raise no_such_object(bucket, name)

    def _check(self, old: Stored | None, conditions: Conditions) -> None:
        if conditions != NONE:
            conditions.check(old.generation if old else 0, old.metageneration if old else 0)

    def _check_free(self, old: Stored | None) -> None:
        if old is not None:
            check_free(old, self._buckets.find(old.bucket), self._clock)

    def _place(
        self,
        connection: sqlite3.Connection,
        bucket: str,
        name: str,
        content: Content,
        fields: dict[str, Any],
        old: Stored | None,
        components: int,
    ) -> Stored:
        now = self._database.next_id()
        inline = content.data is not None
        stored = Stored(
            bucket, name, now, 1, content.size, content.md5, content.crc32c, components, now, now, content.id, inline,
            fields_text(fields),
        )  # fmt: skip
        if inline:
            connection.execute("INSERT INTO contents VALUES (?, ?)", (content.id, content.data))
        connection.execute(f"INSERT OR REPLACE INTO objects VALUES ({_MARKS})", stored)  # noqa: S608
        self._usage.add(bucket, content.size)
        if old is not None:
            self._retire(connection, old)
        return stored

    def _retire(self, connection: sqlite3.Connection, old: Stored) -> None:
        """What is deleted or replaced: kept for a while by the bucket's soft-delete policy, or let go."""
        seconds = self._buckets.find(old.bucket).soft_delete_seconds
        if not seconds:
            self._release(connection, old)
            return
        now = int(self._clock.now() * 1e6)
        until = now + int(self._clock.scaled(seconds) * 1e6)
        connection.execute(f"INSERT OR REPLACE INTO departed VALUES ({_MARKS}, ?, ?)", (*old, now, until))  # noqa: S608

    def _release(self, connection: sqlite3.Connection, old: Stored) -> None:
        self._usage.add(old.bucket, -old.size)
        if old.inline:
            connection.execute("DELETE FROM contents WHERE id = ?", (old.content,))
        else:
            self._database.after_commit(partial(self._contents.drop, old.content, False))


def no_such_object(bucket: str, name: str) -> ApiError:
    return not_found(f"No such object: {bucket}/{name}")


def check_object_name(name: str) -> None:
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise invalid("Invalid object name.") from error
    if not 1 <= size <= NAME_BYTES_MAX or name in (".", "..") or "\r" in name or "\n" in name:
        raise invalid("Invalid object name." if size <= NAME_BYTES_MAX else "The specified object name is too long.")
    if name.startswith(".well-known/acme-challenge/"):
        raise invalid("Invalid object name.")
