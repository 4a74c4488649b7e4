"""Whether a Python's version is one that a project says it needs (`>=3.10,<3.13`)."""

from __future__ import annotations

import re

from outlast.pattern import pattern

_CLAUSE = pattern(r"\s*(?P<operator>>=|<=|==|!=|~=|>|<|===)\s*(?P<version>\d+(?:\.\d+)*)(?P<any>\.\*)?\s*")


def allows(specifier: str, version: str) -> bool:
    """Also true for what we do not understand: the resolver then says so."""
    have = _numbers(version)
    for clause in filter(None, specifier.split(",")):
        found = _CLAUSE.fullmatch(clause)
        if found is None:
            continue
        want = _numbers(found["version"])
        if not _holds(found["operator"], have, want, prefix=bool(found["any"])):
            return False
    return True


def lowest(specifier: str) -> str:
    """The minor version to offer, if the specifier names one."""
    found = re.search(r"(?:>=|==|~=)\s*(\d+\.\d+)", specifier)
    return found[1] if found else ""


def _holds(operator: str, have: tuple[int, ...], want: tuple[int, ...], *, prefix: bool) -> bool:
    if prefix:
        same = have[: len(want)] == want
        return same if operator == "==" else not same
    width = max(len(have), len(want))
    left, right = have + (0,) * (width - len(have)), want + (0,) * (width - len(want))
    if operator == "~=":
        return left >= right and have[: len(want) - 1] == want[:-1]
    return {
        ">=": left >= right,
        "<=": left <= right,
        ">": left > right,
        "<": left < right,
        "!=": left != right,
    }.get(operator, left == right)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
