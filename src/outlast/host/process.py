"""Who a process is: its number alone passes to others."""

from __future__ import annotations

import functools
import json
import os

from outlast.dataclass import dataclass
from outlast.host import system


@dataclass(frozen=True)
class Process:
    pid: int
    began: str
    """Its start time, as the system counts it."""

    boot: str

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The process that has this number now."""
        began = system.start_time(pid)
        return cls(pid, began, system.boot_id()) if began else None

    @classmethod
    def me(cls) -> Process:
        return _of_this(os.getpid())

    @classmethod
    def read(cls, document: object) -> Process | None:
        """From a file's JSON; None: there is none, or it is torn."""
        if not isinstance(document, dict):
            return None
        pid, began, boot = (document.get(name) for name in ("pid", "began", "boot"))
        if not isinstance(pid, int) or not isinstance(began, str) or not isinstance(boot, str) or pid <= 0:
            return None
        return cls(pid, began, boot)

    def encode(self) -> bytes:
        return json.dumps(self.document()).encode()

    def document(self) -> dict[str, object]:
        return {"pid": self.pid, "began": self.began, "boot": self.boot}

    def alive(self) -> bool:
        return self.boot == system.boot_id() and system.same_start(system.start_time(self.pid), self.began)

    def send(self, number: int) -> bool:
        """False: it is gone. Never reaches another process that got its number."""
        return self.boot == system.boot_id() and system.send(self.pid, self.began, number)


@functools.lru_cache(maxsize=1)
def _of_this(pid: int) -> Process:
    """Asked once in a process, and anew after a fork."""
    return Process(pid, system.start_time(pid), system.boot_id())
