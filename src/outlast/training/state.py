"""`State`: what a training has to keep, named part by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from outlast.training.decode import MISSING, Decoder, is_array
from outlast.training.encode import Encoder, Via


class State:
    """What is saved and restored. The parts are attributes, and may be assigned freely at any time.

    A part may be: an object with `state_dict` and `load_state_dict` (models, optimisers, schedulers, scalers, averages); an
    array of numpy, torch or JAX; a number, text, bytes, None; a `random.Random`, a numpy or torch generator; nested dicts,
    lists and tuples of all these; and what `outlast.via` wraps. Anything else is a TypeError that names the part.

    The global generators of random, numpy and torch (GPUs included) are always saved with it and need not be named.

    What is in a state when it is saved counts: a script that rebinds must rebind the part itself (`state.w = state.w - g`).
    Restoring happens in place where it can: arrays of the same shape and type are filled, objects load, dicts and lists keep
    their identity. Tensors' gradients are not kept.
    """

    def __init__(self, /, **parts: Any) -> None:
        encoder = Encoder()
        for name, value in parts.items():
            check(name, value, encoder)
        self.__dict__.update(parts)

    def __setattr__(self, name: str, value: Any) -> None:
        if type(value) not in _UNCHECKED:
            check(name, value)
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        known = ", ".join(f"`{part}`" for part in self.__dict__) or "none"
        raise AttributeError(f"the state has no part `{name}`; its parts: {known}")

    def __repr__(self) -> str:
        return f"State({', '.join(f'{name}=<{type(value).__name__}>' for name, value in self.__dict__.items())})"


_UNCHECKED = {type(None), bool, int, float, str, bytes, list, dict, tuple}
"""Contents of containers are checked when they are saved: assigning a long list every step must stay cheap."""


def via(obj: Any, save: Callable[[Any], Any], load: Callable[[Any, Any], Any]) -> Any:
    """A part of any class: `save(obj)` gives plain values and arrays, `load(obj, saved)` takes them back.

    `load` may change the object in place, or return a new one. The object is `state.part.obj`.
    """
    if not callable(save) or not callable(load):
        raise TypeError("outlast.via(obj, save, load): save and load must be functions")
    return Via(obj, save, load)


def check(name: str, value: Any, encoder: Encoder | None = None) -> None:
    """TypeError naming the part if its kind cannot be saved. Objects are believed to give what can be saved."""
    from outlast.training.encode import is_stateful
    from outlast.training.generators import kind_of

    if isinstance(value, Via) or is_stateful(value) or kind_of(value) is not None:
        return
    (encoder or Encoder()).encode(value, name)


def encode_parts(encoder: Encoder, parts: Mapping[str, Any]) -> dict[str, Any]:
    """By name, so that two processes that assigned the parts in another order write the same bytes."""
    return {name: encoder.encode(parts[name], name) for name in sorted(parts)}


def restore_parts(decoder: Decoder, trees: Mapping[str, Any], parts: dict[str, Any]) -> list[str]:
    """Brings every saved part back; returns what there is to say of parts that may not be what they should."""
    # Arrays that are parts themselves first: what else refers to one of them gets the script's own.
    for name, tree in sorted(trees.items(), key=lambda item: not is_array(item[1])):
        parts[name] = decoder.decode(tree, parts.get(name, MISSING), name)
    decoder.filling.check()
    missing = [name for name in parts if name not in trees]
    return decoder.doubts + [
        f"the checkpoint has no part `{name}`; it keeps the value that the script gave it" for name in missing
    ]
