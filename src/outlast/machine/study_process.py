"""The process that advises a search, as the agent holds it: started when it is needed, talked to by lines, never waited for.

One that dies or does not answer is replaced, and the same question is asked once more. After that the question has no answer.
"""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from outlast.clock import Clock
from outlast.dataclass import dataclass
from outlast.errors import OutlastError

READY_SECONDS_MAX = 80.0
"""Importing takes seconds, and on a computer where twenty others work, half a minute: one that is replaced then begins anew."""

ANSWER_SECONDS_MAX = 40.0
"""An answer over a thousand trials takes a few."""

TRIES_MAX = 2
GIVEN_UP_SECONDS = 300.0
"""After a question without an answer, so long no other one is asked."""

READ_BYTES = 1 << 16
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""It shares its machine with a training."""


@dataclass(frozen=True)
class Python:
    """An interpreter that may have Optuna."""

    path: str
    env: Mapping[str, str] = field(default_factory=dict)


class StudyProcess:
    def __init__(self, find: Callable[[], Sequence[Python]], clock: Clock) -> None:
        """`find`: those to try, one after another; called when the first question is asked, and after an error again."""
        self._find = find
        self._clock = clock
        self._pythons: list[Python] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._question: dict[str, Any] | None = None
        self._tries = 0
        self._number = 0
        self._give_up_at = 0.0
        self._closed_until = 0.0
        self._to_send = b""
        self._rest = b""
        self._ready = False
        """It has imported what it needs."""

        self.problem = ""

    def prepare(self) -> None:
        if self._process is None and self._clock.monotonic() >= self._closed_until:
            self._start()

    def ask(self, question: Mapping[str, Any]) -> None:
        self._number += 1
        self._question = {**question, "id": self._number}
        if self._clock.monotonic() < self._closed_until:
            self._question = None
            return
        self._tries = 0
        self._send()

    def answer(self) -> Mapping[str, Any] | None:
        if self._question is None:
            return {}
        try:
            found = self._pump()
        except OSError as error:
            return self._again(f"it does not answer any more ({error.strerror})")
        if found is None and self._clock.monotonic() >= self._give_up_at:
            late = f"has not answered for {ANSWER_SECONDS_MAX:.0f} s" if self._ready else "did not come up"
            return self._again(f"it {late}")
        return found

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                pipe.close()
            except OSError:
                pass

    # Asking.

    def _send(self) -> None:
        """To the process that is there, or to a new one."""
        self._tries += 1
        if self._process is None:
            self._start()
        self._give_up_at = self._clock.monotonic() + (ANSWER_SECONDS_MAX if self._ready else READY_SECONDS_MAX)
        self._to_send += json.dumps(self._question).encode() + b"\n"

    def _start(self) -> None:
        self._to_send = self._rest = b""
        self._ready = False
        if self._pythons is None:
            try:
                self._pythons = list(self._find())
            except OutlastError as error:
                self.problem = error.message
        while self._pythons and self._process is None:
            python = self._pythons[0]
            env = {**python.env, **dict.fromkeys(THREADS, "1")}
            try:
                self._process = subprocess.Popen(
                    [python.path, "-c", _source()],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    cwd="/",
                    env=env,
                    start_new_session=True,
                )
            except OSError as error:
                self._pass_over(f"`{python.path}` cannot be started: {error.strerror}")
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                os.set_blocking(pipe.fileno(), False)

    def _pass_over(self, problem: str) -> None:
        assert self._pythons
        self.problem = problem
        del self._pythons[0]

    def _again(self, problem: str) -> Mapping[str, Any] | None:
        """The next try; an empty answer after the last one."""
        self.close()
        self.problem = f"the adviser has failed: {problem}"
        if self._tries < TRIES_MAX:
            self._send()
            return None
        return self._no_answer()

    def _no_answer(self) -> Mapping[str, Any]:
        self._question = None
        self._closed_until = self._clock.monotonic() + GIVEN_UP_SECONDS
        return {}

    # Listening.

    def _pump(self) -> Mapping[str, Any] | None:
        """Sends and reads what can be sent and read at once."""
        if self._process is None:
            return self._no_answer()
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            while self._to_send:
                self._to_send = self._to_send[os.write(self._process.stdin.fileno(), self._to_send) :]
        except BlockingIOError:
            pass  # it is busy; the rest later
        except BrokenPipeError:
            self._to_send = b""  # its last words, if any, are read below
        try:
            while data := os.read(self._process.stdout.fileno(), READ_BYTES):
                self._rest += data
        except BlockingIOError:
            return self._heard()
        process = self._process
        heard = self._heard()
        if heard is not None or self._process is not process:
            return heard
        if not self._ready and len(self._pythons or ()) > 1:
            return self._without("it ended at once")
        return self._again("it has ended")

    def _heard(self) -> Mapping[str, Any] | None:
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            try:
                said: Any = json.loads(line)
            except ValueError:
                said = None
            if not isinstance(said, dict):
                return self._again("what it says cannot be read")
            if "ready" in said and not self._ready:
                self._ready = True
                self._give_up_at = self._clock.monotonic() + ANSWER_SECONDS_MAX
            if "missing" in said:
                return self._without(str(said["missing"]))
            if self._question is not None and said.get("id") == self._question["id"]:
                if "problem" in said:
                    self.problem = f"the adviser has failed: {said['problem']}"
                    self._question = None
                    return {}
                return said
        return None

    def _without(self, problem: str) -> Mapping[str, Any] | None:
        """This Python has no Optuna; perhaps the next one has."""
        assert self._pythons
        self._pass_over(f"`{self._pythons[0].path}` has no Optuna ({problem})")
        self.close()
        self._tries -= 1
        self._send()
        return None if self._process is not None else self._no_answer()


def _source() -> str:
    """Also where this package lies in an archive, which the job's Python cannot import from."""
    data = pkgutil.get_data("outlast.machine", "study_program.py")
    assert data is not None
    return data.decode()
