"""The agent that travels to rented machines has all of this package that it asks for."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

from outlast.bundle.agent import archive

LOAD = """
import importlib, pathlib, sys
root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root))
for part in ("agent", "folder", "host", "machine", "store"):
    for path in sorted(root.glob(f"outlast/{part}/**/*.py")):
        if not path.stem.startswith("__"):
            importlib.import_module(".".join([*path.relative_to(root).parts[:-1], path.stem]))
"""


def test_what_runs_on_a_machine_finds_all_that_it_imports(tmp_path: Path) -> None:
    """In a Python that has nothing installed, as on a machine that has just booted."""
    with zipfile.ZipFile(io.BytesIO(archive(tmp_path / "cache"))) as packed:
        packed.extractall(tmp_path / "root")
    command = [sys.executable, "-I", "-S", "-c", LOAD, str(tmp_path / "root")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
