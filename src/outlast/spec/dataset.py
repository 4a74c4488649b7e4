"""`--dataset`: what was typed taken apart, the variables that the trainer finds it by, and the names that datasets have."""

from __future__ import annotations

import re

from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.names import legal_name, shown

NAME_LENGTH_MAX = 63
VARIABLE = "OUTLAST_DATASET"
URL_VARIABLE = "OUTLAST_DATASET_URL"

_HANDLE = pattern(r"([A-Za-z][A-Za-z0-9_-]{0,39})=(.+)", re.DOTALL)
_NAME = pattern(r"[a-z0-9][a-z0-9._-]{0,62}")
_URL = pattern(r"[A-Za-z][A-Za-z0-9+.-]*://")


def split_dataset(text: str) -> tuple[str, str]:
    """(the name by which the script asks for it, or nothing; what it is) of `DIR` or `NAME=DIR`."""
    found = _HANDLE.fullmatch(text)
    if found is None:
        if not text or "\0" in text:
            raise UsageError(f"{shown(text)} is no dataset", hint="`--dataset DIRECTORY` or `--dataset NAME=DIRECTORY`")
        return "", text
    return check_handle(found[1]), found[2]


def check_handle(name: str) -> str:
    """A name that becomes part of a variable's."""
    if _suffix(name) == "URL" or _suffix(name).startswith("URL_"):
        raise UsageError(f"a dataset cannot be called {shown(name)}: `{URL_VARIABLE}` has a meaning of its own")
    return name


def variables(names: list[str]) -> dict[str, tuple[str, ...]]:
    """Name -> suffixes of the variables that lead to it. The one without a name, or the only one, has none: `OUTLAST_DATASET`."""
    found: dict[str, tuple[str, ...]] = {}
    seen: dict[str, str] = {}
    for name in names:
        suffix = f"_{_suffix(name)}" if name else ""
        other = seen.setdefault(suffix, name)
        if other != name or name in found:
            raise UsageError(
                f"two datasets would both be `{VARIABLE}{suffix}`",
                hint="give each a name of its own: `--dataset train=DIRECTORY --dataset val=DIRECTORY`",
            )
        found[name] = (suffix, "") if name and len(names) == 1 else (suffix,)
    return found


def is_url(text: str) -> bool:
    return _URL.match(text) is not None


def check_dataset_name(text: str) -> str:
    if _NAME.fullmatch(text):
        return text
    raise UsageError(
        f"{shown(text)} cannot be a dataset's name: at most {NAME_LENGTH_MAX} of a-z, 0-9, `.`, `_` and `-`",
        hint=f"`{legal_dataset_name(text)}` can",
    )


def legal_dataset_name(text: str) -> str:
    return text if _NAME.fullmatch(text) else legal_name(text, NAME_LENGTH_MAX)


def _suffix(name: str) -> str:
    """As `outlast.dataset(name)` looks for it."""
    return re.sub(r"[^A-Z0-9]", "_", name.upper())
