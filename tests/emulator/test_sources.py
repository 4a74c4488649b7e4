"""The emulator's own rules: a witness that shares nothing, needs nothing, and asks one file for the time."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import outlast_emulator

SOURCE = Path(outlast_emulator.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
OPTIONAL = {"storage/crc32c.py": {"google_crc32c"}, "testing.py": {"pytest"}}
"""What is used where it is installed."""

FORBIDDEN_NAMES = re.compile(r"(^|_)(utils?|helpers?|common|misc|managers?|handlers?|services?|infos?)(_|$)")
FUNCTION_LINES_MAX = 70


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            found.add((node.module or "").split(".")[0])
    return found


def test_it_needs_nothing_but_the_standard_library_and_knows_nothing_of_outlast() -> None:
    own = {"outlast_emulator", "__future__"}
    surprises = {
        str(path.relative_to(SOURCE)): sorted(foreign)
        for path in FILES
        if (
            foreign := _imported(path)
            - own
            - sys.stdlib_module_names
            - OPTIONAL.get(str(path.relative_to(SOURCE)), set())
        )
    }
    assert surprises == {}


def test_it_starts_where_nothing_is_installed(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from outlast_emulator.main import main; "
        "sys.exit(main(['--', sys.executable, '-c', 'raise SystemExit(5)']))"
    )
    ended = subprocess.run([sys.executable, "-I", "-S", "-c", script, str(SOURCE.parent)], cwd=tmp_path)

    assert ended.returncode == 5


def test_only_the_clock_asks_what_time_it_is() -> None:
    asking = [str(path.relative_to(SOURCE)) for path in FILES if "time" in _imported(path)]
    assert asking == ["clock.py"]


def test_every_module_begins_with_its_one_job_and_no_name_says_everything() -> None:
    assert [path for path in FILES if ast.get_docstring(ast.parse(path.read_text())) is None] == []
    assert [path for path in FILES if FORBIDDEN_NAMES.search(path.stem)] == []


def test_every_function_fits_on_a_screen() -> None:
    long = [
        f"{path.relative_to(SOURCE)}: {node.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES_MAX
    ]
    assert long == []
