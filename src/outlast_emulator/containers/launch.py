"""The program that a container is started by: makes its namespaces and its process, and reports how that ended.

It stays outside, as the parent of the container's process number one. Its output and the container's are the same pipes, which
the emulator reads. The container lives as long as the connection to the emulator, however that ends.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import Any

from outlast_emulator.machines.child import Child, serve, tell
from outlast_emulator.machines.lines import Closed, Lines

NOT_FOUND, NOT_RUNNABLE = 127, 126
"""What shells and container engines exit with for a program that is not there, or is none."""


def main(control: int) -> None:
    serve(control, _launch)


def _launch(emulator: Lines, spec: dict[str, Any]) -> None:
    child = Child(emulator, spec, lambda launcher: _become(launcher, spec, emulator.files))
    for number in emulator.files:
        os.close(number)
    emulator.files.clear()
    _watch(emulator, child)


def _become(launcher: Lines, spec: dict[str, Any], files: list[int]) -> None:
    """Never returns: the container's program, or the words why it is not."""
    code = NOT_RUNNABLE
    try:
        if spec["kind"] == "isolated":
            from outlast_emulator.containers import inside

            inside.enter(spec, files)
        else:
            from outlast_emulator.containers import plain

            plain.enter(spec)
        _execute(spec)
    except FileNotFoundError as error:
        code = NOT_FOUND
        sys.stderr.write(f"exec: {''.join(spec['words'][:1])}: {error.strerror}\n")
    except (OSError, KeyError) as error:
        tell(launcher, {"failed": str(error)})
        sys.stderr.write(f"the container could not be made: {error}\n")
    finally:
        sys.stderr.flush()
        os._exit(code)


def _execute(spec: dict[str, Any]) -> None:
    words, environment = spec["words"], spec["environment"]
    if not words:
        raise FileNotFoundError(2, "the image has no command, and none was asked for", "")
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execvpe(words[0], words, environment)


def _watch(emulator: Lines, child: Child) -> None:
    """Until it has ended, and the emulator knows how."""
    emulators, says = emulator.sock.fileno(), child.says.sock.fileno()
    watched = [child.ended, emulators, says]
    while True:
        ready = select.select(watched, [], [])[0]
        if says in ready and not _passed_on(child.says, emulator):
            watched.remove(says)
        if emulators in ready and not _signalled(emulator, child):
            child.kill()
            watched.remove(emulators)
        if child.ended in ready and child.has_ended():
            break
    code = child.code()
    tell(emulator, {"ended": code if code >= 0 else 128 - code})


def _passed_on(says: Lines, emulator: Lines) -> bool:
    """False: it runs its own program, or is gone."""
    try:
        tell(emulator, says.receive())
    except Closed:
        return False
    return True


def _signalled(emulator: Lines, child: Child) -> bool:
    """False: the emulator is gone, and the container is to go with it."""
    try:
        while True:
            child.kill(int(emulator.receive()["signal"]))
            if not emulator.waiting:
                return True
    except Closed:
        return False
