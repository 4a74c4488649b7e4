"""The local engine, looked at from outside: is its supervisor well, and does anything run that should not?"""

from __future__ import annotations

import os
from pathlib import Path

from outlast.engines.engine import Examined
from outlast.engines.local.layout import VERSION, LocalDir
from outlast.engines.local.leftovers import supervisor
from outlast.host import files, health

RUN_DIR = "OUTLAST_RUN_DIR"
"""In the environment of every trainer: below its machine's directory."""


def examine(user_dir: Path) -> Examined:
    paths = LocalDir(user_dir / "local")
    waiting = _names(paths.incoming, ".json")
    known = {*waiting, *_names(paths.launches, ".json")}
    process = supervisor(paths)
    alive = process is not None and process.alive()
    told = files.read_json(paths.supervisor)
    problem, mend = "", ""
    if known and not alive:
        problem, mend = f"{len(known)} launches are there and no supervisor", "outlast jobs"
    elif alive and isinstance(told, dict) and told.get("version") != VERSION:
        problem = f"process {process.pid if process else 0} is of outlast {told.get('version')}, this is {VERSION}"
        mend = "outlast run ... relieves it; its jobs go on"
    return Examined(
        supervisor=process.pid if alive and process is not None else None,
        launches=len(known),
        strays=tuple(_strays(paths, known)),
        machines=len(_names(paths.machines, "")),
        problem=problem,
        mend=mend,
    )


def _strays(paths: LocalDir, known: set[str]) -> list[int]:
    """Processes whose machine's launch is not known any more. The launches were read before: one that began since is not among these."""
    root = f"{paths.machines}{os.sep}"
    carried = {pid: value.removeprefix(root) for pid, value in health.told(RUN_DIR).items() if value.startswith(root)}
    return sorted(pid for pid, rest in carried.items() if not _is_known(paths, known, rest.partition(os.sep)[0]))


def _is_known(paths: LocalDir, known: set[str], launch_id: str) -> bool:
    return launch_id in known or paths.holds(launch_id)


def _names(path: Path, suffix: str) -> list[str]:
    try:
        return [name.removesuffix(suffix) for name in os.listdir(path) if name.endswith(suffix)]
    except (FileNotFoundError, NotADirectoryError):
        return []
