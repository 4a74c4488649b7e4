"""Clients that are programs: started with a scratch home, waited for, and shown with all they said when they fail."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

SECONDS_MAX = 300
"""No client may hang."""


def run(*command: str | Path, cwd: Path | None = None, ok: bool = True, **environment: str) -> str:
    """What it printed. The environment is the test's, which knows nothing of the machine's user."""
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=SECONDS_MAX,
        stdin=subprocess.DEVNULL,
    )
    said = ended.stdout.decode(errors="replace")
    if ok:
        assert ended.returncode == 0, f"{command}: {ended.returncode}\n{said}\n{ended.stderr.decode(errors='replace')}"
    else:
        assert ended.returncode != 0, f"{command} should have failed\n{said}"
        said += ended.stderr.decode(errors="replace")
    return said


def make_tree(directory: Path) -> Path:
    """A few files with names that must be encoded, one of them empty, one large."""
    contents = {
        "a b.txt": b"hello\n",
        "empty": b"",
        "sub/ä+%20&?.txt": b"names are encoded once",
        "sub/deeper/large.bin": random.Random(4).randbytes(9 << 20),
    }
    for name, data in contents.items():
        path = directory / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return directory / "tree"


def same_trees(one: Path, other: Path) -> bool:
    return _files(one) == _files(other)


def _files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
