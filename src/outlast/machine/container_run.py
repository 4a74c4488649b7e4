"""The trainer's process where it runs in a container: starts the runtime, and is, by living, the sign that the container is wanted.

Run from a file, by its path: `container_run.py ORDER`, a JSON file that `container_command` has written.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading

LABEL = "outlast.lock"
EXIT_RUNTIME = 125
"""As podman and docker say: the container could not be started."""

EXIT_DEVICES = 126
"""As podman says where a device is not known to it; the same as for a command that cannot be run."""

WAY_TO_GPUS = {
    "docker": "`sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker`",
    "podman": "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`",
}

TOLD = ".told"
"""After the lock's name: a file that is there when the trainer was asked to end."""

ANSWER_SECONDS_MAX = 60.0
"""One that hangs, as a runtime does over a container whose watcher was killed, must not hold up the trainer's end."""

REMOVAL_LOOKS_MAX = 300
REMOVAL_LOOK_SECONDS = 0.1
"""A daemon takes its time to remove what has ended, and keeps its name meanwhile."""

SWEEP_SECONDS_MAX = 20.0


def main(arguments: list[str]) -> int:
    with open(arguments[0]) as file:
        order = json.load(file)
    os.environ.update(order["environ"])
    lock = os.open(order["lock"], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(lock, fcntl.LOCK_EX)
    told = order["lock"] + TOLD
    if os.path.exists(told):
        os.unlink(told)
    # The whole group is told, the runtime too: it passes the signal on, and what is below it says when it has ended.
    # Where it comes too early for that, the first process in the container finds a file.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: os.close(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)))
    # Both at a time: a runtime that hangs is waited for once.
    removing = threading.Thread(target=_remove, args=(order["runtime"], order["name"]))
    removing.start()
    absent = order["load"] and _heard([order["runtime"], "image", "inspect", order["image"]]).returncode != 0
    removing.join()
    if absent:
        said = subprocess.run(order["load"], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if said.returncode != 0:
            os.write(2, b"outlast: the image of this job cannot be loaded again: " + said.stdout[-1000:] + b"\n")
            return EXIT_RUNTIME
    if os.path.exists(told):
        return 128 + signal.SIGTERM
    runtime = _start(order["command"], order["secrets"])
    sweeper = threading.Thread(target=sweep, args=(order["runtime"],), daemon=True)
    sweeper.start()
    code = runtime.wait()
    sweeper.join(SWEEP_SECONDS_MAX)  # what it has not done by then, the next one does
    if code == EXIT_RUNTIME or (code == EXIT_DEVICES and order["gpus"]):
        os.write(2, f"outlast: {_why(os.path.basename(order['runtime']), with_gpus=order['gpus'])}\n".encode())
    return code if code >= 0 else 128 - code


def _remove(runtime: str, name: str) -> None:
    """The container of an earlier attempt. One that has just ended is being removed by docker's daemon itself, which then refuses to
    be asked, and would refuse the next of that name as well: the job would end there."""
    for _ in range(REMOVAL_LOOKS_MAX):
        if _heard([runtime, "rm", "--force", name]).returncode == 0:
            return
        if _heard([runtime, "container", "inspect", name]).returncode != 0:
            return  # it is gone, or nobody can be asked
        threading.Event().wait(REMOVAL_LOOK_SECONDS)  # run from a file: the clock of ours is not at hand


def _why(runtime: str, *, with_gpus: bool) -> str:
    said = f"{runtime} could not start the container"
    if not with_gpus:
        return f"{said}; `--container-args` are its options"
    way = WAY_TO_GPUS["docker" if runtime == "docker" else "podman"]
    return (
        f"{said} with GPUs, if that is what it says above: NVIDIA's Container Toolkit makes them known to it, by {way}"
    )


def _start(command: list[str], secrets: list[str]) -> subprocess.Popen[bytes]:
    """Secrets go through its standard input to the first process in the container, and stand in nothing that the runtime keeps."""
    if not secrets:
        return subprocess.Popen(command)
    told = {name: os.environ.pop(name) for name in secrets}
    runtime = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert runtime.stdin is not None
    try:
        runtime.stdin.write(json.dumps(told).encode() + b"\n")
        runtime.stdin.close()
    except BrokenPipeError:
        pass  # it has said why
    return runtime


def sweep(runtime: str) -> None:
    """What runners have left that were killed: a runtime whose own watchers died with them goes on counting it as running."""
    listed = _heard([runtime, "ps", "--all", "--quiet", "--filter", f"label={LABEL}"])
    for one in listed.stdout.split():
        asked = [runtime, "inspect", "--format", f'{{{{index .Config.Labels "{LABEL}"}}}}', one]
        lock = _heard(asked).stdout.strip()
        if lock and not is_held(lock):
            _heard([runtime, "rm", "--force", one])


def _heard(command: list[str]) -> subprocess.CompletedProcess[str]:
    """As one that has failed, if it does not come to an end."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANSWER_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, EXIT_RUNTIME, "", "")


def is_held(lock: str) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False  # its machine is gone
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
