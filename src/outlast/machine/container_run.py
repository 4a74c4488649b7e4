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

EXIT_RUNTIME = 125
"""As podman and docker say: the container could not be started."""


def main(arguments: list[str]) -> int:
    with open(arguments[0]) as file:
        order = json.load(file)
    os.environ.update(order["environ"])
    lock = os.open(order["lock"], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(lock, fcntl.LOCK_EX)
    # The whole group is told, the runtime too: it passes the signal on, and what is below it says when it has ended.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([order["runtime"], "rm", "--force", order["name"]], check=False, **quiet)  # type: ignore[call-overload]
    present = [order["runtime"], "image", "inspect", order["image"]]
    if order["load"] and subprocess.run(present, check=False, **quiet).returncode != 0:  # type: ignore[call-overload]
        said = subprocess.run(order["load"], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if said.returncode != 0:
            os.write(2, b"outlast: the image of this job cannot be loaded again: " + said.stdout[-1000:] + b"\n")
            return EXIT_RUNTIME
    runtime = subprocess.Popen(order["command"])
    code = runtime.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
