"""Dependencies point down; import-linter checks the arrows, these tests check that its lists forget nothing."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.project_files import ROOT, SOURCE, children, contract, settings

THIRD_PARTY = {
    "cli": {"click", "outlast_emulator"},
    "bundle": {"tomli", "urllib3"},
    "spec": {"tomli"},
    "google": {"urllib3", "certifi", "google"},
    "machine": {"optuna"},
    "training": {"tomli"},
    "testing": {"pytest", "hypothesis", "greenlet"},
}
"""What each package may import beside the standard library; a package that is not named: nothing. tomli only stands in
for tomllib on Python 3.10, and only where a TOML file is read; a bundle's wheels are downloaded where a job is submitted, never on
its machine, which has nothing installed. Optuna is imported by one program alone, which runs in the job's own Python. The emulator is a
stranger too: one command starts it."""

FORBIDDEN_NAMES = re.compile(r"(^|_)(utils?|helpers?|common|misc|managers?|handlers?|services?|infos?)(_|$)")
FUNCTION_LINES_MAX = 70


def test_every_package_stands_in_exactly_one_layer() -> None:
    layers = contract("layers")["layers"]
    names = [name.strip() for layer in layers for name in layer.split("|")]
    assert sorted(names) == sorted(children())


def test_what_travels_to_the_trainer_imports_only_errors_and_clock() -> None:
    forbidden = {name.removeprefix("outlast.") for name in contract("trainer")["forbidden_modules"]}
    assert forbidden == children() - {"training", "errors", "clock"}


def test_only_the_command_line_knows_click() -> None:
    sources = {name.removeprefix("outlast.") for name in contract("click")["source_modules"]}
    assert sources == children() - {"cli"}


def test_third_party_modules_are_imported_only_where_the_list_says() -> None:
    surprises = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in SOURCE.rglob("*.py")
        for module in outside_modules(path)
        if module not in THIRD_PARTY.get(area(path), set())
    ]
    assert surprises == []


def test_the_package_requires_click_and_urllib3_and_on_old_pythons_tomli_and_nothing_else() -> None:
    required = settings()["project"]["dependencies"]
    assert [re.split(r"[^\w-]", line)[0] for line in required] == ["click", "tomli", "urllib3"]
    assert "python_version < '3.11'" in required[1]


def test_only_the_clock_asks_what_time_it_is() -> None:
    asking = [
        str(path.relative_to(ROOT))
        for path in SOURCE.rglob("*.py")
        if ("time" in imported_modules(path) and path.name != "clock.py") or calls_now(path)
    ]
    assert asking == []


def test_no_file_is_named_for_everything_and_nothing() -> None:
    names = [path for path in SOURCE.rglob("*") if FORBIDDEN_NAMES.search(path.stem)]
    assert names == []


def test_every_module_begins_with_its_one_job() -> None:
    silent = [path for path in SOURCE.rglob("*.py") if ast.get_docstring(parse(path)) is None]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


def test_every_function_fits_on_a_screen() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(parse(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= FUNCTION_LINES_MAX
    ]
    assert long == []


def test_the_lists_see_an_import_inside_a_function(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("def f():\n    import numpy.linalg\n    from torch import nn\n    import json\n")
    assert set(outside_modules(module)) == {"numpy", "torch"}


@pytest.mark.parametrize(
    "text", ["import datetime\ndatetime.datetime.now()", "from datetime import datetime\ndatetime.utcnow()"]
)
def test_the_clock_rule_sees_datetime(tmp_path: Path, text: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(text)
    assert calls_now(module)


def area(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


def imported_modules(path: Path) -> set[str]:
    """First names of all modules that are imported anywhere in the file, but for type checkers."""
    return set(_imports(parse(path)))


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Import):
        yield from (alias.name.split(".")[0] for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module:
        yield node.module.split(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)


def outside_modules(path: Path) -> set[str]:
    own = {"outlast", "__future__"} | set(sys.stdlib_module_names)
    return imported_modules(path) - own


def calls_now(path: Path) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("now", "utcnow", "today")
        and ast.unparse(node.func.value).split(".")[-1] in ("datetime", "date")
        for node in ast.walk(parse(path))
    )
