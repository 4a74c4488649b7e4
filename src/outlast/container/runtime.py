"""The program on this computer that runs containers: podman or docker, whichever is there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from outlast.errors import NotFound, OutlastError

RUNTIMES = ("podman", "docker")
VARIABLES = (
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "CONTAINER_HOST",
)
VARIABLE_BEGINNINGS = ("CONTAINERS_", "REGISTRY_AUTH_")
"""What tells a runtime where its storage, its server and its logins are."""

LOAD_SECONDS_MAX = 3600.0
SAID_MAX = 1000


def find_runtime(environ: Mapping[str, str]) -> str:
    """Its path."""
    path = environ.get("PATH", os.defpath)
    for name in RUNTIMES:
        found = shutil.which(name, path=path)
        if found:
            return found
    raise NotFound(
        f"no program on this computer runs containers: neither {' nor '.join(f'`{name}`' for name in RUNTIMES)} is on the PATH",
        state="nothing was submitted, nothing is being spent",
        hint="`sudo apt-get install podman`, or leave out `--container`",
    )


def runtime_variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name in VARIABLES or name.startswith(VARIABLE_BEGINNINGS)}


def has_image(runtime: str, image: str, environ: Mapping[str, str]) -> bool:
    command = [runtime, "image", "inspect", "--format", "{{.Id}}", image]
    return subprocess.run(command, capture_output=True, check=False, env=dict(environ)).returncode == 0


def load_command(runtime: str, layout: Path, name: str) -> list[str]:
    """Takes an image out of an OCI layout; docker reads one from an archive of the directory."""
    if os.path.basename(runtime) == "docker":
        return ["sh", "-c", 'tar -C "$1" -cf - . | "$2" load', "sh", str(layout), runtime]
    return [runtime, "pull", "--quiet", f"oci:{layout}:{name}"]


def load_image(runtime: str, layout: Path, name: str, ids: Sequence[str], environ: Mapping[str, str]) -> str:
    """Which of the `ids` it knows it by. Each question takes a tenth of a second; only docker may answer to the second one."""
    ids = ids if os.path.basename(runtime) == "docker" else ids[:1]
    found = _known(runtime, ids, environ)
    if found:
        return found
    command = load_command(runtime, layout, name)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=LOAD_SECONDS_MAX, env=dict(environ)
    )
    if done.returncode != 0:
        raise OutlastError(
            f"`{os.path.basename(runtime)}` does not take the image: {done.stderr.strip()[-SAID_MAX:]}",
            state="nothing was submitted, nothing is being spent",
            hint=f"see whether `{os.path.basename(runtime)} info` says that it works",
        )
    found = _known(runtime, ids, environ)
    if not found:
        raise OutlastError(
            f"`{os.path.basename(runtime)}` has taken the image, and does not know it: {done.stdout.strip()[-SAID_MAX:]}",
            state="nothing was submitted, nothing is being spent",
            hint="`--registry HOST/PATH` takes it through a registry instead",
        )
    return found


def _known(runtime: str, ids: Iterable[str], environ: Mapping[str, str]) -> str:
    return next((one for one in ids if has_image(runtime, one, environ)), "")
