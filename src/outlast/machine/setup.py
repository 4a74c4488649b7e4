"""A job's setup script: runs once for each environment on each machine, before the environment is sealed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from outlast.bundle.environment.archive import Archive
from outlast.bundle.environment.install import Site
from outlast.clock import Clock
from outlast.dataclass import dataclass
from outlast.errors import OutlastError
from outlast.machine.command import interpreter

SECONDS_MAX = 2 * 3600.0
"""Building a large package takes long; a setup that waits for an answer would wait for ever."""

TOLD_LINES_MAX = 4
LINE_BYTES_MAX = 2000
LOOK_MILLISECONDS = 200


class SetupFailed(OutlastError):
    """The same script fails again on the next machine: it is the job's end."""


@dataclass(frozen=True)
class Setup:
    script: str
    """Its path in the bundle."""

    work: Path
    """A copy of the bundle of its own: what it leaves there is gone when it has ended, at the first attempt as at the last."""

    env: Mapping[str, str]
    say: Callable[[str], None]
    clock: Clock

    def run(self, root: Path) -> None:
        if not (self.work / self.script).is_file():
            raise SetupFailed(
                f"the setup script `{self.script}` is not in the bundle: git's or `.outlastignore`'s rules leave it out",
                hint=f"`git add -f {self.script}`, and submit again",
            )
        python = str(root / "bin" / "python")
        self._give_pip(root, python)
        self.say(f"setup: `{self.script}` runs in a new environment")
        began_at = self.clock.monotonic()
        script = f"./{self.script}" if self.script.startswith("-") else self.script
        words = (python, script) if script.endswith(".py") else (*interpreter(self.work / self.script), script)
        code, last = self._follow(list(words))
        seconds = self.clock.monotonic() - began_at
        if code != 0:
            end = " | ".join(list(last)[-TOLD_LINES_MAX:]) or "it has said nothing"
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            raise SetupFailed(
                f"the setup script `{self.script}` {how} after {seconds:.1f} s: {end}",
                hint="mend it and submit again",
            )
        self.say(f"setup: done in {seconds:.1f} s; the next job with this environment does without")

    def _give_pip(self, root: Path, python: str) -> None:
        """Setup scripts install. Where Python brings no pip, one on the PATH installs here too (`PIP_PYTHON`)."""
        for site_packages in root.glob("lib/python3.*/site-packages"):
            version = site_packages.parent.name.removeprefix("python")
            library = Path(os.path.realpath(python)).parent.parent / "lib" / f"python{version}"
            for wheel in sorted((library / "ensurepip" / "_bundled").glob("pip-*.whl")):
                with Archive(wheel, wheel.name) as archive:
                    Site(root, version, python).install(archive)
                return

    def _follow(self, words: list[str]) -> tuple[int, list[str]]:
        """The exit code, and the last lines."""
        last: deque[str] = deque(maxlen=TOLD_LINES_MAX)
        try:
            process = subprocess.Popen(
                words,
                cwd=self.work,
                env=dict(self.env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise SetupFailed(f"the setup script `{self.script}` cannot be run: {error.strerror}") from error
        try:
            for line in self._lines(process):
                last.append(line)
                self.say(f"setup: {line}")
        finally:
            _end(process)
        return process.wait(), list(last)

    def _lines(self, process: subprocess.Popen[bytes]) -> Iterator[str]:
        """Until it has ended, and whatever it has left running does not count."""
        assert process.stdout is not None
        give_up_at = self.clock.monotonic() + SECONDS_MAX
        descriptor = process.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN | select.POLLHUP)
        rest = b""
        ended = False
        with process.stdout:
            while not ended:
                ended = process.poll() is not None
                while poll.poll(0 if ended else LOOK_MILLISECONDS):
                    data = os.read(descriptor, 1 << 16)
                    *lines, rest = (rest + data).split(b"\n")
                    yield from (_text(line) for line in lines)
                    if not data:
                        process.wait()
                        ended = True
                        break
                if self.clock.monotonic() > give_up_at:
                    raise SetupFailed(f"the setup script `{self.script}` has not ended for {SECONDS_MAX:.0f} s")
        if rest:
            yield _text(rest)


def _text(line: bytes) -> str:
    return line[:LINE_BYTES_MAX].decode(errors="replace").rstrip()


def _end(process: subprocess.Popen[bytes]) -> None:
    """And what it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
