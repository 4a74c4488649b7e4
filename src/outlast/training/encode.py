"""Values as typed JSON, with arrays set aside: what they were comes back exactly, and nothing in it can be run.

JSON's own null, booleans, numbers, strings, lists and objects with string keys stand for themselves. Everything else is
an object with the key `$`, which names its kind. Its inverse is in decode.py.
"""

from __future__ import annotations

import base64
import collections
import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from outlast.training import arrays, generators, simple
from outlast.training.arrays import Layout, Library
from outlast.training.fielded import fielded
from outlast.training.modes import loose_buffers, modes_of

INTEGER_MAX = 2**53
"""Beyond it other readers of JSON lose digits."""

HINT = (
    "a part may be an object with `state_dict` and `load_state_dict`, an array or tensor, a number, text, bytes, None, "
    "a random generator, or a dict, list or tuple of these;\nfor anything else: outlast.via(obj, save, load)"
)


@fielded(frozen=True)
class Leaf:
    """One array that a tree refers to by name."""

    name: str
    value: Any
    library: Library
    layout: Layout
    plain: bool
    """A part's own array, not one out of some object's `state_dict`: the script itself has to keep it up to date."""


class Via:
    """Made by `outlast.via`: see state.py."""

    def __init__(self, obj: Any, save: Callable[[Any], Any], load: Callable[[Any, Any], Any]) -> None:
        self.obj = obj
        self.save = save
        self.load = load


def is_stateful(value: object) -> bool:
    return (
        not isinstance(value, type)
        and callable(getattr(value, "state_dict", None))
        and callable(getattr(value, "load_state_dict", None))
    )


def is_named_tuple(value: object) -> bool:
    return isinstance(value, tuple) and type(value) is not tuple and hasattr(type(value), "_fields")


