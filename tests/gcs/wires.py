"""Wires and clocks that tests hold in their hands."""

from __future__ import annotations

from collections.abc import Callable

from outlast.google.wire import Answer, NoAnswer, Request

Reply = Answer | NoAnswer | Callable[[Request], Answer]


class HandClock:
    """Time passes only by sleeping, and by `pass_by`."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.wall = now
        self.steady = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.steady

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_by(seconds)

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


class ScriptedWire:
    """Answers what it was told to, in order; the last reply for ever."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    def send(self, request: Request, *, connect_seconds: float, stall_seconds: float) -> Answer:
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, NoAnswer):
            raise reply
        return reply if isinstance(reply, Answer) else reply(request)


def ok(body: bytes = b"{}", **headers: str) -> Answer:
    return Answer(200, headers, body)


def refused(status: int, reason: str = "", **headers: str) -> Answer:
    body = b'{"error": {"code": %d, "message": "no", "errors": [{"reason": "%s"}]}}' % (status, reason.encode())
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


LOST = NoAnswer("connection reset", sent=True)
UNSENT = NoAnswer("connection refused", sent=False)
