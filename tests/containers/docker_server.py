"""A docker daemon of the tests' own: its images, containers and sockets are below one directory, and no network is touched."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

UP_SECONDS_MAX = 120.0
END_SECONDS_MAX = 60.0
OPTIONS = (
    *("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-masq=false", "--ip-forward=false"),
    *("--userland-proxy=false", "--exec-opt=native.cgroupdriver=cgroupfs", "--shutdown-timeout=5"),
)


@contextlib.contextmanager
def docker_running(at: Path) -> Iterator[dict[str, str]]:
    """What tells docker's client where it is. `at`: a short path; those of its sockets have a limit."""
    env = {"DOCKER_HOST": f"unix://{at}/socket", "DOCKER_CONFIG": str(at / "client")}
    (at / "daemon.json").write_text("{}")  # that of this computer is not meant
    places = {"config-file": "daemon.json", "data-root": "data", "exec-root": "exec", "pidfile": "pid"}
    namespace = at.name.replace("_", "x")  # such a name may not end in one
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"  # its runc, too
    command = [
        shutil.which("dockerd", path=path) or "dockerd",
        *(f"--{name}={at / place}" for name, place in places.items()),
        f"--host={env['DOCKER_HOST']}",
        f"--containerd-namespace={namespace}",  # where this computer has a containerd of its own, that one is used
        f"--containerd-plugins-namespace={namespace}-plugins",
        *OPTIONS,
    ]
    with open(at / "log", "wb") as log:
        environ = {**os.environ, "PATH": path}
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=environ)
    try:
        _wait_for(process, env, at / "log")
        yield env
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # with its containerd; both are of this session alone
            process.wait()
        _unmount(at)
        shutil.rmtree(at, ignore_errors=True)


def _wait_for(process: subprocess.Popen[bytes], env: dict[str, str], log: Path) -> None:
    give_up_at = time.monotonic() + UP_SECONDS_MAX
    while docker_code(env, "version") != 0:
        assert process.poll() is None, f"dockerd has ended: {log.read_text()[-3000:]}"
        assert time.monotonic() < give_up_at, f"dockerd has not come up: {log.read_text()[-3000:]}"
        time.sleep(0.1)


def _unmount(at: Path) -> None:
    """What it leaves: the network's namespace, and after a hard end its containers' files."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for mount in sorted((one for one in mounts if one.startswith(f"{at}/")), reverse=True):
        subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)


def docker_code(env: dict[str, str], *arguments: str) -> int:
    command = ["docker", *arguments]
    return subprocess.run(command, env={**os.environ, **env}, check=False, capture_output=True).returncode


def docker(env: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        ["docker", *arguments], env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