class Encoder:
    """Turns values into JSON trees and gathers the arrays in them; the same memory is gathered once."""

    def __init__(self, *, inline: bool = False) -> None:
        """`inline`: arrays are small and become part of the tree."""
        self.leaves: list[Leaf] = []
        self.again: list[tuple[Leaf, str, bool]] = []
        """Arrays that were met once more: where, and whether as a part's own (see Leaf)."""

        self._inline = inline
        self._names: set[str] = set()
        self._by_identity: dict[Hashable, Leaf] = {}
        self._open: set[int] = set()
        self._met: dict[int, int] = {}
        """The number of each object that can be changed, by its id, in the order in which they are met: decode.py counts them alike."""

        self._stateful_depth = 0
        self._kept: list[object] = []  # an id or address means nothing once its owner is gone

    def encode(self, value: Any, path: str) -> Any:
        """TypeError naming `path` if the value, or something in it, is of no kind that can be saved."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -INTEGER_MAX <= value <= INTEGER_MAX else simple.encode_int(value)
        if kind is float:
            return value if math.isfinite(value) else simple.encode_float(value)
        if kind is bytearray:
            return self._met_before(value) or simple.encode_bytes(value)
        try:
            tree = simple.encode(value, kind)
        except TypeError as error:
            raise _unsaved(path, error) from None
        if tree is not None:
            return tree
        library = arrays.library_of(value)
        if library is not None:
            return self._encode_array(value, library, path)
        if _container(kind) or is_named_tuple(value):
            return self._encode_inside(value, path)
        return self._encode_object(value, path)

    def _encode_array(self, value: Any, library: Library, path: str) -> Any:
        try:
            layout = library.layout(value)
        except TypeError as error:
            raise _unsaved(path, error) from None
        identity = library.identity(value)
        leaf, plain = self._by_identity.get(identity), self._stateful_depth == 0
        if leaf is not None:
            self.again.append((leaf, path, plain))
        else:
            leaf = Leaf(self._name(path), value, library, layout, plain)
            self.leaves.append(leaf)
            self._by_identity[identity] = leaf
        self._kept.append(value)
        tree = {"$": "array", "of": leaf.layout.library, "dtype": leaf.layout.dtype, "shape": list(leaf.layout.shape)}
        if leaf.layout.note:
            tree["note"] = leaf.layout.note
        if leaf.layout.strides:
            tree["strides"] = list(leaf.layout.strides)
        if self._inline:
            return {**tree, "v": base64.b64encode(library.raw(value)).decode("ascii")}
        return {**tree, "in": leaf.name}

    def _name(self, path: str) -> str:
        name, number = path, 2
        while name in self._names:
            name, number = f"{path}#{number}", number + 1
        self._names.add(name)
        return name

    def _met_before(self, value: Any) -> Any:
        """What was one object shall be one again: a reference to it, or None if it is met for the first time."""
        number = self._met.get(id(value))
        if number is not None:
            return {"$": "same", "v": number}
        self._met[id(value)] = len(self._met)
        return None

    def _encode_inside(self, value: Any, path: str) -> Any:
        if id(value) in self._open:
            raise TypeError(f"{_place(path)} contains itself and cannot be saved")
        same = None if isinstance(value, (tuple, frozenset)) else self._met_before(value)
        if same is not None:
            return same
        self._open.add(id(value))
        try:
            return self._encode_container(value, path)
        except RecursionError:
            raise TypeError(f"{_place(path)} is nested too deeply to be saved") from None
        finally:
            self._open.discard(id(value))

    def _encode_container(self, value: Any, path: str) -> Any:
        kind = type(value)
        if isinstance(value, dict):
            return self._encode_mapping(value, kind, path)
        if kind is list:
            return value if _is_plain(value) else self._items(value, path)
        if is_named_tuple(value):
            fields = [[field, self.encode(getattr(value, field), f"{path}.{field}")] for field in value._fields]
            return {"$": "named", "name": kind.__name__, "v": fields}
        met = len(self._met)
        tree: dict[str, Any] = {"$": _container(kind), "v": self._items(value, path)}
        if kind in (set, frozenset):
            if len(self._met) > met:
                raise TypeError(f"{_place(path)} is a set of objects, which have no order\n\nhint: use a list")
            tree["v"].sort(key=repr)  # the order of a set differs from process to process
        if kind is collections.deque:
            tree["max"] = value.maxlen
        return tree

    def _items(self, values: Iterable[Any], path: str) -> list[Any]:
        return [self.encode(item, f"{path}.{index}") for index, item in enumerate(values)]

    def _encode_mapping(self, value: dict[Any, Any], kind: type, path: str) -> Any:
        if kind is dict and "$" not in value and all(type(key) is str for key in value):
            return {key: self.encode(item, f"{path}.{key}") for key, item in value.items()}
        pairs = [[self.encode(key, path), self.encode(item, f"{path}.{key}")] for key, item in value.items()]
        tree: dict[str, Any] = {"$": _container(kind), "v": pairs}
        metadata = getattr(value, "_metadata", None)
        if metadata is not None:  # torch hangs the versions of a model's modules on its state_dict
            tree["metadata"] = self.encode(metadata, path)
        return tree

    def _encode_object(self, value: Any, path: str) -> Any:
        kind = generators.kind_of(value)
        if kind is None and not isinstance(value, Via) and not is_stateful(value):
            raise TypeError(f"{_place(path)} is a `{_type_name(value)}`, which cannot be saved\n\nhint: {HINT}")
        same = self._met_before(value)
        if same is not None:
            return same
        if kind is not None:
            return {"$": "generator", "kind": kind, "v": self._inner(generators.get_state(value), path)}
        if isinstance(value, Via):
            return {"$": "via", "v": self._inner(value.save(value.obj), path)}
        tree = {"$": "state_dict", "v": self._inner(value.state_dict(), path)}
        if (modes := modes_of(value)) is not None:
            tree["modes"] = modes
            if loose := loose_buffers(value):
                tree["loose"] = self._inner(loose, f"{path}:loose")
        return tree

    def _inner(self, value: Any, path: str) -> Any:
        self._kept.append(value)
        self._stateful_depth += 1
        try:
            return self.encode(value, path)
        finally:
            self._stateful_depth -= 1


_CONTAINERS: dict[type, str] = {
    dict: "dict",
    collections.OrderedDict: "ordered",
    collections.defaultdict: "default",
    collections.Counter: "counter",
    collections.deque: "deque",
    list: "list",
    tuple: "tuple",
    set: "set",
    frozenset: "frozenset",
}


def _unsaved(path: str, error: TypeError) -> TypeError:
    return TypeError(f"{_place(path)} cannot be saved: {error}\n\nhint: {HINT}")


def _is_plain(values: list[Any]) -> bool:
    """A long list of numbers or words, as a history is, stands for itself: looked at by the interpreter's own loops only."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return all(map(math.isfinite, values))
    if kinds == {int}:
        return bool(min(values) >= -INTEGER_MAX and max(values) <= INTEGER_MAX)
    return kinds <= {str, bool, type(None)}


def _container(kind: type) -> str | None:
    if kind.__name__ == "Size" and kind.__module__ == "torch":
        return "torch.Size"
    return _CONTAINERS.get(kind)


def _place(path: str) -> str:
    part, _, rest = path.partition(".")
    return f"state part `{part}`" + (f" (at `{rest}`)" if rest else "")


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
