"""A right that a rented machine lacks is told where telling takes none: in its guest attributes, for whoever looks at the job."""

from __future__ import annotations

import os
from functools import cache

from outlast.clock import SYSTEM, Clock
from outlast.engines.compute.heard import CHARACTERS_MAX, NAMESPACE, WAITS
from outlast.machine.metadata import Metadata
from outlast.store.gcs import GcsStore
from outlast.store.store import Store

AGAIN_SECONDS = 30.0
"""Between two words of the same: Google takes ten a second of a machine."""


class Complaint:
    def __init__(self, metadata: Metadata, clock: Clock) -> None:
        self._metadata = metadata
        self._clock = clock
        self._said = ""
        self._said_at = 0.0

    def __call__(self, words: str) -> None:
        now = self._clock.monotonic()
        if words == self._said and now < self._said_at + AGAIN_SECONDS:
            return
        self._said, self._said_at = words, now
        self._metadata.tell(f"{NAMESPACE}/{WAITS}", " ".join(words.split())[:CHARACTERS_MAX])


@cache
def complaint() -> Complaint:
    """This machine's."""
    return Complaint(Metadata.of(os.environ), SYSTEM)


def complain(store: Store) -> None:
    """From now on, of whatever the store refuses this machine."""
    if isinstance(store, GcsStore):
        store.on_denied = complaint()
