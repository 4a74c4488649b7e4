"""The flags of an `@outlast.main` script, read from its text: nothing of it is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from outlast.dataclass import dataclass
from outlast.spec.plain_file import read_plain
from outlast.spec.spec import Target, TargetKind

SOURCE_BYTES_MAX = 16 << 20
KINDS = ("int", "float", "str", "bool")
COMMON = ("mode", "job_dir", "dataset", "split", "train_steps", "checkpoint_steps")
"""What every trainer has beside its own."""

UNKNOWN = object()
"""A default that is computed when the script runs."""


@dataclass(frozen=True)
class TrainerFlag:
    name: str
    """As the parameter is called."""

    kind: str = ""
    """One of KINDS; empty: another one, or not to be known from the text."""

    required: bool = False
    default: Any = UNKNOWN
    optional: bool = False
    """`none` is a value of it."""

    @property
    def shown(self) -> str:
        return self.name.replace("_", "-")

    def spellings(self) -> tuple[str, ...]:
        """What a key may be called that sets it; of a truth also what unsets it."""
        both = tuple(dict.fromkeys((self.shown, self.name)))
        return (*both, *(f"no-{one}" for one in both)) if self.kind == "bool" else both


@dataclass(frozen=True)
class Trainer:
    """A function that `@outlast.main` makes a command."""

    function: str
    flags: tuple[TrainerFlag, ...]

    def flag(self, key: str) -> TrainerFlag | None:
        return next((flag for flag in self.flags if key in flag.spellings()), None)


def trainer_of_target(target: Target, directory: Path) -> Trainer | None:
    """None: its target is no script with `@outlast.main`, or cannot be read as Python of this version."""
    path = _source_of(target, directory)
    if path is None:
        return None
    try:
        return trainer_of(read_plain(path, SOURCE_BYTES_MAX))
    except OSError:
        return None  # it was seen to be there before: whoever packs it says what is wrong


def _source_of(target: Target, directory: Path) -> Path | None:
    if target.kind is TargetKind.SCRIPT:
        return directory / target.value
    if target.kind is TargetKind.SHELL:
        return None
    module = directory.joinpath(*target.value.split("."))
    file = module.with_name(f"{module.name}.py")
    return file if file.is_file() else module / "__main__.py"


def trainer_of(source: bytes) -> Trainer | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    decorators = set(_names_of_main(tree))
    if not decorators:
        return None
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and any(ast.unparse(decorator) in decorators for decorator in node.decorator_list)
    ]
    if not found:
        return None
    own = {flag.name: flag for function in found for flag in _parameters(function)}
    common = {name: TrainerFlag(name, "int" if name.endswith("_steps") else "str") for name in COMMON}
    return Trainer(found[0].name, tuple({**own, **{name: common[name] for name in COMMON if name not in own}}.values()))


def _names_of_main(tree: ast.Module) -> Iterator[str]:
    """What `outlast.main` is called in this file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.split(".")[0] == "outlast" and (one.asname is None or one.name == "outlast"):
                    yield f"{one.asname or 'outlast'}.main"
        elif isinstance(node, ast.ImportFrom) and node.module == "outlast" and not node.level:
            for one in node.names:
                if one.name in ("main", "*"):
                    yield one.asname or "main"


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[TrainerFlag]:
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    missing = [None] * (len(plain) - len(given.defaults))
    pairs = [
        *zip(plain, [*missing, *given.defaults], strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]
    for parameter, default in pairs:
        value = UNKNOWN if default is None else _literal(default)
        kind = _kind(parameter.annotation) if parameter.annotation is not None else _kind_of_value(value)
        optional = parameter.annotation is not None and _is_optional(parameter.annotation)
        yield TrainerFlag(parameter.arg, kind, required=default is None, default=value, optional=optional)


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return UNKNOWN


def _kind_of_value(value: Any) -> str:
    kind = type(value).__name__
    return kind if kind in KINDS else ""


def _kind(annotation: ast.expr) -> str:
    """Of `int`, `int | None`, `Optional[int]`, or any of these in quotes."""
    annotation = _unquoted(annotation)
    if _is_optional(annotation):
        return _kind(_inner(annotation))
    name = ast.unparse(annotation)
    return name if name in KINDS else ""


def _is_optional(annotation: ast.expr) -> bool:
    return _inner(_unquoted(annotation)) is not _unquoted(annotation)


def _inner(annotation: ast.expr) -> ast.expr:
    """Without `None`."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        sides = [side for side in (annotation.left, annotation.right) if not _is_none(side)]
        return sides[0] if len(sides) == 1 else annotation
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in ("Optional", "typing.Optional"):
        return annotation.slice
    return annotation


def _unquoted(annotation: ast.expr) -> ast.expr:
    if not isinstance(annotation, ast.Constant) or not isinstance(annotation.value, str):
        return annotation
    try:
        return ast.parse(annotation.value, mode="eval").body
    except (SyntaxError, ValueError):
        return annotation


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
