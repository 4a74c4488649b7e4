"""Typed JSON back into values, into what is there already wherever that is possible.

`live` is what stands at the same place in the script now. Arrays of the same type and shape are filled, dicts and lists
keep their identity, objects get their `load_state_dict`; the rest is made anew. Classes are taken from `live` and from the
short list below, never from the file: nothing that is read can choose what is run.
"""

from __future__ import annotations

import base64
import collections
import copy
import importlib
import struct
from collections.abc import Callable
from typing import Any

from outlast.training import arrays, generators, simple
from outlast.training.arrays import SPREAD_MAX, Layout, extent
from outlast.training.encode import Via, is_named_tuple, is_stateful
from outlast.training.filling import Filling, Mismatch, TensorSource
from outlast.training.modes import fill_loose_buffers, set_modes
from outlast.training.taken_back import difference

MISSING = object()
"""Nothing stands at this place in the script."""


_WRONG = (LookupError, ValueError, TypeError, AttributeError, RuntimeError, ArithmeticError, struct.error)
"""What the libraries raise when they are given what nobody saved."""


class Malformed(Exception):
    """The tree or the tensor file is not what an encoder writes."""


class Decoder:
    def __init__(self, tensors: TensorSource, *, modes: bool = False) -> None:
        """`modes`: the script goes on where it was, and modules train as they did there (see modes.py)."""
        self._tensors = tensors
        self._modes = modes
        self.filling = Filling()
        self.doubts: list[str] = []
        """What may make this restore another one than it should be."""

        self.notes: list[str] = []
        self._made: dict[str, Any] = {}  # arrays that were one before are one again
        self._depth = 0  # in what some object of the script will take in, and not in what the script sees
        self._met: list[Any] = []  # what can be changed, in the order in which the encoder has met it
        self._taken: dict[int, tuple[Any, Any]] = {}  # what of the script's has been restored, and from which tree
        self._own: Exception | None = None  # raised by the script's own `load`: no fault of what was saved

    def decode(self, tree: Any, live: Any, path: str) -> Any:
        if isinstance(tree, list):
            return self._meet(Decoder._decode_list, tree, live, path)
        if not isinstance(tree, dict):
            return tree
        tag = tree.get("$")
        if tag is None:
            return self._meet(Decoder._decode_dict, tree, live, path)
        decoder = _DECODERS.get(tag) if isinstance(tag, str) else None
        if decoder is None and (not isinstance(tag, str) or tag not in simple.DECODERS):
            raise Malformed(f"{path}: the kind {tag!r} is unknown")
        try:
            if decoder is None:
                return simple.DECODERS[tag](tree)
            if tag in _CHANGEABLE:
                return self._meet(decoder, tree, live, path)
            return decoder(self, tree, live, path)
        except (ImportError, *_WRONG) as error:
            if tag in ("via", "state_dict"):
                self._own = error
            if error is self._own:
                raise
            if isinstance(error, ImportError):
                raise Mismatch(f"`{path}` needs `{error.name}`, which cannot be imported here") from error
            raise Malformed(f"{path}: {tag!r} is not well formed: {error}") from error

    def _meet(self, decoder: Callable[[Decoder, Any, Any, str], Any], tree: Any, live: Any, path: str) -> Any:
        """Something that can be changed. The encoder may refer to it by its number."""
        number = len(self._met)
        self._met.append(MISSING)
        if id(live) in self._taken:
            live = self._other(tree, live, path)
        elif live is not MISSING:
            self._taken[id(live)] = (live, tree)
        self._met[number] = value = decoder(self, tree, live, path)
        return value

    def _other(self, tree: Any, live: Any, path: str) -> Any:
        """`live` stands at two places of the script, and what was saved at them were two."""
        if isinstance(live, (dict, list, set, bytearray, collections.deque)):
            return copy.copy(live)
        if tree != self._taken[id(live)][1] and (isinstance(live, Via) or is_stateful(live)):
            raise Mismatch(f"`{path}` stands in the state twice now, and was another object when it was saved")
        return MISSING if generators.kind_of(live) is not None else live

    def _same(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        number = tree["v"]
        if type(number) is not int or not 0 <= number < len(self._met) or self._met[number] is MISSING:
            raise ValueError(f"nothing has the number {number!r} yet")
        return self._met[number]

    def _decode_dict(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        pairs = [(key, self.decode(item, _at(live, key), f"{path}.{key}")) for key, item in tree.items()]
        return _fill_dict(live, dict, pairs)

    def _decode_list(self, tree: list[Any], live: Any, path: str) -> list[Any]:
        old = live if isinstance(live, list) else []
        items = [self.decode(item, _at(old, index), f"{path}.{index}") for index, item in enumerate(tree)]
        if type(live) is list:
            live[:] = items
            return live
        return items

    def _array(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        library = arrays.library_named(tree["of"])
        name, shape = tree.get("in"), tuple(tree["shape"])
        if name is None:
            # A bytearray, because torch wants memory that could be written to.
            source = memoryview(bytearray(base64.b64decode(tree["v"], validate=True)))
        else:
            source = self._tensors.bytes_of(name)
        count = 1
        for size in shape:
            if type(size) is not int or size < 0:
                raise ValueError(f"the shape {shape} is none")
            count *= size
        if (count and not len(source)) or len(source) % max(count, 1):
            raise ValueError(f"{len(source)} bytes do not make the shape {shape}")
        item_bytes = len(source) // count if count else 0
        strides = _strides(tree.get("strides", []), shape, count)
        layout = Layout(tree["of"], tree["dtype"], shape, item_bytes, len(source), tree.get("note", ""), strides)
        if name is None:
            return library.build(layout, source)
        if self._depth == 0:
            value = self.filling.put(name, layout, source, live, path, library, self._made.get(name))
            if value is not live:
                self._made.setdefault(name, value)
            return value
        if name not in self._made:
            self._made[name] = library.build(layout, source)
        return self._made[name]

    def _mapping(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        kind = {"dict": dict, "ordered": collections.OrderedDict, "counter": collections.Counter}.get(tree["$"])
        if kind is None and not isinstance(live, collections.defaultdict):
            raise Mismatch(f"`{path}` was a defaultdict and is none now: its default cannot be saved")
        pairs = []
        for key_tree, item in tree["v"]:
            key = self.decode(key_tree, MISSING, path)
            pairs.append((key, self.decode(item, _at(live, key), f"{path}.{key}")))
        value = _fill_dict(live, kind or collections.defaultdict, pairs)
        if "metadata" in tree:
            value._metadata = self.decode(tree["metadata"], MISSING, path)
        return value

    def _sequence(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        old = list(live) if isinstance(live, (tuple, collections.deque)) else []
        items = [self.decode(item, _at(old, index), f"{path}.{index}") for index, item in enumerate(tree["v"])]
        if tree["$"] == "deque":
            if type(live) is collections.deque and live.maxlen == tree["max"]:
                live.clear()
                live.extend(items)
                return live
            return collections.deque(items, tree["max"])
        if tree["$"] == "torch.Size":
            return importlib.import_module("torch").Size(items)
        if type(live) is tuple and len(live) == len(items) and all(a is b for a, b in zip(live, items, strict=True)):
            return live
        return tuple(items)

    def _bytearray(self, tree: dict[str, Any], live: Any, path: str) -> bytearray:
        content = bytearray(simple.decode_bytes(tree))
        if type(live) is not bytearray:
            return content
        live[:] = content
        return live

    def _named(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        fields = [field for field, _ in tree["v"]]
        if not is_named_tuple(live) or type(live).__name__ != tree["name"] or list(live._fields) != fields:
            raise Mismatch(
                f"`{path}` was a named tuple `{tree['name']}({', '.join(fields)})`; give the state one before the loop begins"
            )
        values = [self.decode(item, getattr(live, field), f"{path}.{field}") for field, item in tree["v"]]
        return type(live)(*values)

    def _set(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        items = [self.decode(item, MISSING, path) for item in tree["v"]]
        if tree["$"] == "set" and type(live) is set:
            live.clear()
            live.update(items)
            return live
        return set(items) if tree["$"] == "set" else frozenset(items)

    def _generator(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        state = self._inner(tree["v"], path)
        if generators.kind_of(live) is None:
            return generators.make(tree["kind"], state)
        if generators.kind_of(live) != tree["kind"]:
            raise Mismatch(f"`{path}` was a {tree['kind']} generator and is a {generators.kind_of(live)} now")
        try:
            generators.set_state(live, state)
        except (ValueError, TypeError) as error:
            raise Mismatch(f"`{path}` is another generator than the one that was saved: {error}") from error
        return live

    def _inner(self, tree: Any, path: str) -> Any:
        self._depth += 1
        try:
            return self.decode(tree, MISSING, path)
        finally:
            self._depth -= 1

    def _object(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        saved = self._inner(tree["v"], path)
        loose = self._inner(tree.get("loose"), path)
        if tree["$"] == "via":
            if not isinstance(live, Via):
                raise Mismatch(f"`{path}` was given by outlast.via; give it again before the loop begins")
            loaded = live.load(live.obj, saved)
            live.obj = live.obj if loaded is None else loaded
            return live
        if live is MISSING or not is_stateful(live):
            now = "missing" if live is MISSING else f"a `{type(live).__name__}`"
            raise Mismatch(
                f"`{path}` was an object with `state_dict` and is {now} now; the state needs it before the loop begins"
            )
        try:
            live.load_state_dict(saved)
        except (RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
            raise Mismatch(f"`{path}` does not take back what it saved: {type(error).__name__}: {error}") from error
        other = difference(tree["v"], live.state_dict(), path, self._tensors)
        if other:
            self.doubts.append(
                f"`{path}` does not have all that it saved after its `load_state_dict`: {other}; "
                "what is trained from here on may differ"
            )
        if self._modes and "modes" in tree:
            fill_loose_buffers(live, loose or {})
            changed = set_modes(live, tree["modes"])
            self.notes += [
                f"`{path}`: {what} is as it was when it was saved, and not as before the loop" for what in changed
            ]
        return live


def is_array(tree: Any) -> bool:
    return isinstance(tree, dict) and tree.get("$") == "array"


def _strides(given: list[Any], shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    strides = tuple(given)
    if strides:
        if len(strides) != len(shape) or not all(type(step) is int for step in strides):
            raise ValueError(f"the strides {strides} do not fit the shape {shape}")
        if not count <= extent(shape, strides)[1] <= SPREAD_MAX * count:
            raise ValueError(f"the strides {strides} spread the shape {shape} too far")
    return strides


def _at(live: Any, key: Any) -> Any:
    """What the live container has at that key or index."""
    if isinstance(live, dict):
        return live.get(key, MISSING)
    if isinstance(live, list) and isinstance(key, int) and key < len(live):
        return live[key]
    return MISSING


def _fill_dict(live: Any, kind: type, pairs: list[tuple[Any, Any]]) -> Any:
    """In place and in the saved order, so that a save made later is the same byte for byte."""
    target: Any = live if type(live) is kind else kind()
    target.clear()
    for key, value in pairs:
        target[key] = value
    return target


_CHANGEABLE = frozenset(
    ("bytearray", "dict", "ordered", "default", "counter", "deque", "set", "generator", "via", "state_dict")
)
"""What is met as one object, beside lists and dicts that stand for themselves."""

_DECODERS: dict[str, Callable[[Decoder, dict[str, Any], Any, str], Any]] = {
    "array": Decoder._array,
    "same": Decoder._same,
    "bytearray": Decoder._bytearray,
    "torch.Size": Decoder._sequence,
    "dict": Decoder._mapping,
    "ordered": Decoder._mapping,
    "default": Decoder._mapping,
    "counter": Decoder._mapping,
    "tuple": Decoder._sequence,
    "deque": Decoder._sequence,
    "named": Decoder._named,
    "set": Decoder._set,
    "frozenset": Decoder._set,
    "generator": Decoder._generator,
    "via": Decoder._object,
    "state_dict": Decoder._object,
}
