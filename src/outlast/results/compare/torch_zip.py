"""Files of `torch.save`: the pickle inside as a structure, and each storage by its values. Nothing is unpickled."""

from __future__ import annotations

from typing import Any

from outlast.results.compare import archive
from outlast.results.compare.numbers import Layout, compare_source
from outlast.results.compare.pickle_tree import Node
from outlast.results.compare.pickle_value import compare_pickles
from outlast.results.compare.source import Look, Source, Unreadable

_CODES = {"DoubleStorage": "d", "FloatStorage": "f", "HalfStorage": "e", "BFloat16Storage": "bfloat16"} | {
    "ComplexFloatStorage": "f",
    "ComplexDoubleStorage": "d",
    "LongStorage": "q",
    "IntStorage": "i",
    "ShortStorage": "h",
    "CharStorage": "b",
    "ByteStorage": "B",
}


def is_torch(source: Source) -> bool:
    try:
        with archive.opened(source) as opened:
            return any(name.count("/") == 1 and name.endswith("/data.pkl") for name in opened.namelist())
    except Unreadable:
        return False


def compare(reference: Source, other: Source, look: Look) -> str:
    with archive.opened(reference) as mine, archive.opened(other) as theirs:
        left, right = _records(archive.members(mine, look)), _records(archive.members(theirs, look))
        storages = _Storages(left, right, look)
        words = compare_pickles(left.pop("data.pkl").read(), right.pop("data.pkl").read(), storages.compare, look)
        if words:
            return words
        rest = [{n: s for n, s in side.items() if not n.startswith("data/")} for side in (left, right)]
        return archive.compare_members(rest[0], rest[1], look)


def _records(members: dict[str, Source]) -> dict[str, Source]:
    """Without the archive's own name, which is the file's, and without the id that torch computes from it."""
    records = {name.partition("/")[2]: source for name, source in members.items()}
    if len(records) != len(members) or "data.pkl" not in records:
        raise Unreadable("not a file of torch")
    records.pop("serialization_id", None)
    records.pop(".data/serialization_id", None)
    return records


class _Storages:
    """The persistent ids of a torch pickle: (`storage`, class, key, device, count); the bytes are in `data/<key>`."""

    def __init__(self, left: dict[str, Source], right: dict[str, Source], look: Look) -> None:
        self.left = left
        self.right = right
        self.look = look
        self.little = "byteorder" not in left or left["byteorder"].read(16) != b"big"
        self.seen: set[tuple[str, str]] = set()

    def compare(self, left: Any, right: Any) -> str:
        mine, theirs = _storage(left), _storage(right)
        if (mine[0], mine[2], mine[3]) != (theirs[0], theirs[2], theirs[3]):
            return f"a {theirs[0]} of {theirs[3]} on {theirs[2]} instead of a {mine[0]} of {mine[3]} on {mine[2]}"
        if (mine[1], theirs[1]) in self.seen:
            return ""
        self.seen.add((mine[1], theirs[1]))
        try:
            pair = self.left[f"data/{mine[1]}"], self.right[f"data/{theirs[1]}"]
        except KeyError as error:
            raise Unreadable("a storage is missing") from error
        code = _CODES.get(mine[0])
        return compare_source(*pair, Layout(code, little=self.little) if code else None, self.look)


def _storage(persistent: Any) -> tuple[str, str, str, int]:
    """(class, key, device, count)."""
    if not (isinstance(persistent, tuple) and len(persistent) >= 5 and isinstance(persistent[1], Node)):
        raise Unreadable("not a storage of torch")
    return str(persistent[1].args[-1]), str(persistent[2]), str(persistent[3]), int(persistent[4])
