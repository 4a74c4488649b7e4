"""Planted in the streams: segments, their ends, their beginnings."""

from __future__ import annotations

from typing import Any

from outlast.agent.commits import Commits
from outlast.agent.streams import Stream
from outlast.errors import PreconditionFailed
from outlast.testing.simulation.planted.plant import ISSUE, REFERENCE, around, plant


def _seal_deaf(self: Stream, total: int) -> None:
    """A segment that is there already is taken for what we hold by now."""
    offset = self.sealed_bytes
    data = self.child.stream_read(self.name, offset, total - offset)
    try:
        self.folder.store.put(
            self.folder.keys.segment(self.attempt, self.name, self.rank, offset), data, if_generation=0
        )
    except PreconditionFailed:
        pass
    self._count(offset, len(data))


def _seal_over(self: Stream, total: int) -> None:
    """Always from the beginning, over what is there."""
    data = self.child.stream_read(self.name, 0, total)
    self.folder.store.put(self.folder.keys.segment(self.attempt, self.name, self.rank, 0), data)
    self._count(0, len(data))


def _unfinished(original: Any, self: Stream) -> None:
    return


def _metrics_later(original: Any, self: Commits) -> None:
    """They wait for their own time: a machine that dies before it takes along what committed steps have logged."""


def _dropped_early(original: Any, self: Stream, total: int) -> None:
    """The spool is given back before its bytes are sealed."""
    self.child.stream_drop(self.name, total)
    original(self, total)


ALL = (
    plant(
        "segment taken for longer",
        "a segment that is there already is continued from its end",
        ISSUE,
        (Stream, "_seal", _seal_deaf),
    ),
    plant("segment written over", "segments are create-only", ISSUE, (Stream, "_seal", _seal_over)),
    plant(
        "log not sealed at the end",
        "logs are sealed before head is final",
        REFERENCE,
        (Stream, "finish", around(Stream.finish, _unfinished)),
    ),
    plant(
        "metrics sealed after their checkpoint",
        "what a committed step has logged is kept",
        ISSUE,
        (Commits, "_seal_metrics", around(Commits._seal_metrics, _metrics_later)),
    ),
    plant(
        "spool dropped before it is sealed",
        "what is sealed may be given back",
        REFERENCE,
        (Stream, "_seal", around(Stream._seal, _dropped_early)),
    ),
)
