"""Random generators: the state of one object, and of the global ones that a script uses without naming them.

A state is made of plain values and arrays only, and it is a copy: going on drawing does not change it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from outlast.training import arrays


def kind_of(value: object) -> str | None:
    """`random`, `numpy.Generator`, `numpy.RandomState`, `numpy.BitGenerator` or `torch.Generator`; None: not a generator."""
    random, numpy, torch = (sys.modules.get(name) for name in ("random", "numpy.random", "torch"))
    if random is not None and isinstance(value, random.Random):
        return None if isinstance(value, random.SystemRandom) else "random"
    if numpy is not None:
        for name in ("Generator", "RandomState", "BitGenerator"):
            if isinstance(value, getattr(numpy, name)):
                return f"numpy.{name}"
    if torch is not None and isinstance(value, torch.Generator):
        return "torch.Generator"
    return None


def get_state(value: Any) -> Any:
    kind = kind_of(value)
    if kind == "random":
        return value.getstate()
    if kind == "numpy.Generator":
        return _bits_state(value.bit_generator)
    if kind == "numpy.RandomState":
        return value.get_state(legacy=False)
    if kind == "numpy.BitGenerator":
        return _bits_state(value)
    assert kind == "torch.Generator"
    return value.get_state()


def set_state(value: Any, state: Any) -> None:
    """ValueError if the state is of another kind of generator."""
    kind = kind_of(value)
    if kind == "random":
        value.setstate(state)
    elif kind == "numpy.Generator":
        _set_bits_state(value.bit_generator, state)
    elif kind == "numpy.RandomState":
        value.set_state(state)
    elif kind == "numpy.BitGenerator":
        _set_bits_state(value, state)
    else:
        assert kind == "torch.Generator"
        value.set_state(state)


def same_state(one: Any, other: Any) -> bool:
    """Whether two states of one generator are equal: it would draw the same numbers next."""
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same_state(value, other[name]) for name, value in one.items())
    library = arrays.library_of(one)
    return bool(one == other) if library is None else library.raw(one) == library.raw(other)


SEED = "seed"
"""Beside what numpy says of a generator: what `spawn` goes by."""

SPAWN_AT_ONCE = 1000


def _bits_state(bits: Any) -> dict[str, Any]:
    """With the seed that its children are made of, if it has any: how many there are decides what the next one draws."""
    state, seed = dict(bits.state), _seed(bits)
    if getattr(seed, "n_children_spawned", 0):
        state[SEED] = {
            "entropy": _entropy(seed),
            "spawn_key": tuple(seed.spawn_key),
            "pool_size": seed.pool_size,
            "n_children_spawned": seed.n_children_spawned,
        }
    return state


def _set_bits_state(bits: Any, state: dict[str, Any]) -> None:
    bits.state = {name: value for name, value in state.items() if name != SEED}
    saved, seed = state.get(SEED), _seed(bits)
    if not saved or seed is None or (_entropy(seed), tuple(seed.spawn_key)) != (saved["entropy"], saved["spawn_key"]):
        return  # nobody seeded it: its children differ from life to life in any case
    left = saved["n_children_spawned"] - seed.n_children_spawned  # less than none: a seed does not go back
    for made in range(0, left, SPAWN_AT_ONCE):
        seed.spawn(min(SPAWN_AT_ONCE, left - made))


def _entropy(seed: Any) -> Any:
    """A number or several, in whatever the script has given them."""
    given = seed.entropy
    if callable(getattr(given, "tolist", None)):
        return given.tolist()  # an array's
    return list(given) if isinstance(given, (list, tuple)) else given


def _seed(bits: Any) -> Any:
    return getattr(bits, "seed_seq", None) or getattr(bits, "_seed_seq", None)  # the second: numpy before 1.25


def make(kind: str, state: Any) -> Any:
    """A new generator of that kind and state, for a part that has no generator yet to restore into."""
    if kind == "random":
        value = importlib.import_module("random").Random()
    elif kind == "torch.Generator":
        value = importlib.import_module("torch").Generator()
    else:
        numpy = importlib.import_module("numpy.random")
        name = str(state["bit_generator"])
        if name not in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
            raise ValueError(f"numpy has no bit generator called {name!r}")
        seed = state.get(SEED)
        bits = getattr(numpy, name)(numpy.SeedSequence(**seed) if seed else None)
        value = {"Generator": numpy.Generator, "RandomState": numpy.RandomState}.get(
            kind.removeprefix("numpy."), lambda made: made
        )(bits)
    set_state(value, state)
    return value


def global_states(*, devices: bool = True) -> dict[str, Any]:
    """The global generators of the modules that this process has imported. `devices`: the ones on GPUs too."""
    states: dict[str, Any] = {}
    if (random := sys.modules.get("random")) is not None:
        states["random"] = random.getstate()
    if (numpy := sys.modules.get("numpy.random")) is not None:
        states["numpy"] = numpy.get_state(legacy=False)
    if (torch := sys.modules.get("torch")) is not None:
        states["torch"] = torch.get_rng_state()
        if devices and torch.cuda.is_initialized():
            states["cuda"] = torch.cuda.get_rng_state_all()
        if devices and getattr(torch, "mps", None) is not None and torch.backends.mps.is_available():
            states["mps"] = torch.mps.get_rng_state()
    return states


def set_global_states(states: Mapping[str, Any]) -> None:
    """What was saved is set, even if the script has not imported the module yet: it had when it was saved."""
    if "random" in states:
        importlib.import_module("random").setstate(states["random"])
    if "numpy" in states:
        importlib.import_module("numpy.random").set_state(states["numpy"])
    if "torch" in states:
        torch = importlib.import_module("torch")
        torch.set_rng_state(states["torch"])
        if "cuda" in states and torch.cuda.is_available():
            # Fewer GPUs than before: the first ones keep theirs.
            torch.cuda.set_rng_state_all(states["cuda"][: torch.cuda.device_count()])
        if "mps" in states and torch.backends.mps.is_available():
            torch.mps.set_rng_state(states["mps"])
