"""Labels out of a script's arguments, as Google allows them: what runs can be found by what it was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from outlast.pattern import pattern
from outlast.spec.environment import looks_secret
from outlast.spec.names import LABEL_LENGTH_MAX

LABELS_MAX = 56
"""A resource has 64; the rest are the engine's own."""

RESERVED = ("outlast",)
"""By these a machine's owner is known: no argument may look like one."""

GOOGLES_OWN = "goog"

_NUMBER = pattern(r"-(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NOT_ALLOWED = pattern(r"[^a-z0-9_-]")


def labels_of(args: Sequence[str], given: Mapping[str, str], own: Mapping[str, str] | None = None) -> dict[str, str]:
    """All labels of what is submitted: those given by hand win over an argument's, and an argument's over our `own`.

    Where there are more than a resource may have, the arguments' last ones are left out.
    """
    by_hand, ours, from_args = _sanitised(given), _sanitised(own or {}), labels_from_args(args)
    wins = {**ours, **from_args, **by_hand}
    keys = [key for key in dict.fromkeys((*by_hand, *ours, *from_args)) if not key.startswith(RESERVED)]
    return {key: wins[key] for key in keys[:LABELS_MAX]}


def changed_labels(given: Mapping[str, str]) -> dict[str, str]:
    """Labels given by hand that a cloud has otherwise: as they were typed -> as they are there; empty: they are not."""
    found = {}
    for key, value in given.items():
        typed, legal = f"{key}={value}", label_key(key)
        there = "" if not legal or legal.startswith(RESERVED) else f"{legal}={label_value(value)}"
        if there != typed:
            found[typed] = there
    return found


def same_label(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two are the same in the words that were typed, or as a cloud has them."""
    legal = [(label_key(key), label_value(value)) for key, value in (one, other)]
    return one == other or (legal[0] == legal[1] and all(legal[0]))


def labels_from_args(args: Sequence[str]) -> dict[str, str]:
    """`--lr 0.1 --verbose` -> `{"lr": "0_1", "verbose": ""}`: what follows a flag is its value, unless it is a flag itself.

    A negative number is a value.
    """
    found: dict[str, str] = {}
    for word, following in pairwise((*args, "")):
        if not _is_flag(word):
            continue
        name, equals, value = word.partition("=")
        if not equals:
            value = "" if _is_flag(following) else following
        key = label_key(name)
        if key:
            found[key] = "" if looks_secret(key.replace("-", "_"), value) else label_value(value)
    return found


def label_key(text: str) -> str:
    """Empty where nothing is left of it."""
    key = _legal(text).lstrip("-")
    if key and (not "a" <= key[0] <= "z" or key.startswith(GOOGLES_OWN)):
        key = f"k{key}"
    return key[:LABEL_LENGTH_MAX]


def label_value(text: str) -> str:
    """A leading dash is dropped, but not a number's sign."""
    value = _legal(text)
    return (value if _NUMBER.fullmatch(text) else value.lstrip("-"))[:LABEL_LENGTH_MAX]


def _legal(text: str) -> str:
    return _NOT_ALLOWED.sub("", text.replace(".", "_").lower())


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not _NUMBER.fullmatch(word)


def _sanitised(labels: Mapping[str, str]) -> dict[str, str]:
    return {label_key(key): label_value(value) for key, value in labels.items() if label_key(key)}
