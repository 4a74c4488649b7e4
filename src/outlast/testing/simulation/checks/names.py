"""How names are used: written once or swapped, and never twice in a second by one writer."""

from __future__ import annotations

from typing import Any

from outlast.testing.simulation.checks.check import Check
from outlast.testing.simulation.history import Write
from outlast.testing.simulation.store import REWRITE_SECONDS


class Names(Check):
    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.sent: dict[tuple[str, str], float] = {}

    def written(self, write: Write) -> None:
        self._check_once(write)
        if write.data is None:
            return
        key = (write.key, write.by)
        last = self.sent.get(key)
        unanswered = (write.key, write.by) in self.history.unanswered
        if last is not None and not unanswered and 0 <= write.sent_at - last < REWRITE_SECONDS - 1e-6:
            self.violated(f"{write.by} wrote {write.key} twice within {write.sent_at - last:.3f} s")
        self.sent[key] = write.sent_at

    def _check_once(self, write: Write) -> None:
        root = self.world.keys.root
        name = write.key.removeprefix(root)
        rewritten = name in ("head.json", "published.json", "requests/bell") or name.startswith(("outputs/", "pins/"))
        if write.before and write.data is not None and not rewritten and not name.endswith(("beat.json", ".tail")):
            self.violated(f"{write.by} wrote {write.key} over what was there")
        if (
            write.data is None
            and self.world.head is not None
            and not name.startswith(("attempts/", "checkpoints/", "pins/", "outputs/"))
        ):
            self.violated(f"{write.by} deleted {write.key}")
