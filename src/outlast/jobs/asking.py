"""What a script asks for by name and value, as an Asked; a wrong name is answered with the legal ones."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from difflib import get_close_matches
from math import isfinite
from numbers import Real
from typing import Any

from outlast.errors import UsageError
from outlast.jobs.asked import Asked

_FIELDS = {field.name: field for field in fields(Asked)}
_LISTS = frozenset(name for name, field in _FIELDS.items() if str(field.type).startswith("tuple["))
_TABLES = frozenset(name for name, field in _FIELDS.items() if str(field.type).startswith("Mapping["))
_WORDS = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "True or False", "None": "None"}
_ONES = ("cpus", "workers", "disk_gb", "max_run_seconds")
_NOUGHTS = ("gpus", "retries", "linger_seconds", "stall_seconds", "max_cost_usd")
_LEAST = {**dict.fromkeys(_ONES, 1), **dict.fromkeys(_NOUGHTS, 0)}


def asked_by(wanted: Mapping[str, Any] | str | os.PathLike[str]) -> Asked:
    """A text or path alone is a target. Values are checked where the command line's are; here only that none is of another shape."""
    if isinstance(wanted, (str, os.PathLike)):
        wanted = {"target": wanted}
    if not isinstance(wanted, Mapping):
        raise UsageError(
            f"a job is asked for by a target or a dict, not by a `{type(wanted).__name__}`",
            hint='`submit_many([{"target": "train.py", "args": ["--seed", "1"]}, ...])`',
        )
    for name in wanted:
        if name not in _FIELDS:
            raise UsageError(f"there is no option `{name}`", hint=_legal(str(name)))
    if not isinstance(wanted.get("target"), (str, os.PathLike)):
        raise UsageError("a job needs a `target`, and that is a text", hint='`"train.py"`, a module or a shell script')
    return Asked(**{name: _shaped(name, value) for name, value in wanted.items()})


def _shaped(name: str, value: Any) -> Any:
    if name in _LISTS:
        if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
            raise UsageError(
                f"`{name}` is a list of texts, not {value!r:.80}", hint=f"`{name}=[...]`, one text for each"
            )
        return tuple(str(one) for one in value)
    if name in _TABLES and not isinstance(value, Mapping):
        raise UsageError(f"`{name}` is a dict, not {value!r:.80}", hint=f'`{name}={{"NAME": "VALUE"}}`')
    kinds = str(_FIELDS[name].type).split(" | ")
    return _plain(name, kinds, value) if _WORDS.keys() >= set(kinds) else value


def _plain(name: str, kinds: Sequence[str], value: Any) -> Any:
    """Numbers may be another library's, and texts paths."""
    found: Any = value
    hint = f"left out, it is {_with_default(name)}"
    if "int" in kinds and not isinstance(value, bool) and hasattr(value, "__index__"):
        found = operator.index(value)
    elif "float" in kinds and not isinstance(value, bool) and isinstance(value, Real):
        found = float(value)
    elif "str" in kinds and isinstance(value, (str, os.PathLike)):
        found = os.fspath(value)
    elif not ("bool" in kinds and isinstance(value, bool)) and not ("None" in kinds and value is None):
        raise UsageError(f"`{name}` is {' or '.join(_WORDS[kind] for kind in kinds)}, not {value!r:.80}", hint=hint)
    if isinstance(found, float) and not isfinite(found):
        raise UsageError(f"`{name}` is a number that has an end, not {value!r}", hint=hint)
    least = _LEAST.get(name)
    if least is not None and isinstance(found, (int, float)) and found < least:
        raise UsageError(f"`{name}` is at least {least}, not {found:g}", hint=hint)
    return found


def _legal(name: str) -> str:
    near = get_close_matches(name, _FIELDS, n=3)
    if near:
        return "did you mean " + " or ".join(f"`{one}`" for one in near) + "?"
    return "there are " + ", ".join(
        _with_default(one) for one in _FIELDS if one not in ("drill", "equipped_like", "said")
    )


def _with_default(name: str) -> str:
    default = _FIELDS[name].default
    return f"`{name}`" if default is MISSING else f"`{name}={default!r}`"
