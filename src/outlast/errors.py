"""Every error that a user can see, and the exit code that each one means.

    OutlastError                 1   the job failed, or something that fits nowhere below
    ├── UsageError               2   the request itself is wrong; the answer names what is legal
    ├── NotFound                 3   no such job, checkpoint, file or home
    ├── Denied                   4   permission or login
    ├── NoCapacity               5   quota, or nothing to run on
    ├── Unreachable              6   the network, or what it leads to: a package index, a server
    └── StoreError               6   the home cannot be read or written
        ├── StoreUnavailable         for now: the same call may succeed later, its outcome is unknown
        ├── StoreFull                no space left
        ├── Damaged                  a record or part is not what was written
        └── NewerFormat              written by a newer outlast: update

Two more are answers between our own layers and never reach a user: `KeyMissing` and `PreconditionFailed`.
"""

from __future__ import annotations

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_FOUND = 3
EXIT_DENIED = 4
EXIT_CAPACITY = 5
EXIT_STORE = 6
EXIT_STOPPED = 7
EXIT_LIMIT = 8
EXIT_LEAK = 9
EXIT_INTERRUPTED = 130

EXIT_TRAINER_INTERRUPTED = 75
"""What a trainer exits with when it has saved and left because it was told to (EX_TEMPFAIL)."""

DAMAGED_HINT = (
    "something else than outlast has changed it, or it was copied incompletely; "
    "`outlast checkpoints JOB --verify` tells which checkpoints are whole"
)


class OutlastError(Exception):
    """What failed with its values; `state`: what became of the job and whether anything is still paid for; `hint`: what to type."""

    exit_code = EXIT_FAILED

    def __init__(self, message: str, *, state: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.state = state
        self.hint = hint

    def __str__(self) -> str:
        return self.message

    @property
    def __notes__(self) -> list[str]:
        """What Python, from 3.11 on, prints below a traceback: whoever calls from Python is helped as well."""
        return [line for line in (self.state, self.hint and f"hint: {self.hint}") if line]


class UsageError(OutlastError):
    exit_code = EXIT_USAGE


class NotFound(OutlastError):
    exit_code = EXIT_NOT_FOUND


class Denied(OutlastError):
    exit_code = EXIT_DENIED


class NoCapacity(OutlastError):
    exit_code = EXIT_CAPACITY


class Unreachable(OutlastError):
    exit_code = EXIT_STORE


class StoreError(OutlastError):
    exit_code = EXIT_STORE


class StoreUnavailable(StoreError):
    """Nothing is known about the outcome: it may have been done and only the answer lost."""


class StoreFull(StoreError):
    pass


class Damaged(StoreError):
    def __init__(self, message: str, *, state: str = "", hint: str = "") -> None:
        super().__init__(message, state=state, hint=hint or DAMAGED_HINT)


class NewerFormat(StoreError):
    pass


class KeyMissing(Exception):
    """No object has this key."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class PreconditionFailed(Exception):
    """The object's generation is not the one that was asked for; nothing was written."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key
