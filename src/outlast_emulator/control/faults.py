"""Faults, queued per API method: each says whether it was used up.

| kind | what happens |
| --- | --- |
| error | answered with `status` (and `retry_after`) before anything is done |
| error_after | done, then answered with `status` |
| lost | done, then the connection is closed without an answer |
| stalled | the answer stops at `after_bytes` of its body for `seconds`; -1: before its head |
| truncated | the connection is closed at `after_bytes` of the body |
| broken | the byte at `after_bytes` of the body is wrong |
| cut | the connection is reset at `after_bytes` of the request's body |
| short | a resumable upload keeps only `after_bytes` of this request's body |
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import Clock
from outlast_emulator.control.naming import object_name
from outlast_emulator.discovery.document import load, names
from outlast_emulator.errors import ApiError
from outlast_emulator.request import Incoming, Request
from outlast_emulator.response import Response, WireFault
from outlast_emulator.routes import Operation
from outlast_emulator.sources import SOURCES
from outlast_emulator.wire.bodies import BodyCut

if TYPE_CHECKING:
    from outlast_emulator.chain import Step
    from outlast_emulator.emulator import Emulator

KINDS = ("error", "error_after", "lost", "stalled", "truncated", "broken", "cut", "short")

REASONS = {
    400: ("invalid", "Bad Request"),
    401: ("authError", "Invalid Credentials"),
    403: ("forbidden", "Forbidden"),
    404: ("notFound", "Not Found"),
    408: ("requestTimeout", "Request Timeout"),
    412: ("conditionNotMet", "At least one of the pre-conditions you specified did not hold."),
    429: ("rateLimitExceeded", "The rate limit was exceeded."),
    500: ("backendError", "Backend Error"),
    502: ("backendError", "Bad Gateway"),
    503: ("backendError", "Service Unavailable"),
    504: ("backendError", "Gateway Timeout"),
}


FIELDS: dict[str, tuple[type, ...]] = {
    "method": (str,),
    "kind": (str,),
    "times": (int,),
    "skip": (int,),
    "status": (int,),
    "reason": (str,),
    "retry_after": (int, float, type(None)),
    "after_bytes": (int,),
    "seconds": (int, float),
    "match": (dict,),
}


@dataclass
class Fault:
    id: str
    method: str
    """A pattern: `storage.objects.insert`, `storage.objects.*`, `*`."""
    kind: str
    times: int = 1
    skip: int = 0
    """So many matching calls pass before the first is hit."""
    status: int = 503
    reason: str = ""
    """Of the answer, where the status has several: 403 `rateLimitExceeded`, as Compute Engine says "too many"."""
    retry_after: float | None = None
    after_bytes: int = 0
    seconds: float = 3600.0
    match: dict[str, Any] = field(default_factory=dict)
    """`object` (also of an upload), `bucket` or another name of the path: a pattern; `query`, `headers`: name -> pattern."""
    used: int = 0

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "method": self.method,
            "kind": self.kind,
            "times": self.times,
            "used": self.used,
            "used_up": self.used >= self.times,
        }

    def fits(self, request: Request) -> bool:
        if not fnmatchcase(request.method_id, self.method):
            return False
        for name, wanted in self.match.items():
            if name == "query":
                if not all(fnmatchcase(request.query(key), value) for key, value in wanted.items()):
                    return False
            elif name == "headers":
                if not all(fnmatchcase(request.headers.get(key.lower(), ""), value) for key, value in wanted.items()):
                    return False
            elif name == "object":
                if not fnmatchcase(object_name(request), wanted):
                    return False
            elif not fnmatchcase(request.params.get(name, ""), wanted):
                return False
        return True


class Faults:
    """Also latency and the cut network: all that is asked for and is not Google's usual behaviour."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._queue: list[Fault] = []
        self._count = 0
        self.latency: dict[str, tuple[float, float]] = {}
        """Pattern of method names -> (seconds, jitter in seconds)."""
        self._changed = threading.Event()
        self.network_cut = ""
        """"" (whole), `reset` or `silent`."""
        self.calm = True
        """Nothing is queued: the loop may answer by itself."""

    def add(self, wanted: dict[str, Any]) -> Fault:
        """Queues one; ValueError says what is wrong with it."""
        _check_asked(wanted)
        with self._lock:
            self._count += 1
            fault = Fault(id=f"f{self._count}", **wanted)
            self._queue.append(fault)
        self._settle()
        return fault

    def all(self) -> list[Fault]:
        with self._lock:
            return list(self._queue)

    def remove(self, fault_id: str = "") -> None:
        """One, or all."""
        with self._lock:
            self._queue = [fault for fault in self._queue if fault_id and fault.id != fault_id]
        self._settle()

    def take(self, request: Request) -> Fault | None:
        """The first queued fault that fits, counted as used."""
        with self._lock:
            for fault in self._queue:
                if fault.used < fault.times and fault.fits(request):
                    if fault.skip > 0:
                        fault.skip -= 1
                        continue
                    fault.used += 1
                    break
            else:
                return None
        self._settle()
        return fault

    def set_latency(self, method: str, seconds: float, jitter: float) -> None:
        self.latency = {**self.latency, method: (seconds, jitter)} if seconds or jitter else {}
        changed, self._changed = self._changed, threading.Event()
        changed.set()
        self._settle()

    def cut_network(self, how: str) -> None:
        self.network_cut = how

    def wait(self, request: Request) -> None:
        """As long as was asked for, or until something else is."""
        for pattern, (seconds, jitter) in self.latency.items():
            if fnmatchcase(request.method_id, pattern):
                self._changed.wait(seconds + jitter * random.random())

    def _settle(self) -> None:
        self.calm = not self.latency and all(fault.used >= fault.times for fault in self.all())


