"""The first process in a trainer's container: starts the trainer, passes signals on, and ends all of it when whoever started it is dead.

Run by the container's own Python, from a file: it may import nothing but the standard library.
`container_guard.py LOCK SECRETS COMMAND...`; where SECRETS is the word `secrets`, the trainer's come as a line of JSON on standard input.
A process outside holds a lock on the file LOCK for as long as it lives: a runtime's daemon would let the container live on. It makes a
file beside it when the trainer is asked to end.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import sys
import threading

SECRETS = "secrets"
TOLD = ".told"
LOOK_SECONDS = 1.0
EXIT_ABANDONED = 137
EXIT_NOT_FOUND, EXIT_NOT_EXECUTABLE = 127, 126
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def main(arguments: list[str]) -> int:
    lock, command = arguments[0], arguments[2:]
    secrets = _read_secrets(lock) if arguments[1] == SECRETS else {}
    trainer = os.fork()
    if trainer == 0:
        os.environ.update(secrets)
        _become(command)
    try:
        os.setpgid(trainer, trainer)  # whichever of both is first: no signal may come before there is a group
    except OSError:
        pass  # it was faster
    for number in PASSED_ON:
        signal.signal(number, lambda got, _: _pass_on(trainer, got))
    if os.path.exists(lock + TOLD):
        _pass_on(
            trainer, signal.SIGTERM
        )  # the first process of a container hears no signal that it has no function for
    threading.Thread(target=_watch, args=(lock,), daemon=True).start()
    while True:
        try:
            pid, status = os.wait()  # orphans too: there is no other first process
        except InterruptedError:
            continue
        if pid == trainer:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _read_secrets(lock: str) -> dict[str, str]:
    """A line of standard input, which is empty from then on. Its end is not waited for: that has a long way through a runtime's daemon."""
    data = b""
    descriptor = os.open(lock, os.O_RDONLY)
    while not data.endswith(b"\n"):
        if select.select([0], [], [], LOOK_SECONDS)[0]:
            chunk = os.read(0, 1 << 16)
            if not chunk:
                break
            data += chunk
        elif _is_free(descriptor):
            os._exit(EXIT_ABANDONED)
    os.close(descriptor)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return {str(name): str(value) for name, value in json.loads(data).items()}


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _become(command: list[str]) -> None:
    code = EXIT_NOT_EXECUTABLE
    try:
        os.setpgid(0, 0)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"outlast: cannot start `{command[0]}` in the container: {error}\n".encode(errors="replace"))
        code = EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else EXIT_NOT_EXECUTABLE
    finally:
        os._exit(code)


def _pass_on(trainer: int, number: int) -> None:
    try:
        os.killpg(trainer, number)
    except ProcessLookupError:
        return


def _watch(lock: str) -> None:
    """Blocks until nobody holds the lock any more. With the first process all others of the container end."""
    descriptor = os.open(lock, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    os._exit(EXIT_ABANDONED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
