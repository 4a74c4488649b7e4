"""A docker daemon of the tests' own: its images, containers and sockets are below one directory, and no network is touched."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

UP_SECONDS_MAX = 240.0
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
    environ = {**os.environ, "PATH": path}
    give_up_at = time.monotonic() + UP_SECONDS_MAX
    try:
        while True:
            with open(at / "log", "ab") as log:
                process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=environ)
            try:
                if not _is_up(
                    process, env, give_up_at
                ):  # it gives its containerd a few seconds, whatever the computer does
                    assert time.monotonic() < give_up_at, f"dockerd has not come up: {(at / 'log').read_text()[-3000:]}"
                    continue
                yield env
                return
            finally:
                _end(process)
    finally:
        _unmount(at)
        shutil.rmtree(at, ignore_errors=True)


def _is_up(process: subprocess.Popen[bytes], env: dict[str, str], give_up_at: float) -> bool:
    while process.poll() is None and time.monotonic() < give_up_at:
        if docker_code(env, "version") == 0:
            return True
        time.sleep(0.1)
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)  # with its containerd; both are of this session alone
        process.wait()


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
