"""Whether an object has what it was given: a `load_state_dict` that passes something over, or rounds it, says nothing."""

from __future__ import annotations

from typing import Any

from outlast.training.encode import Encoder, Leaf
from outlast.training.filling import TensorSource


def difference(saved: Any, now: Any, path: str, tensors: TensorSource) -> str:
    """Where what the object says of itself now (its `state_dict`) is not what was saved; empty if that is nowhere."""
    encoder = Encoder()
    try:
        tree = encoder.encode(now, path)
    except TypeError as error:
        return str(error).partition("\n")[0]
    return _compare(saved, tree, path, {leaf.name: leaf for leaf in encoder.leaves}, tensors)


def _compare(saved: Any, now: Any, path: str, leaves: dict[str, Leaf], tensors: TensorSource) -> str:
    if _tag(saved) == "same" or _tag(now) == "same":
        return ""
    if _tag(saved) == "array" == _tag(now):
        return _compare_arrays(saved, now, path, leaves, tensors)
    if type(saved) is not type(now) or _tag(saved) != _tag(now):
        return f"`{path}` is of another kind"
    if isinstance(saved, dict):
        if saved.keys() != now.keys():
            return f"`{path}` has other keys: {', '.join(sorted(map(str, saved.keys() ^ now.keys())))}"
        items = [("" if "$" in saved else f".{key}", saved[key], now[key]) for key in saved]
    elif isinstance(saved, list):
        if len(saved) != len(now):
            return f"`{path}` has {len(now)} entries instead of {len(saved)}"
        items = [(f".{index}", saved[index], now[index]) for index in range(len(saved))]
    else:
        return "" if saved == now else f"`{path}` is {now!r} instead of {saved!r}"
    found = (_compare(was, is_, f"{path}{place}", leaves, tensors) for place, was, is_ in items)
    return next(filter(None, found), "")


def _compare_arrays(
    saved: dict[str, Any], now: dict[str, Any], path: str, leaves: dict[str, Leaf], tensors: TensorSource
) -> str:
    for name in ("of", "dtype", "shape"):
        if saved[name] != now[name]:
            return f"`{path}` has the {name} {now[name]} instead of {saved[name]}"
    leaf = leaves[now["in"]]
    same = _wide(leaf.library.raw(leaf.value)) == _wide(tensors.bytes_of(saved["in"]))
    return "" if same else f"`{path}` has other values"


def _wide(content: memoryview) -> memoryview:
    """Eight bytes are compared as fast as one."""
    return content if len(content) % 8 else content.cast("B").cast("Q")


def _tag(tree: Any) -> Any:
    return tree.get("$") if isinstance(tree, dict) else None
