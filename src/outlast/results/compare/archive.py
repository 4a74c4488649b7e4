"""Zip archives (zip, npz, keras): their members by name; when and how well they were packed does not count."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from outlast.results.compare import json_value
from outlast.results.compare.source import MEMBERS_MAX, Look, Source, Unreadable

MAGIC = b"PK\x03\x04"
BROKEN = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
"""What the standard library raises for archives that are damaged, encrypted or packed by unknown methods."""


@contextmanager
def opened(source: Source) -> Iterator[zipfile.ZipFile]:
    """The archive, if it is whole; every error of reading it becomes `Unreadable`."""
    try:
        with source.open() as stream, zipfile.ZipFile(stream) as archive:
            yield archive
    except BROKEN as error:
        raise Unreadable("not a whole archive") from error


def members(archive: zipfile.ZipFile, look: Look) -> dict[str, Source]:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MEMBERS_MAX:
        raise Unreadable(f"more than {MEMBERS_MAX:,} members")
    found: dict[str, Source] = {}
    for entry in entries:
        if entry.filename in found:
            raise Unreadable(f"`{entry.filename}` is in it twice")
        look.spend(entry.file_size)
        found[entry.filename] = _member(archive, entry)
    return found


def compare(reference: Source, other: Source, look: Look) -> str:
    with opened(reference) as mine, opened(other) as theirs:
        return compare_members(members(mine, look), members(theirs, look), look)


def compare_keras(reference: Source, other: Source, look: Look) -> str:
    """As a zip, but for the day on which Keras saved it."""
    with opened(reference) as mine, opened(other) as theirs:
        left, right = members(mine, look), members(theirs, look)
        if "metadata.json" in left and "metadata.json" in right:
            words = _compare_undated(left.pop("metadata.json"), right.pop("metadata.json"), look)
            if words:
                return words
        return compare_members(left, right, look)


def compare_members(left: dict[str, Source], right: dict[str, Source], look: Look) -> str:
    if left.keys() != right.keys():
        name = min(left.keys() ^ right.keys())
        return f"member `{name}` is only in {'the reference' if name in left else 'the other'}"
    for name, member in left.items():
        words = look.inside(member, right[name], look)
        if words:
            return f"member `{name}`: {words}"
    return ""


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Source:
    return Source(entry.filename, entry.file_size, lambda: cast(BinaryIO, archive.open(entry)))


def _compare_undated(reference: Source, other: Source, look: Look) -> str:
    left, right = json_value.load(reference), json_value.load(other)
    for document in (left, right):
        if isinstance(document, dict):
            document.pop("date_saved", None)
    words = json_value.compare_values(left, right, "", look)
    return f"member `metadata.json`: {words}" if words else ""
