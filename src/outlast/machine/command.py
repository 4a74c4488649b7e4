"""The trainer's command line and environment."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from outlast.agent.child import Start
from outlast.google.variables import is_google
from outlast.host.machine_dir import Assignment
from outlast.spec.spec import Target, TargetKind

if TYPE_CHECKING:
    from outlast.machine.furnish import Furnished

SHELL = "/bin/sh"
SHEBANG_BYTES_MAX = 256
PORT_FIRST, PORT_COUNT = 20000, 12000
"""Where workers meet: below the ports that the system hands out by itself."""


def argv(target: Target, python: str, work: str, args: tuple[str, ...]) -> tuple[str, ...]:
    # An interpreter would take a script's name that begins with a dash for an option of its own.
    script = f"./{target.value}" if target.value.startswith("-") else target.value
    if target.kind is TargetKind.SCRIPT:
        return (python, script, *args)
    if target.kind is TargetKind.MODULE:
        return (python, "-m", target.value, *args)
    return (*interpreter(f"{work}/{target.value}"), script, *args)


def interpreter(script: str | Path) -> tuple[str, ...]:
    """What the script's first line names, with its one argument, as the kernel reads it; else the system's shell."""
    try:
        with open(script, "rb") as file:
            line = file.read(SHEBANG_BYTES_MAX).split(b"\n", 1)[0]
    except OSError:
        line = b""
    if not line.startswith(b"#!"):
        return (SHELL,)
    words = os.fsdecode(line[2:].strip()).split(None, 1)
    return tuple(words) if words else (SHELL,)


def environment(
    assignment: Assignment,
    start: Start,
    furnished: Furnished,
    *,
    run: str,
    checkpoint: str,
    output: str,
    trainer_root: str,
) -> dict[str, str]:
    """The base that was inherited, then defaults, then the user's own, then what must hold."""
    user = dict(start.env)
    paths = [trainer_root, *furnished.paths, user.get("PYTHONPATH", "")]
    return {
        **{name: value for name, value in assignment.environ.items() if assignment.rented or not is_google(name)},
        "PYTHONUNBUFFERED": "1",
        "WANDB_RUN_ID": start.job,
        "WANDB_RESUME": "allow",
        "AIP_CHECKPOINT_DIR": checkpoint,
        "AIP_MODEL_DIR": output,
        **user,
        **furnished.secrets,
        **furnished.env,
        **({"OUTLAST_SECRETS": ",".join(sorted(furnished.secrets))} if furnished.secrets else {}),
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "OUTLAST_JOB": start.job,
        "OUTLAST_ATTEMPT": str(start.attempt),
        "OUTLAST_RUN_DIR": run,
        "OUTLAST_CHECKPOINT_DIR": checkpoint,
        "OUTLAST_OUTPUT_DIR": output,
        **_devices(assignment),
        **_gathering(assignment, start),
    }


def apart(env: Mapping[str, str], secrets: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What may be written down, and what may not. A secret whose name is one of ours has lost against it."""
    secret = {name: value for name, value in secrets.items() if env[name] == value}
    return {name: value for name, value in env.items() if name not in secret}, secret


def _devices(assignment: Assignment) -> Mapping[str, str]:
    return {} if assignment.gpus is None else {"CUDA_VISIBLE_DEVICES": ",".join(assignment.gpus)}


def _gathering(assignment: Assignment, start: Start) -> Mapping[str, str]:
    """Only where there are several: a script that sees RANK believes that it must wait for others."""
    if start.workers == 1:
        return {}
    port = PORT_FIRST + int(hashlib.sha256(assignment.launch_id.encode()).hexdigest()[:8], 16) % PORT_COUNT
    gathering = {
        "RANK": str(start.rank),
        "WORLD_SIZE": str(start.workers),
        "LOCAL_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TF_CONFIG": _tensorflow(start, port + 1),
    }
    return {name: value for name, value in gathering.items() if name not in assignment.environ}


def _tensorflow(start: Start, port: int) -> str:
    """Its workers each listen at a port of their own, beside the one where the others meet."""
    workers = [f"127.0.0.1:{port + rank}" for rank in range(start.workers)]
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": start.rank}})
