"""What really happened: every write to the store, every event of engine, machines and trainers. The checks read nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import field

from outlast.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Write:
    """One write that took effect. `sent_at` is when its caller sent it, `at` when the store did it."""

    at: float
    sent_at: float
    by: str
    op: str
    """put, upload, delete or purge."""

    key: str
    data: bytes | None
    generation: int
    before: int
    """The generation that it replaced; 0: none."""

    condition: int | None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened outside of the store."""

    at: float
    kind: str
    launch_id: str = ""
    rank: int = -1
    machine: str = ""
    detail: str = ""
    attempt: int = 0
    step: int | None = None
    seconds: float = 0.0


@dataclass
class History:
    """`now` is set by the world; `trace` is only kept when somebody wants to read it."""

    clock: Callable[[], float]
    tracing: bool = False
    writes: list[Write] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    trace: list[str] = field(default_factory=list)
    listeners: list[Callable[[Write], None]] = field(default_factory=list)
    watchers: list[Callable[[Event], None]] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    unanswered: set[tuple[str, str]] = field(default_factory=set)
    """(key, writer) of a write whose answer never came: it is sent again, and nobody could know that it was done."""

    def violated(self, text: str) -> None:
        self.violations.append(f"{self.clock():.3f} s: {text}")
        self.note(f"VIOLATION {text}")

    def wrote(self, write: Write) -> None:
        self.writes.append(write)
        if self.tracing:
            size = "" if write.data is None else f" {len(write.data)} bytes"
            self.note(f"{write.by}: {write.op} {write.key}{size} -> generation {write.generation}")
        for listener in self.listeners:
            listener(write)

    def happened(self, event: Event) -> None:
        self.events.append(event)
        if self.tracing:
            rest = [f"launch {event.launch_id}" if event.launch_id else "", event.detail]
            self.note(f"{event.machine or '-'}: {event.kind} {' '.join(text for text in rest if text)}")
        for watcher in self.watchers:
            watcher(event)

    def fault(self, kind: str, text: str = "") -> None:
        """Counts a fault that really took place."""
        self.faults[kind] += 1
        if self.tracing:
            self.note(f"FAULT {kind} {text}")

    def note(self, text: str) -> None:
        if self.tracing:
            self.trace.append(f"{self.clock():10.3f}  {text}")
