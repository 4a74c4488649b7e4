"""What a client does in threads of its own, behind the back of whoever calls it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS_MAX = 120.0


@contextmanager
def ended_threads() -> Iterator[None]:
    """Whatever thread was begun in the block has ended after it.

    google-cloud-storage looks each bucket up in one, the first time that it is used: a call that may else come after the
    test, and be counted to the next one.
    """
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(SECONDS_MAX)
        assert not thread.is_alive(), f"{thread.name} does not end"
