"""Linux and macOS: what only Linux has stands in `outlast/host`, with the other way beside it."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.project.project_files import LINUX_ALONE, ROOT, SOURCE
from tools import lanes

HOST = SOURCE / "host"
EMULATOR = ROOT / "src" / "outlast_emulator"

WITH_ANOTHER_WAY = {
    "training/outputs.py": {"os.copy_file_range"},
    "training/memory.py": {"mmap.MADV_HUGEPAGE", "/proc/self/statm"},
    "engines/local/capacity.py": {"/proc/driver/nvidia/gpus"},
}
"""Asked for before they are used, right where they are: the trainer's library travels without `host`, and a path that is not there
says that there is no such thing."""

MACHINES = {"machines", "containers"}
"""The emulator's machines are isolated on Linux and plain processes elsewhere: who imports what is Linux's is asked by its own tests."""


def linux_alone(path: Path) -> Iterator[str]:
    """Names of modules that only Linux has, and paths below /proc and /sys."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in LINUX_ALONE.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.ImportFrom):
            yield from (
                f"{node.module}.{one.name}" for one in node.names if one.name in LINUX_ALONE.get(str(node.module), ())
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.startswith(("/proc/", "/sys/"))
        ):
            yield node.value


def test_what_only_linux_has_is_used_by_the_host_alone() -> None:
    found = {
        str(path.relative_to(SOURCE)): names
        for path in SOURCE.rglob("*.py")
        if HOST not in path.parents and (names := set(linux_alone(path)))
    }
    assert found == WITH_ANOTHER_WAY
    assert set(linux_alone(HOST / "system.py")) >= {"os.pidfd_open", "/proc/vmstat"}


def test_the_emulator_serves_everywhere() -> None:
    found = {
        str(path.relative_to(EMULATOR)): names
        for path in EMULATOR.rglob("*.py")
        if path.relative_to(EMULATOR).parts[0] not in MACHINES and (names := set(linux_alone(path)))
    }
    assert found == {}


def test_types_are_checked_as_a_mac_has_them(tmp_path: Path) -> None:
    assert (*lanes.ON_A_MAC, "src", "tools") in lanes.CHECKS
    (tmp_path / "mine.py").write_text(
        "import os\nfrom outlast.host.system import LINUX\n\n"
        "if LINUX:\n    os.sched_getaffinity(0)\nos.sched_getaffinity(0)\n"
    )
    program, *options = lanes.ON_A_MAC
    command = [
        str(lanes.BIN / program),
        *options,
        "--follow-imports",
        "skip",
        f"--cache-dir={tmp_path}",
        str(tmp_path / "mine.py"),
    ]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    assert len(said) == 2 and 'mine.py:6: error: Module has no attribute "sched_getaffinity"' in said[0], said
