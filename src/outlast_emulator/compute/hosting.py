"""What Compute Engine asks of whoever runs machines (`outlast_emulator.machines.host`), and the answer when nobody does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Machine(Protocol):
    """A machine that was booted."""

    pid: int

    def alive(self) -> bool: ...

    def serial(self) -> bytes: ...

    def soft_off(self, seconds: float) -> None: ...

    def kill(self) -> None: ...

    def cut(self, cut: bool) -> None: ...


class Guest(Protocol):
    """What the instance's model needs of a machine and its metadata server, whichever runs it."""

    def alive(self) -> bool: ...

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


class Silence:
    """A machine that is there and does nothing: where `machines` is switched off."""

    def __init__(self, on_exit: Callable[[], None] | None = None) -> None:
        self._alive = True
        self.values: dict[str, str] = {}
        self.on_exit = on_exit

    def alive(self) -> bool:
        return self._alive

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
        return {}
