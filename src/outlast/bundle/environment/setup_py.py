"""What a project without `pyproject.toml` declares: `setup.cfg`, and `setup.py`, which is read and never run."""

from __future__ import annotations

import ast
import configparser
from pathlib import Path
from typing import Any

from outlast.errors import UsageError
from outlast.spec.plain_file import read_plain

SETUP_PY, SETUP_CFG = "setup.py", "setup.cfg"
BYTES_MAX = 1 << 20

NAMES = {
    "name": "name",
    "install_requires": "dependencies",
    "extras_require": "optional-dependencies",
    "python_requires": "requires-python",
}
"""An argument of `setup` -> what the `[project]` table calls it."""


class Computed(Exception):
    """A value that only running the file would tell."""


def read_setup(directory: Path) -> tuple[str, dict[str, Any]]:
    """(the file's name, a `[project]` table). `Computed` if `setup.py` works out what it declares."""
    table = _of_cfg(directory / SETUP_CFG)
    if (directory / SETUP_PY).is_file():
        table |= _of_py(directory / SETUP_PY)
        return SETUP_PY, table
    return SETUP_CFG, table


def _of_cfg(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(read_plain(path, BYTES_MAX).decode())
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise UsageError(f"`{path.name}` cannot be read: {error}") from error
    table: dict[str, Any] = {}
    if parser.has_option("metadata", "name"):
        table["name"] = parser["metadata"]["name"]
    if parser.has_option("options", "python_requires"):
        table["requires-python"] = parser["options"]["python_requires"]
    if parser.has_option("options", "install_requires"):
        table["dependencies"] = _lines(parser["options"]["install_requires"])
    if parser.has_section("options.extras_require"):
        table["optional-dependencies"] = {name: _lines(text) for name, text in parser["options.extras_require"].items()}
    return table


def _lines(text: str) -> list[str]:
    """A list, one each line or between `;` on one, as setuptools reads it."""
    words = text.splitlines() if "\n" in text.strip() else text.split(";")
    return [word.strip() for word in words if word.strip() and not word.strip().startswith("#")]


def _of_py(path: Path) -> dict[str, Any]:
    try:
        tree = ast.parse(read_plain(path, BYTES_MAX))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        raise UsageError(f"`{path.name}` cannot be read: {error}") from error
    call = next((node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_setup(node)), None)
    if call is None:
        return {}
    known = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise Computed  # `setup(**something)`
        if keyword.arg in NAMES:
            value = _value(keyword.value, known, depth=0)
            found[NAMES[keyword.arg]] = (
                [value] if keyword.arg == "install_requires" and isinstance(value, str) else value
            )
    return found


def _is_setup(call: ast.Call) -> bool:
    name = call.func
    return (isinstance(name, ast.Name) and name.id == "setup") or (
        isinstance(name, ast.Attribute) and name.attr == "setup"
    )


def _value(node: ast.expr, known: dict[str, ast.expr], depth: int) -> Any:
    """Literals, names that stand for them, and sums of both."""
    if depth > 20:
        raise Computed
    if isinstance(node, ast.Name) and node.id in known:
        return _value(known[node.id], known, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        try:
            return _value(node.left, known, depth + 1) + _value(node.right, known, depth + 1)
        except TypeError:
            raise Computed from None
    if isinstance(node, ast.Tuple | ast.List):
        return [_value(one, known, depth + 1) for one in node.elts]
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [_value(one, known, depth + 1) for one in node.keys if one is not None]
        values = [_value(one, known, depth + 1) for one in node.values]
        return {str(key): [one] if isinstance(one, str) else one for key, one in zip(keys, values, strict=True)}
    if isinstance(node, ast.Constant):
        return node.value
    raise Computed
