"""What is built out of the project: a wheel that works where nothing else is installed but click."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.project.project_files import ROOT, SOURCE
from tools import install

WHEEL_BYTES_MAX = 2 << 20


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the pinned backend, as `make demo` installs it."""
    if not (install.BACKEND / "hatchling").is_dir():
        pytest.fail("the build backend is missing\nhint: `make test` installs it into build/backend")
    directory = tmp_path_factory.mktemp("wheel")
    program = (
        f"import os; os.chdir({str(ROOT)!r}); from hatchling.build import build_wheel; build_wheel({str(directory)!r})"
    )
    environment = {**os.environ, "PYTHONPATH": str(install.BACKEND)}
    built = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (found,) = directory.glob("*.whl")
    return found


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {
        "outlast",
        "outlast_emulator",
        "outlast_notebook",
    }
    modules = {str(path.relative_to(SOURCE.parent)) for path in SOURCE.rglob("*.py")}
    assert modules <= set(names)
    assert "outlast/py.typed" in names
    assert "outlast/cli/pages/outlast.txt" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any("__pycache__" in name for name in names)
    assert wheel.stat().st_size < WHEEL_BYTES_MAX


def test_the_wheel_works_beside_nothing_but_click(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    import click

    os.symlink(Path(click.__file__).parent, tmp_path / "site" / "click")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path / "site")}
    for arguments in (["--help"], ["jobs"], ["config"]):
        command = [sys.executable, "-S", "-m", "outlast.cli", *arguments]
        ended = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr


def test_importing_the_package_loads_nothing_of_anybody_elses() -> None:
    program = (
        "import sys; before = set(sys.modules); import outlast; outlast.State, outlast.steps; "
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    ended = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["outlast"]


def test_the_version_is_said_the_same_everywhere() -> None:
    import outlast

    command = [sys.executable, "-m", "outlast.cli", "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.split()[-1] == outlast.__version__
    assert f"({outlast.__version__})" in (ROOT / "CHANGELOG.md").read_text()


def test_ci_runs_make_test_and_nothing_more() -> None:
    script = ROOT / ".ci" / "run"
    lines = [line for line in script.read_text().splitlines() if line and not line.startswith("#")]
    assert lines == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "export CI=true", "exec make test"]
    assert os.access(script, os.X_OK)


def test_a_benchmark_that_is_not_there_is_answered_with_those_that_are() -> None:
    for asked, code in (("nothing", 2), ("--help", 0)):
        done = subprocess.run(
            [sys.executable, "-m", "bench.bench", asked], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (code, "")
        assert "the groups are `startup`, " in done.stderr
