"""The structure that a pickle describes, read as data: nothing named in it is imported, called or built."""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import field
from typing import Any

from outlast.dataclass import dataclass
from outlast.results.compare.source import Unreadable

OPERATIONS_MAX = 20_000_000


@dataclass(eq=False)
class Node:
    """A list, dict, set, or something that unpickling would have built by calling `args[0]` with the rest."""

    kind: str
    args: tuple[Any, ...] = ()
    listed: list[Any] = field(default_factory=list)
    items: list[tuple[Any, Any]] = field(default_factory=list)
    state: Any = None


class _Mark:
    pass


def read(data: bytes) -> Any:
    """The tree of the pickle in `data`: plain values, tuples and `Node`s; `Unreadable` if it is none."""
    reader = _Reader()
    try:
        for count, (operation, argument, _) in enumerate(pickletools.genops(data)):
            if count > OPERATIONS_MAX:
                raise Unreadable("too long a pickle")
            reader.take(operation.name, argument)
        (tree,) = reader.pop(1)
        return tree
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise Unreadable("not a whole pickle") from error


class _Reader:
    """A pickle machine whose calls are nodes."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def take(self, name: str, argument: Any) -> None:
        if name in _VALUES:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            self.stack.append(Node(_EMPTY[name]))
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self.memo[int(argument)] = self.stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[int(argument)])
        elif name in _OPERATIONS:
            _OPERATIONS[name](self, argument)
        elif name not in ("PROTO", "FRAME", "STOP"):
            raise Unreadable(f"a pickle with {name}")

    def above_mark(self) -> list[Any]:
        for place in range(len(self.stack) - 1, -1, -1):
            if isinstance(self.stack[place], _Mark):
                taken = self.stack[place + 1 :]
                del self.stack[place:]
                return taken
        raise Unreadable("a pickle without its mark")

    def pop(self, count: int) -> list[Any]:
        taken = self.stack[-count:]
        if len(taken) < count or any(isinstance(value, _Mark) for value in taken):
            raise Unreadable("a pickle that takes more than it has")
        del self.stack[len(self.stack) - count :]
        return taken

    def memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def tuple_of(self, values: list[Any]) -> None:
        self.stack.append(tuple(values))

    def extend(self, values: list[Any]) -> None:
        self.stack[-1].listed.extend(values)

    def set_items(self, values: list[Any]) -> None:
        self.stack[-1].items.extend(zip(values[::2], values[1::2], strict=True))

    def make(self, kind: str, values: list[Any]) -> None:
        self.stack.append(Node(kind, tuple(values)))

    def fill(self, kind: str, values: list[Any]) -> None:
        self.stack.append(Node(kind, listed=list(values)))

    def dictionary(self, _: Any) -> None:
        values = self.above_mark()
        self.stack.append(Node("dict"))
        self.set_items(values)

    def build(self, _: Any) -> None:
        (state,) = self.pop(1)
        self.stack[-1].state = (self.stack[-1].state, state)

    def instance(self, argument: Any) -> None:
        self.stack.append(Node("call", (Node("global", tuple(str(argument).split(" ", 1))), tuple(self.above_mark()))))


_VALUES = (
    {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
    | {"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
    | {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"}
)
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_EMPTY = {"EMPTY_LIST": "list", "EMPTY_DICT": "dict", "EMPTY_SET": "set"}
_OPERATIONS: dict[str, Callable[[_Reader, Any], None]] = {
    "MARK": lambda reader, _: reader.stack.append(_Mark()),
    "POP": lambda reader, _: reader.stack.pop(),
    "POP_MARK": lambda reader, _: reader.above_mark().clear(),
    "DUP": lambda reader, _: reader.stack.append(reader.stack[-1]),
    "MEMOIZE": _Reader.memoize,
    "TUPLE": lambda reader, _: reader.tuple_of(reader.above_mark()),
    "TUPLE1": lambda reader, _: reader.tuple_of(reader.pop(1)),
    "TUPLE2": lambda reader, _: reader.tuple_of(reader.pop(2)),
    "TUPLE3": lambda reader, _: reader.tuple_of(reader.pop(3)),
    "LIST": lambda reader, _: reader.fill("list", reader.above_mark()),
    "APPEND": lambda reader, _: reader.extend(reader.pop(1)),
    "APPENDS": lambda reader, _: reader.extend(reader.above_mark()),
    "DICT": _Reader.dictionary,
    "SETITEM": lambda reader, _: reader.set_items(reader.pop(2)),
    "SETITEMS": lambda reader, _: reader.set_items(reader.above_mark()),
    "ADDITEMS": lambda reader, _: reader.extend(reader.above_mark()),
    "FROZENSET": lambda reader, _: reader.fill("set", reader.above_mark()),
    "GLOBAL": lambda reader, argument: reader.make("global", str(argument).split(" ", 1)),
    "STACK_GLOBAL": lambda reader, _: reader.make("global", reader.pop(2)),
    "REDUCE": lambda reader, _: reader.make("call", reader.pop(2)),
    "NEWOBJ": lambda reader, _: reader.make("new", reader.pop(2)),
    "NEWOBJ_EX": lambda reader, _: reader.make("new", reader.pop(3)),
    "OBJ": lambda reader, _: reader.make("new", reader.above_mark()),
    "INST": _Reader.instance,
    "BUILD": _Reader.build,
    "PERSID": lambda reader, argument: reader.make("persistent", [argument]),
    "BINPERSID": lambda reader, _: reader.make("persistent", reader.pop(1)),
}
