"""Where the project's own files are, for tests about the project itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "outlast"


def tracked_files(*patterns: str) -> list[Path]:
    """What git tracks, or would track after `git add`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def contract(contract_id: str) -> dict[str, Any]:
    contracts = settings()["tool"]["importlinter"]["contracts"]
    (found,) = [contract for contract in contracts if contract["id"] == contract_id]
    return dict(found)


def children() -> set[str]:
    """The packages and modules right below `outlast`."""
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    modules = {path.stem for path in SOURCE.glob("*.py")}
    return packages | modules - {"__init__", "__main__"}
