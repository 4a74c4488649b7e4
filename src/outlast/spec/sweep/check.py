"""A sweep's keys and values against the flags of its script, before anything is submitted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from outlast.errors import UsageError
from outlast.spec.names import shown
from outlast.spec.spec import Target
from outlast.spec.sweep.expand import Expansion
from outlast.spec.sweep.grammar import Place, written
from outlast.spec.sweep.space import Kind, Space
from outlast.spec.sweep.trainer_flags import COMMON, Trainer, TrainerFlag, trainer_of_target


def check_keys(cells: Expansion | Space, trainer: Trainer, where: str, script: str, args: Sequence[str] = ()) -> None:
    """UsageError for a key that no flag of the script takes, a value that its flag cannot have, or a flag that must be given and is not.

    `where` and `script` are what the file and the target are called in errors; `args`: the arguments that all cells are given.
    """
    place = Place(where)
    for key in cells.names():
        flag = trainer.flag(key)
        if flag is None:
            raise _unknown(key, trainer, place.at(key), script)
        _check_values(key, flag, _values(cells, key), place.at(key), script)
    given = _given(args, trainer, script)
    groups = {tuple(grid.names()) for grid in cells.grids} if isinstance(cells, Expansion) else {cells.names()}
    for names in sorted(groups):
        _check_whole(names, given, trainer, place, script)


def _given(args: Sequence[str], trainer: Trainer, script: str) -> set[str]:
    """The flags among the arguments that all cells are given; one that the script has not would fail every cell."""
    words = [word for word in args if word.startswith("--") and " " not in word]
    given = {word[2:].partition("=")[0] for word in words[: words.index("--") if "--" in words else None]}
    for name in sorted(given - {"help"}):
        if trainer.flag(name) is None:
            raise _unknown(name, trainer, Place(f"-- --{name}"), script)
    return given


def check_against_target(
    cells: Expansion | Space, target: Target, directory: Path, where: str, args: Sequence[str] = ()
) -> None:
    """As `check_keys`, if the target is a script with `@outlast.main`; of others nothing is known."""
    trainer = trainer_of_target(target, directory)
    if trainer is not None:
        check_keys(cells, trainer, where, target.value, args)


def _unknown(key: str, trainer: Trainer, place: Place, script: str) -> UsageError:
    from difflib import get_close_matches

    own = [flag.shown for flag in trainer.flags if flag.name not in COMMON]
    all_keys = [one for flag in trainer.flags for one in flag.spellings()]
    bare = key.lstrip("-")
    by_lower = {one.lower(): one for one in all_keys}
    close = get_close_matches(bare.lower(), by_lower, n=1, cutoff=0.6)
    near = bare if bare in all_keys else by_lower[close[0]] if close else ""
    there = ", ".join(f"`{name}`" for name in own) or "none of its own"
    every = ", ".join(f"`{name.replace('_', '-')}`" for name in COMMON if any(f.name == name for f in trainer.flags))
    return place.error(
        f"`{script}` has no such flag; there are {there}, and {every} of every trainer",
        f"did you mean `{near}`?" if near else f"keys are the parameters of `{trainer.function}` in `{script}`",
    )


def _values(cells: Expansion | Space, key: str) -> list[Any]:
    """All that a key may be, a range by its ends."""
    if isinstance(cells, Expansion):
        return [value for grid in cells.grids for value in grid.values(key)]
    found: list[Any] = []
    for one in cells.dimensions:
        if key in one.names and one.kind is Kind.CHOICE:
            found += [choice[one.names.index(key)] for choice in one.choices]
        elif key in one.names:
            found += [int(one.low)] if one.kind is Kind.INT else [float(one.low) + 0.5]
    return found


def _check_values(key: str, flag: TrainerFlag, values: Sequence[Any], place: Place, script: str) -> None:
    if flag.kind == "bool":
        _check_truths(key, flag, values, place, script)
        return
    for value in values:
        if value is True:
            raise place.error(
                f"`true` gives `--{key}` alone, and that flag of `{script}` takes a value", "write a value"
            )
        if value is not False and not _is_of(flag, value):
            raise place.error(
                f"{written(value)} is no value of `--{flag.shown}`, which is {_kind_words(flag.kind)} in `{script}`",
                f"write {_kind_words(flag.kind)}",
            )
        if _looks_like_a_flag(str(value)):
            raise place.error(
                f"{written(value)} begins with a dash, and `{script}` would take it for a flag",
                f"`-- --{flag.shown}={value}` gives it to every cell",
            )


def _check_truths(key: str, flag: TrainerFlag, values: Sequence[Any], place: Place, script: str) -> None:
    for value in values:
        if not isinstance(value, bool):
            raise place.error(
                f"{written(value)} is no value of `--{flag.shown}`, which is `true` or `false` in `{script}`",
                "write `true`, `false` or a list of these",
            )
    unsets = key not in (flag.name, flag.shown)
    if False in values and not unsets and flag.default is True:
        raise place.error(
            f"`false` gives no flag at all, and then `{flag.name}` is `True` in `{script}`: its default",
            f'`"no-{flag.shown}": [true, false]` gives `--no-{flag.shown}`, and nothing',
        )


def _is_of(flag: TrainerFlag, value: Any) -> bool:
    if flag.kind not in ("int", "float"):
        return True
    try:
        int(str(value)) if flag.kind == "int" else float(str(value))
    except ValueError:
        return flag.optional and str(value).lower() == "none"
    return True


def _looks_like_a_flag(text: str) -> bool:
    """As a parser of command lines sees it: negative numbers, and what has a space in it, are values."""
    if not text.startswith("-") or text == "-" or " " in text:
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def _kind_words(kind: str) -> str:
    return {"int": "a whole number", "float": "a number"}.get(kind, "text")


def _check_whole(names: Sequence[str], given: set[str], trainer: Trainer, place: Place, script: str) -> None:
    """Each flag once, and none missing."""
    for flag in trainer.flags:
        keys = [key for key in names if key in flag.spellings()]
        if len(keys) > 1:
            raise place.at(keys[1]).error(
                f"it is the same flag as the key {shown(keys[0])}", "a flag stands in one key only"
            )
        if flag.required and not keys and not given & set(flag.spellings()):
            raise place.error(
                f"`{script}` needs `--{flag.shown}`, and not every cell has it",
                f"add the key `{flag.shown}`, or give it to all: `-- --{flag.shown} VALUE`",
            )
