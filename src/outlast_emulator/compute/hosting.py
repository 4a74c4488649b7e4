"""What Compute Engine asks of whoever runs machines (`outlast_emulator.machines.host`), and the answer when nobody does."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


GUEST = "instance/guest-attributes/"


class Guest(Protocol):
    """What the instance's model needs of a machine and its metadata server, whichever runs it."""

    def alive(self) -> bool: ...

    def ended(self) -> str:
        """Why it is off: `off`, `reboot`, `killed`, `crashed`; "" while it runs."""
        ...

    def soft_off(self, seconds: float) -> None:
        """Asks it to shut down and returns when it is off, or after `seconds` of real time."""
        ...

    def kill(self) -> None:
        """Ends all of it; returns when it is gone."""
        ...

    def cut(self, cut: bool) -> None: ...

    def serial(self) -> tuple[int, bytes]:
        """The offset of the first byte that is kept, and what is kept."""
        ...

    def tell(self, path: str, value: str) -> None:
        """A value of its metadata server, below `/computeMetadata/v1/`: `tell("instance/preempted", "TRUE")`."""
        ...

    def attributes(self, values: dict[str, str]) -> None:
        """Its `instance/attributes/`, whole."""
        ...

    def guest_attributes(self) -> dict[str, str]:
        """`namespace/key` -> value, as the guest has written them."""
        ...

    def connect(self, port: int) -> socket.socket:
        """To one of its ports. OSError: nobody listens there."""
        ...

    def will_listen(self, port: int) -> bool:
        """It is about to: try again."""
        ...


class Silence:
    """A machine that is there and does nothing: where `machines` is switched off."""

    def __init__(self) -> None:
        self._alive = True
        self.values: dict[str, str] = {}

    def alive(self) -> bool:
        return self._alive

    def ended(self) -> str:
        return "" if self._alive else "killed"

    def soft_off(self, seconds: float) -> None:
        self._alive = False

    def kill(self) -> None:
        self._alive = False

    def cut(self, cut: bool) -> None:
        return None

    def serial(self) -> tuple[int, bytes]:
        return 0, b""

    def tell(self, path: str, value: str) -> None:
        self.values[path] = value

    def attributes(self, values: dict[str, str]) -> None:
        return None

    def guest_attributes(self) -> dict[str, str]:
        """It tells nothing by itself: what it was made to."""
        return {path.removeprefix(GUEST): value for path, value in self.values.items() if path.startswith(GUEST)}

    def connect(self, port: int) -> socket.socket:
        raise ConnectionRefusedError

    def will_listen(self, port: int) -> bool:
        return False


def connect(emulator: Emulator) -> None:
    """What machines get of the emulator that runs them: its port, tokens by its IAM, the environment of their scripts."""
    from outlast_emulator.iam.oauth import identity_token
    from outlast_emulator.iam.tokens import LIFETIME_SECONDS
    from outlast_emulator.variables import variables

    contents, authority = emulator.compute.contents, emulator.authority

    def token(email: str, scopes: tuple[str, ...]) -> dict[str, Any]:
        text, _ = authority.token(f"serviceAccount:{email}", scopes)
        return {"access_token": text, "expires_in": LIFETIME_SECONDS - 1, "token_type": "Bearer"}

    def identity(email: str, audience: str, full: bool) -> str:
        return identity_token(authority, email, audience)

    def environment() -> dict[str, str]:
        """Machines have a metadata server of their own."""
        found = variables(emulator.url)
        return {name: value for name, value in found.items() if not name.startswith("GCE_METADATA_")}

    contents.token, contents.identity, contents.environment = token, identity, environment
    contents.port = lambda: int(emulator.url.rpartition(":")[2] or 0)
