"""Pickles: what they describe; which of two equal strings were one object when they were written does not count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from outlast.results.compare import pickle_tree
from outlast.results.compare.numbers import accepted
from outlast.results.compare.pickle_tree import Node
from outlast.results.compare.source import Look, Source, Unreadable

Persistent = Callable[[Any, Any], str]
"""Compares what two persistent ids stand for: the storages of a torch file."""


def compare(reference: Source, other: Source, look: Look) -> str:
    def same_id(left: Any, right: Any) -> str:
        return "" if left == right else "refers to something else"

    return compare_pickles(reference.read(), other.read(), same_id, look)


def compare_pickles(left: bytes, right: bytes, persistent: Persistent, look: Look) -> str:
    try:
        return _Comparison(persistent, look).compare(pickle_tree.read(left), pickle_tree.read(right), "")
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error


class _Comparison:
    def __init__(self, persistent: Persistent, look: Look) -> None:
        self.persistent = persistent
        self.look = look
        self.seen: set[tuple[int, int]] = set()

    def compare(self, left: Any, right: Any, where: str) -> str:
        if isinstance(left, Node) and isinstance(right, Node):
            # A pair met before is equal, or its difference was answered then: cycles end, shared parts are walked once.
            pair = (id(left), id(right))
            if pair in self.seen:
                return ""
            self.seen.add(pair)
            return self.compare_nodes(left, right, where)
        if isinstance(left, tuple) and isinstance(right, tuple):
            return self.compare_sequences(left, right, where)
        if type(left) is type(right) and repr(left) == repr(right):
            return ""
        if _number(left) and _number(right) and accepted(left, right, self.look):
            return ""
        return f"{_place(where)}{_short(right)} instead of {_short(left)}"

    def compare_nodes(self, left: Node, right: Node, where: str) -> str:
        if left.kind != right.kind:
            return f"{_place(where)}a {right.kind} instead of a {left.kind}"
        if left.kind == "persistent":
            words = self.persistent(left.args[0], right.args[0])
            return f"{_place(where)}{words}" if words else ""
        if left.kind == "set":
            same = sorted(map(_key, left.listed)) == sorted(map(_key, right.listed))
            return "" if same else f"{_place(where)}a set with other members"
        return (
            self.compare_sequences(left.args, right.args, where)
            or self.compare_sequences(left.listed, right.listed, where)
            or self.compare_items(left.items, right.items, where)
            or self.compare(left.state, right.state, where)
        )

    def compare_sequences(self, left: Any, right: Any, where: str) -> str:
        if len(left) != len(right):
            return f"{_place(where)}{len(right)} items instead of {len(left)}"
        for i, (mine, theirs) in enumerate(zip(left, right, strict=True)):
            words = self.compare(mine, theirs, f"{where}[{i}]")
            if words:
                return words
        return ""

    def compare_items(self, left: list[tuple[Any, Any]], right: list[tuple[Any, Any]], where: str) -> str:
        mine = {_key(name): value for name, value in left}
        theirs = {_key(name): value for name, value in right}
        if mine.keys() != theirs.keys():
            name = min(mine.keys() ^ theirs.keys())
            return f"{_place(where)}`{name}` is only in {'the reference' if name in mine else 'the other'}"
        for name, value in mine.items():
            words = self.compare(value, theirs[name], f"{where}[{name}]")
            if words:
                return words
        return ""


def _key(name: Any, depth: int = 0) -> str:
    """A key, or a set's member, as text: equal keys have equal texts."""
    if depth > 8:
        raise Unreadable("a key that is nested too deeply")
    if isinstance(name, tuple):
        return f"({', '.join(_key(part, depth + 1) for part in name)})"
    if isinstance(name, Node):
        return f"{name.kind}{_key(name.args, depth + 1)}{_key(tuple(name.listed), depth + 1)}"
    return repr(name)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _place(where: str) -> str:
    return f"at {where}: " if where else ""


def _short(value: Any) -> str:
    text = f"a {value.kind}" if isinstance(value, Node) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
