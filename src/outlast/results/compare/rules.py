"""Which rule a file is compared by: the list of all of them."""

from __future__ import annotations

from collections.abc import Callable

from outlast.dataclass import dataclass
from outlast.results.compare import archive, checkpoint, gz, json_value, npy, pickle_value, raw, safetensors, torch_zip
from outlast.results.compare.source import DEPTH_MAX, Look, Source, Unreadable, budget

BYTES = "bytes"


@dataclass(frozen=True)
class Rule:
    name: str
    matches: Callable[[Source], bool]
    compare: Callable[[Source, Source, Look], str]


def _named(*suffixes: str) -> Callable[[Source], bool]:
    return lambda source: source.name.lower().endswith(suffixes)


def _begins(magic: bytes) -> Callable[[Source], bool]:
    return lambda source: source.magic().startswith(magic)


def _zip(*suffixes: str) -> Callable[[Source], bool]:
    return lambda source: _begins(archive.MAGIC)(source) and _named(*suffixes)(source)


def _torch(source: Source) -> bool:
    return _begins(archive.MAGIC)(source) and torch_zip.is_torch(source)


RULES: tuple[Rule, ...] = (
    Rule("checkpoint record", checkpoint.is_record, checkpoint.compare_records),
    Rule("generators of the state", checkpoint.is_generators, checkpoint.compare_generators),
    Rule("json", _named(".json"), json_value.compare),
    Rule("safetensors", _named(".safetensors"), safetensors.compare),
    Rule("npy", _begins(npy.MAGIC), npy.compare),
    Rule("npz members", _zip(".npz"), archive.compare),
    Rule("keras members", _zip(".keras"), archive.compare_keras),
    Rule("torch storages", _torch, torch_zip.compare),
    Rule("zip members", _begins(archive.MAGIC), archive.compare),
    Rule("gz content", _begins(gz.MAGIC), gz.compare),
    Rule("pickle structure", _named(".pkl", ".pickle"), pickle_value.compare),
)
"""The first one that fits both files is used; where none does, or the file is not what it seems, `bytes`."""


@dataclass(frozen=True)
class Compared:
    path: str
    rule: str
    difference: str = ""
    """In words; empty: the same, or within the tolerance."""

    within: float | None = None
    """The largest difference that the tolerance let pass; None: there was none."""


def compare_files(path: str, reference: Source, other: Source, tolerance: float | None) -> Compared:
    """Equal bytes are equal content; only files that differ are looked into."""
    difference = raw.compare(reference, other)
    rule = _choose(reference, other)
    if not difference or rule is None:
        return Compared(path, BYTES, difference)
    look = Look(_inside, budget(reference, other), tolerance)
    try:
        difference = rule.compare(reference, other, look)
    except Unreadable as error:
        return Compared(path, f"{BYTES}, not {rule.name}: {error}", difference)
    return Compared(path, rule.name, difference, look.largest if look.largest and not difference else None)


def _choose(reference: Source, other: Source) -> Rule | None:
    for rule in RULES:
        if rule.matches(reference) and rule.matches(other):
            return rule
    return None


def _inside(reference: Source, other: Source, look: Look) -> str:
    """A pair of members, each by the rule of its own format."""
    try:
        rule = _choose(reference, other) if look.depth < DEPTH_MAX else None
        if rule is not None:
            look.depth += 1
            try:
                return rule.compare(reference, other, look)
            finally:
                look.depth -= 1
    except Unreadable:
        if look.bytes_left < 0:
            raise
    return raw.compare(reference, other)
