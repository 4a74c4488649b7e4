"""A registry for each process of the tests, with a base image in it; users that know where it is, and a podman of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.user import User, stop_everything
from tests.containers.registry_server import Server, serving
from tests.environments.conftest import offline
from tests.environments.wheels import make_wheel

CONTAINERS_CONF = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "{at}/tmp"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
"""
"""A container in which limits cannot be raised, and cgroups are the host's, still runs these.

Storage alone is not all of it: where podman notes which containers have ended is one directory of the whole computer, if not said, and
`podman system reset` removes that, under every other test process.
"""


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("containers")


@pytest.fixture(scope="session")
def registry(scratch: Path) -> Iterator[Server]:
    with serving(scratch / "registry") as server:
        server.push_base()
        yield server


@pytest.fixture(scope="session")
def base(registry: Server) -> str:
    return f"{registry.host}/library/python:{_version()}"


def _version() -> str:
    from tests.containers import base_image

    return base_image.VERSION


@pytest.fixture(scope="session")
def podman_env() -> Iterator[dict[str, str]]:
    """Its storage is thrown away with the tests. Below a short path: those of its sockets have a limit, beyond which it waits in vain."""
    at = Path(tempfile.mkdtemp(prefix="pod-", dir="/tmp"))
    (at / "containers.conf").write_text(CONTAINERS_CONF.format(at=at))
    storage = f'[storage]\ndriver = "overlay"\ngraphroot = "{at}/graph"\nrunroot = "{at}/run"\n'
    (at / "storage.conf").write_text(storage)
    env = {
        "CONTAINERS_CONF": str(at / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(at / "storage.conf"),
        "BUILDAH_ISOLATION": "chroot",
    }
    yield env
    subprocess.run(
        ["podman", "system", "reset", "--force"], env={**os.environ, **env}, check=False, capture_output=True
    )
    subprocess.run(["umount", "--lazy", at / "graph" / "overlay"], check=False, capture_output=True)
    shutil.rmtree(at, ignore_errors=True)


@pytest.fixture(scope="session")
def links(scratch: Path) -> Path:
    """What packages come from."""
    make_wheel(scratch / "links", "tool")
    return scratch / "links"


@pytest.fixture
def user(
    tmp_path: Path, scratch: Path, links: Path, base: str, registry: Server, podman_env: dict[str, str]
) -> Iterator[User]:
    env = {
        **offline(tmp_path, links),
        **podman_env,
        "OUTLAST_HOME": str(scratch / "home"),
        "OUTLAST_BASE_IMAGE": base,
        "OUTLAST_REGISTRY": f"{registry.host}/{tmp_path.name.lower().replace('_', '-')}",
    }
    one = User(tmp_path, env=env)
    one.work.mkdir()
    yield one
    stop_everything(one)


def layers_of(registry: Server, image: str) -> list[str]:
    return [str(one["digest"]) for one in raw(registry, image)["layers"]]


def raw(registry: Server, image: str) -> dict[str, list[dict[str, object]]]:
    document: dict[str, list[dict[str, object]]] = registry.inspect(image, "--raw")
    return document


def podman(env: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        ["podman", *arguments], env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_image(env: dict[str, str], image: str, *command: str) -> str:
    return podman(env, "run", "--rm", "--tls-verify=false", "--network", "host", image, *command)


@pytest.fixture
def registry_place(registry: Server, tmp_path: Path) -> str:
    return f"{registry.host}/{tmp_path.name.lower().replace('_', '-')}"


def only_programs(user: User, *names: str) -> None:
    """No other builder and no other runtime is found."""
    programs = user.root / "only"
    programs.mkdir()
    for name in (*names, "python3", "sh", "env", "git"):
        found = shutil.which(name, path=user.env["PATH"])
        if found:
            os.symlink(found, programs / name)
    user.env["PATH"] = str(programs)
