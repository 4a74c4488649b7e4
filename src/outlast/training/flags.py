"""Command-line flags out of a function's signature: their types, defaults and help."""

from __future__ import annotations

import argparse
import enum
import inspect
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from outlast.errors import UsageError
from outlast.training.fielded import fielded


@fielded(frozen=True)
class Flag:
    """One parameter of the function."""

    name: str
    annotation: Any
    default: Any
    required: bool

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")


def flags_of(function: Callable[..., Any]) -> list[Flag]:
    """TypeError for a parameter that no flag can stand for."""
    try:
        annotations = typing.get_type_hints(function)
    except NameError as error:
        raise TypeError(f"the annotations of `{function.__name__}` cannot be read: {error}") from None
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"`{parameter}` of `{function.__name__}` cannot be a flag: use named parameters")
        if parameter.name == "help":
            raise TypeError(f"`help` of `{function.__name__}` cannot be a flag: `--help` tells about the others")
        required = parameter.default is parameter.empty
        default = None if required else parameter.default
        annotation = annotations.get(parameter.name, _guess(default))
        flag = Flag(parameter.name, annotation, default, required)
        converter_of(flag)
        found.append(flag)
    return found


def _guess(default: Any) -> Any:
    """What a parameter without an annotation is, by its default; of a list, by its items if they are all of one type."""
    kinds = {type(item) for item in default} if type(default) in (list, tuple) else set()
    if len(kinds) == 1 and kinds <= {int, float, str, bool}:
        item = kinds.pop()
        return list[item] if type(default) is list else tuple[item, ...]  # type: ignore[valid-type]
    return str if default is None else type(default)


def add_flag(parser: argparse.ArgumentParser, flag: Flag) -> None:
    options = [flag.option] if "_" not in flag.name else [flag.option, f"--{flag.name}"]
    optional, inner = _without_none(flag.annotation)
    shown = "" if flag.required else f"(default: {show(flag.default)})"
    settings: dict[str, Any] = {
        "dest": flag.name,
        "default": argparse.SUPPRESS,
        "required": flag.required,
        "help": shown,
    }
    if inner is bool:
        parser.add_argument(*options, action=argparse.BooleanOptionalAction, **settings)
        return
    item = _item_of_list(inner)
    if item is not None:
        parser.add_argument(
            *options,
            nargs="*",
            type=_several(_converter(item, False)),
            action=_FlatTuple if tuple in (inner, typing.get_origin(inner)) else _Flat,
            metavar=_metavar(item),
            **settings,
        )
        return
    parser.add_argument(*options, type=_converter(inner, optional), metavar=_metavar(inner), **settings)


class _Several(list[Any]):
    """The items of one word."""


class _Flat(argparse.Action):
    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        items = [item for one in values for item in (one if isinstance(one, _Several) else [one])]
        setattr(namespace, self.dest, items)


class _FlatTuple(_Flat):
    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        super().__call__(parser, namespace, values, option_string)
        setattr(namespace, self.dest, tuple(getattr(namespace, self.dest)))


def _several(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """A whole list may stand in one word, `[64, 32]`: so a cell of a sweep is given it."""

    def read(text: str) -> Any:
        if text[:1] != "[" or text[-1:] != "]":
            return convert(text)
        from ast import literal_eval  # not on the way of a trainer that no sweep has begun

        try:
            items = literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return convert(text)
        return _Several(convert(str(item)) for item in items)

    return read


def show(value: Any) -> str:
    """As it would be typed."""
    if isinstance(value, enum.Enum):
        return value.name.lower()
    if isinstance(value, (list, tuple)):
        return " ".join(show(item) for item in value) or "(empty)"
    return str(value)


def converter_of(flag: Flag) -> None:
    _, inner = _without_none(flag.annotation)
    item = _item_of_list(inner)
    if inner is bool:
        return
    try:
        _converter(inner if item is None else item, False)
    except TypeError as error:
        raise TypeError(f"the parameter `{flag.name}` cannot be a flag: {error}") from None


def _without_none(annotation: Any) -> tuple[bool, Any]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        rest = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
        if len(rest) == 1:
            return True, rest[0]
    return False, annotation


def _item_of_list(annotation: Any) -> Any:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in (list, tuple):
        return str
    if origin is list or (origin is tuple and len(arguments) == 2 and arguments[1] is ...):
        return arguments[0]
    return None


def _metavar(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return "|".join(str(choice) for choice in typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "|".join(member.name.lower() for member in kind)
    return {int: "INT", float: "FLOAT", str: "TEXT", Path: "PATH"}.get(kind, "VALUE")


def _converter(kind: Any, optional: bool) -> Callable[[str], Any]:
    convert = _plain_converter(kind)
    if not optional:
        return convert
    return lambda text: None if text.lower() == "none" else convert(text)


def _plain_converter(kind: Any) -> Callable[[str], Any]:
    if kind in (int, float, str, Path):
        return _named(kind, _metavar(kind).lower())
    if kind is bool:
        return _choice({"true": True, "false": False})
    if typing.get_origin(kind) is typing.Literal:
        return _choice({str(choice): choice for choice in typing.get_args(kind)})
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _choice({member.name.lower(): member for member in kind} | {str(m.value): m for m in kind})
    raise TypeError(
        f"its type `{getattr(kind, '__name__', kind)}` is not one of int, float, str, bool, Path, an Enum, a Literal, "
        "Optional of these, or a list of these"
    )


def _named(kind: Any, name: str) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {'an' if name[0] in 'aeiou' else 'a'} {name}") from None

    return convert


def _choice(choices: dict[str, Any]) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        for key, value in choices.items():
            if key == text or key.lower() == text.lower():
                return value
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(choices)}")

    return convert


def plain(value: Any) -> Any:
    """A value as it is kept in a checkpoint and compared on resume."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise UsageError(f"the value {value!r} cannot be kept with a checkpoint")
