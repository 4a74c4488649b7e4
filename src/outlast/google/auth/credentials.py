"""What every kind of credential can do, and the kind that is none."""

from __future__ import annotations

from typing import Protocol

from outlast.dataclass import dataclass

SCOPE = "https://www.googleapis.com/auth/cloud-platform"


@dataclass(frozen=True)
class Token:
    value: str
    """Empty: requests go without one."""

    lives_seconds: float
    """From now. Never a point in time: the clocks of two machines differ."""


class Credentials(Protocol):
    account: str
    """Who it is, as far as is known without asking: for messages."""

    quota_project: str
    """Whose quota is used (`x-goog-user-project`); empty: the account's own project."""

    project: str
    """The project that it belongs to, if it says so."""

    def renew(self) -> Token:
        """A new token. `Denied` with the command that helps; `NoAnswer` or `ApiError` for what may pass."""
        ...


class Anonymous:
    """For an emulator: nothing that is a secret is ever sent there."""

    account = "anonymous"
    quota_project = ""
    project = ""

    def renew(self) -> Token:
        return Token("", float("inf"))
