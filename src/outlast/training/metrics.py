"""`log`: numbers by step, one JSON line each. It never raises and never makes the training wait for a GPU."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from outlast.clock import SYSTEM
from outlast.training import context
from outlast.training.fielded import field, fielded
from outlast.training.say import say_once

if TYPE_CHECKING:
    from outlast.training.context import Context

PENDING_MAX = 1000
"""Lines that wait for a GPU; the oldest are then waited for."""


@fielded
class Line:
    step: int | None
    at: float
    values: dict[str, Any]


@fielded
class Stream:
    """The metrics of this process: lines in their order, the first of which may still wait for its numbers."""

    pending: deque[Line] = field(default_factory=deque)
    latest: dict[str, float] = field(default_factory=dict)
    descriptor: int | None = None
    torn: bool = False
    """The last line was cut short by a full disk: the next one begins on a line of its own."""

    writing: Any = field(default_factory=threading.RLock)
    """Several threads of a script may log; one that a signal interrupts may log in its handler."""


def log(step: int | None = None, /, **metrics: Any) -> None:
    """Records numbers under names. `step`: the current step of the loop if not given.

    Numbers, and arrays or tensors of one element. A tensor on a GPU is read later, when it is ready. What is not a number
    is left out and said once. By hand nothing is recorded.
    """
    try:
        _log(step, metrics)
    except Exception as error:  # noqa: BLE001 - logging must never end a training
        say_once(f"log {type(error)}", f"warning: a call of outlast.log was ignored: {type(error).__name__}: {error}")


def _log(step: int | None, metrics: dict[str, Any]) -> None:
    here = context.current()
    if here.quiet or (context.in_worker_process() and not here.active) or not here.kept():
        return
    if step is None and "step" in metrics:
        step = metrics.pop("step")
    if step is None and here.active:
        step = here.active[0].step
    values = {}
    for name, value in metrics.items():
        try:
            if _is_legal(name):
                values[name] = _hold(value)
        except Exception as error:  # noqa: BLE001 - whatever a foreign array does, the other metrics are written
            _leave_out(name, error)
    stream = _stream(here)
    stream.pending.append(Line(None if step is None else int(step), SYSTEM.now(), values))
    flush(here)


def _leave_out(name: str, error: Exception) -> None:
    say_once(f"metric {name}", f"warning: the metric `{name}` was left out: {error}")


def _is_legal(name: str) -> bool:
    if name in ("step", "at"):
        say_once(f"metric {name}", f"warning: a metric cannot be called `{name}`; it was left out")
    return name not in ("step", "at") and not holds_secret(name)


def holds_secret(name: str) -> bool:
    """Names of metrics are kept in checkpoints and shown to everybody, and are not masked there as in the log."""
    for variable in os.environ.get("OUTLAST_SECRETS", "").split(","):
        value = os.environ.get(variable, "") if variable else ""
        if value and value in name:
            say_once("metric secret", f"warning: a metric whose name holds the secret `{variable}` was left out")
            return True
    return False


def _hold(value: Any) -> Any:
    """A number at once where it can be had at once; else something that will become one and cannot change until then."""
    if isinstance(value, (bool, int, float)):
        return value
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and isinstance(value, torch.Tensor):
        if value.device.type == "cpu":
            return value.item()
        copy = value.detach().to("cpu", copy=True, non_blocking=True)
        event = torch.cuda.Event() if value.device.type == "cuda" else None
        if event is not None:
            event.record()
        return _OnGpu(copy, event)
    if jax is not None and isinstance(value, jax.Array):
        return _InJax(value)
    return value.item() if callable(getattr(value, "item", None)) else value


@fielded
class _OnGpu:
    copy: Any
    event: Any

    def ready(self) -> bool:
        return self.event is None or bool(self.event.query())

    def number(self) -> Any:
        if self.event is not None:
            self.event.synchronize()
        return self.copy.item()


@fielded
class _InJax:
    value: Any

    def ready(self) -> bool:
        return bool(self.value.is_ready())

    def number(self) -> Any:
        return self.value.item()


def flush(here: Context, *, wait: bool = False) -> None:
    """Writes the lines whose numbers are there. `wait`: all of them."""
    stream = here.metrics
    if stream is None:
        return
    with stream.writing:
        while stream.pending:
            line = stream.pending[0]
            waiting = [one for one in line.values.values() if isinstance(one, (_OnGpu, _InJax)) and not one.ready()]
            if waiting and not wait and len(stream.pending) <= PENDING_MAX:
                return
            stream.pending.popleft()
            _write(here, stream, line)


def _write(here: Context, stream: Stream, line: Line) -> None:
    record: dict[str, Any] = {"step": line.step, "at": round(line.at, 6)}
    for name, value in line.values.items():
        try:
            number = value.number() if isinstance(value, (_OnGpu, _InJax)) else value
            if isinstance(number, float) and not math.isfinite(number):
                record[name] = str(number)  # JSON has no word for it
            elif isinstance(number, (int, float)):
                float(number)  # an int without end is none to whoever reads it: OverflowError
                record[name] = stream.latest[name] = number + 0  # a bool is a number too
            else:
                raise TypeError(f"a {type(number).__name__} is not a number")
        except Exception as error:  # noqa: BLE001 - whatever a foreign array does, the training goes on
            _leave_out(name, error)
    try:
        if stream.descriptor is None:
            assert here.run_dir is not None
            context.make_own(here.run_dir)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            stream.descriptor = os.open(here.run_dir / "metrics", flags, 0o644)
        text = (b"\n" if stream.torn else b"") + json.dumps(record).encode("ascii") + b"\n"
        stream.torn = os.write(stream.descriptor, text) < len(text)
    except OSError as error:
        say_once("metrics", f"warning: metrics could not be written: {error}")


def _stream(here: Context) -> Stream:
    """One for this process; a forked one has a context of its own and does not inherit lines that its parent will write."""
    if here.metrics is None:
        here.metrics = Stream()
        here.at_exit(lambda: flush(here, wait=True))
    return here.metrics


def latest(here: Context) -> dict[str, float]:
    return {} if here.metrics is None else dict(here.metrics.latest)
