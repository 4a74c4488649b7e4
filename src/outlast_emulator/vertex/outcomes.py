"""How an attempt to run a job may end, and the words that Google has for it."""

from __future__ import annotations

from dataclasses import dataclass

TRANSIENT_CODES = (6, 134, 11, 139)
"""SIGABRT and SIGSEGV: after these Vertex AI tries the job again."""

OK, CANCELLED_CODE, INVALID, EXHAUSTED, INTERNAL = 0, 1, 3, 8, 13
"""gRPC's codes, as they stand in a job's error."""


@dataclass(frozen=True)
class Outcome:
    kind: str
    """`succeeded`, `failed`, `cancelled`; or why it is to begin again: `stockout`, `preempted`, `crashed`, `internal`, `again`."""
    code: int = OK
    message: str = ""


SUCCEEDED = Outcome("succeeded")
CANCELLED = Outcome("cancelled", CANCELLED_CODE, "CANCELED")
AGAIN = Outcome("again")
"""A worker was started anew, and the job has asked to be, too."""


def stockout(region: str, kind: str = "stockout") -> Outcome:
    words = (
        f"Resources are insufficient in region: {region}. Please try a different region or use a different accelerator."
    )
    return Outcome(kind, EXHAUSTED, words)


def exited(replica: str, code: int, kind: str = "failed") -> Outcome:
    return Outcome(
        kind, INVALID, f"The replica {replica} exited with a non-zero status of {code}. Termination reason: Error."
    )


def no_image(replica: str, why: str) -> Outcome:
    return Outcome("failed", INVALID, f"The replica {replica} failed to start: the image could not be pulled: {why}")


def internal(why: str) -> Outcome:
    return Outcome("internal", INTERNAL, f"Internal error occurred for the current attempt. {why}".rstrip())


def timed_out(seconds: float) -> Outcome:
    return Outcome(
        "cancelled", CANCELLED_CODE, f"The job was cancelled: it ran longer than its timeout of {seconds:g}s."
    )