def _check_asked(wanted: dict[str, Any]) -> None:
    for name, value in wanted.items():
        kinds = FIELDS.get(name)
        if kinds is None:
            raise ValueError(f"no field `{name}`; there are {', '.join(FIELDS)}")
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise ValueError(f"`{name}` is {value!r}, and that is not {' or '.join(kind.__name__ for kind in kinds)}")
    if wanted.get("kind") not in KINDS:
        raise ValueError(f"no kind `{wanted.get('kind')}`; there are {', '.join(KINDS)}")
    if "method" not in wanted:
        raise ValueError("`method` is missing: `storage.objects.insert`, `storage.*`, ...")
    if not any(fnmatchcase(known, wanted["method"]) for known in _methods()):
        near = get_close_matches(wanted["method"], _methods(), n=1)
        raise ValueError(f"no method `{wanted['method']}`{f'; did you mean `{near[0]}`?' if near else ''}")
    for name, pattern in wanted.get("match", {}).items():
        deeper = name in ("query", "headers")
        inner = list(pattern.values()) if deeper and isinstance(pattern, dict) else [None if deeper else pattern]
        if not all(isinstance(entry, str) for entry in inner):
            raise ValueError("`match` maps names to patterns: {'object': '*/head.json', 'query': {'alt': 'media'}}")


@cache
def _methods() -> tuple[str, ...]:
    """All that a fault can hit."""
    documented = (name for document in names() for name in load(document).methods)
    return tuple(sorted({*SOURCES, *documented}))


class LimitedBody:
    """A body that ends early: with a broken connection, or as if nothing more had come."""

    def __init__(self, body: Incoming, after_bytes: int, ending: Callable[[], None], forgets: bool = False) -> None:
        self.length = body.length
        self.forgets = forgets
        self._body = body
        self._left = after_bytes
        self._ending = ending

    def read(self, size: int) -> bytes:
        if self._left <= 0:
            self._ending()
            return b""
        data = self._body.read(min(size, self._left))
        self._left -= len(data)
        return data


def step(emulator: Emulator) -> Step:
    faults = emulator.faults

    def call(request: Request, following: Operation) -> Response:
        if faults.calm or request.method_id.startswith("emulator."):
            return following(request)
        faults.wait(request)
        fault = faults.take(request)
        if fault is None:
            return following(request)
        return _struck(request, following, fault)

    return call


def _struck(request: Request, following: Operation, fault: Fault) -> Response:
    if fault.kind == "error":
        raise _error(fault)
    if fault.kind == "cut":
        request.body = LimitedBody(request.body, fault.after_bytes, _broken_off)
        return following(request)
    if fault.kind == "short":
        request.body = LimitedBody(request.body, fault.after_bytes, _nothing, forgets=True)
        return following(request)
    try:
        response = following(request)
    except ApiError as error:
        assert request.route is not None
        response = request.route.refusal(request, error)
    if fault.kind == "error_after":
        raise _error(fault)
    response.wire = WireFault(fault.kind, fault.after_bytes, fault.seconds)
    return response


def _broken_off() -> None:
    raise BodyCut("the connection was cut on purpose")


def _nothing() -> None:
    """The rest of the body is read by the server, and forgotten."""


def _error(fault: Fault) -> ApiError:
    reason, message = REASONS.get(fault.status, ("backendError", "Backend Error"))
    if fault.reason:
        reason, message = fault.reason, f"{message} ({fault.reason})"
    headers = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
    if fault.status == 401:
        headers["www-authenticate"] = 'Bearer realm="https://accounts.google.com/", error="invalid_token"'
    return ApiError(fault.status, reason, message, headers=headers)
