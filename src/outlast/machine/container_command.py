"""A trainer's command line, as one that runs it in a container."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from outlast.host import files, image_places
from outlast.host.machine_dir import Assignment, MachineDir
from outlast.machine.container_guard import SECRETS
from outlast.machine.container_run import LABEL
from outlast.spec.spec import Container

HERE = Path(__file__).parent
GUARD = f"{image_places.ROOT}/guard.py"
PYTHON = "python3"
"""In the image; the one that its PATH finds."""

NOBODY = {"HOME": "/tmp", "LOGNAME": "outlast", "USER": "outlast"}  # noqa: S108 - in the image, and nobody else is in there
"""An image knows root alone: whoever else asks for a name finds none, and for a place of his own the root directory."""

ORDER = "container.json"
LOCK = "container.lock"


def contained(
    container: Container,
    assignment: Assignment,
    paths: MachineDir,
    command: tuple[str, ...],
    variables: Iterable[str],
    mounts: Iterable[Path],
    secrets: Iterable[str] = (),
) -> tuple[str, ...]:
    """`variables`: names of those that the container is given; their values are in the environment, and in no command line.

    `secrets`: those of them that the runtime, which writes down all that it is told, is not told either: the guard reads them.
    `mounts`: what is seen inside too, under the same path, and cannot be changed there.
    """
    lock = f"{paths.run}/{LOCK}"
    name = re.sub(r"[^a-zA-Z0-9_.-]+", "-", f"outlast-{assignment.machine}")
    docker = os.path.basename(container.runtime) == "docker"
    words = [container.runtime, "run", "--rm", "--name", name, *_shared(container.args)]
    words += ["--label", f"{LABEL}={lock}"]
    words += _mount(Path(paths.path), Path(paths.path), writable=True)
    for path in mounts:
        if path.exists():
            words += _mount(path, path)
    words += _mount(HERE / "container_guard.py", Path(GUARD))
    words += ["--workdir", paths.work, "--entrypoint", PYTHON]
    hidden = sorted(secrets)
    shown = set(variables) - set(hidden)
    if assignment.gpus is not None:
        shown.add("CUDA_VISIBLE_DEVICES")  # also where the shell had the same: the container sees all that are here
    for variable in sorted(shown):
        words += ["--env", variable]
    words += ["--interactive"] if hidden else []
    if docker:
        words += docker_user(os.getuid(), os.getgid(), shown)
    else:
        words += ["--quiet", "--security-opt", "label=disable"]
    if assignment.gpus:
        words += ["--gpus", "all"] if docker else ["--device", "nvidia.com/gpu=all"]
    words += [*container.args, container.image, GUARD, lock, SECRETS if hidden else "-", *command]
    order = {
        "runtime": container.runtime,
        "name": name,
        "image": container.image,
        "load": list(container.load),
        "environ": dict(container.environ),
        "lock": lock,
        "secrets": hidden,
        "gpus": bool(assignment.gpus),
        "command": words,
    }
    written = f"{paths.run}/{ORDER}"
    files.put_json(written, order)
    return (sys.executable, "-I", str(HERE / "container_run.py"), written)


def docker_user(user: int, group: int, variables: set[str]) -> list[str]:
    """What is written belongs to whoever runs the job, though a daemon of root's starts it; podman sees to that by itself."""
    words = ["--user", f"{user}:{group}"]
    for variable in sorted(NOBODY.keys() - variables) if user else ():
        words += ["--env", f"{variable}={NOBODY[variable]}"]
    return words


def _shared(args: Iterable[str]) -> list[str]:
    """What the container has in common with this computer, but for what was asked to be otherwise: a runtime takes no second word on it."""
    given = {word.partition("=")[0] for word in args}
    network = [] if given & {"--network", "--net"} else ["--network", "host"]
    return network if given & {"--ipc", "--shm-size"} else [*network, "--ipc", "host"]


def _mount(source: Path, target: Path, *, writable: bool = False) -> list[str]:
    return ["--volume", f"{source}:{target}{'' if writable else ':ro'}"]
