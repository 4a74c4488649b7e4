"""What commands have left that were killed while they built: named by who made it, and removed by whoever builds next."""

from __future__ import annotations

import os
from pathlib import Path

from outlast.host import system


def own(prefix: str) -> str:
    """The beginning of a scratch file's or directory's name, by which it is known to be this process's."""
    return f"{prefix}{os.getpid()}-"


def sweep(folder: Path, prefix: str) -> None:
    for name in os.listdir(folder) if folder.is_dir() else ():
        maker = name.removeprefix(prefix).partition("-")[0] if name.startswith(prefix) else ""
        if not maker.isdigit() or system.start_time(int(maker)):
            continue
        path = folder / name
        if path.is_dir():
            import shutil

            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
