"""Typed JSON back into values, into what is there already wherever that is possible.

`live` is what stands at the same place in the script now. Arrays of the same type and shape are filled, dicts and lists
keep their identity, objects get their `load_state_dict`; the rest is made anew. Classes are taken from `live` and from the
short list below, never from the file: nothing that is read can choose what is run.
"""

from __future__ import annotations

import base64
import collections
import importlib
import struct
from collections.abc import Callable
from typing import Any, Protocol

from outlast.training import arrays, generators
from outlast.training.arrays import Layout
from outlast.training.encode import Via, is_named_tuple, is_stateful

MISSING = object()
"""Nothing stands at this place in the script."""


_WRONG = (LookupError, ValueError, TypeError, AttributeError, RuntimeError, ArithmeticError, struct.error)
"""What the libraries raise when they are given what nobody saved."""


class Mismatch(Exception):
    """What was saved does not fit into what the script has now; the text says where and how."""


class Malformed(Exception):
    """The tree or the tensor file is not what an encoder writes."""


class TensorSource(Protocol):
    def bytes_of(self, name: str) -> memoryview:
        """Malformed if there is no such tensor."""
        ...


class Decoder:
    def __init__(self, tensors: TensorSource) -> None:
        self._tensors = tensors
        self._made: dict[str, Any] = {}  # arrays that were one before are one again
        self._own: Exception | None = None  # raised by the script's own `load`: no fault of what was saved

    def decode(self, tree: Any, live: Any, path: str) -> Any:
        if isinstance(tree, list):
            return self._decode_list(tree, live, path)
        if not isinstance(tree, dict):
            return tree
        tag = tree.get("$")
        if tag is None:
            pairs = [(key, self.decode(item, _at(live, key), f"{path}.{key}")) for key, item in tree.items()]
            return _fill_dict(live, dict, pairs)
        decoder = _DECODERS.get(tag) if isinstance(tag, str) else None
        if decoder is None:
            raise Malformed(f"{path}: the kind {tag!r} is unknown")
        try:
            return decoder(self, tree, live, path)
        except (ImportError, *_WRONG) as error:
            if tag in ("via", "state_dict"):
                self._own = error
            if error is self._own:
                raise
            if isinstance(error, ImportError):
                raise Mismatch(f"`{path}` needs `{error.name}`, which cannot be imported here") from error
            raise Malformed(f"{path}: {tag!r} is not well formed: {error}") from error

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
        layout = Layout(tree["of"], tree["dtype"], shape, item_bytes, len(source), tree.get("note", ""))
        if live is not MISSING and library.assign(live, layout, source):
            return live
        if name in self._made:
            return self._made[name]
        made = library.build(layout, source) if live is MISSING else library.build_like(live, layout, source)
        if name is not None:
            self._made[name] = made
        return made

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
        state = self.decode(tree["v"], MISSING, path)
        if generators.kind_of(live) is None:
            return generators.make(tree["kind"], state)
        if generators.kind_of(live) != tree["kind"]:
            raise Mismatch(f"`{path}` was a {tree['kind']} generator and is a {generators.kind_of(live)} now")
        try:
            generators.set_state(live, state)
        except (ValueError, TypeError) as error:
            raise Mismatch(f"`{path}` is another generator than the one that was saved: {error}") from error
        return live

    def _object(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        saved = self.decode(tree["v"], MISSING, path)
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
        return live

    def _scalar(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        from outlast.training.arrays_numpy import dtype_named

        numpy = importlib.import_module("numpy")
        raw, dtype = bytes.fromhex(tree["v"]), dtype_named(tree["dtype"])
        return numpy.frombuffer(raw, dtype=dtype)[0] if raw else dtype.type()

    def _float(self, tree: dict[str, Any], live: Any, path: str) -> float:
        return float(struct.unpack(">d", bytes.fromhex(tree["v"]))[0])

    def _complex(self, tree: dict[str, Any], live: Any, path: str) -> complex:
        return complex(*struct.unpack(">dd", bytes.fromhex(tree["v"])))

    def _bytes(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        content = base64.b64decode(tree["v"], validate=True)
        if tree["$"] == "bytes":
            return content
        if type(live) is bytearray:
            live[:] = content
            return live
        return bytearray(content)

    def _int(self, tree: dict[str, Any], live: Any, path: str) -> int:
        return int(tree["v"], 0)

    def _torch(self, tree: dict[str, Any], live: Any, path: str) -> Any:
        torch = importlib.import_module("torch")
        value = torch.device(tree["v"]) if tree["$"] == "torch.device" else getattr(torch, tree["v"])
        if not isinstance(value, (torch.dtype, torch.device)):
            raise ValueError(f"{tree['v']!r} is no dtype")
        return value


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


_DECODERS: dict[str, Callable[[Decoder, dict[str, Any], Any, str], Any]] = {
    "array": Decoder._array,
    "int": Decoder._int,
    "float": Decoder._float,
    "complex": Decoder._complex,
    "bytes": Decoder._bytes,
    "bytearray": Decoder._bytes,
    "scalar": Decoder._scalar,
    "torch.dtype": Decoder._torch,
    "torch.device": Decoder._torch,
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
