"""Random generators: the state of one object, and of the global ones that a script uses without naming them.

A state is made of plain values and arrays only, and it is a copy: going on drawing does not change it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any


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
        return value.bit_generator.state
    if kind == "numpy.RandomState":
        return value.get_state(legacy=False)
    if kind == "numpy.BitGenerator":
        return value.state
    assert kind == "torch.Generator"
    return value.get_state()


def set_state(value: Any, state: Any) -> None:
    """ValueError if the state is of another kind of generator."""
    kind = kind_of(value)
    if kind == "random":
        value.setstate(state)
    elif kind == "numpy.Generator":
        value.bit_generator.state = state
    elif kind == "numpy.RandomState":
        value.set_state(state)
    elif kind == "numpy.BitGenerator":
        value.state = state
    else:
        assert kind == "torch.Generator"
        value.set_state(state)


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
        bits = getattr(numpy, name)()
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
