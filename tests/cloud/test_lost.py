"""Machines that never came up: how long they have lived, by the times of what they have left in the home."""

from __future__ import annotations

import time

from outlast.engines.compute.lost import LIFE_SECONDS_MAX, Lost, lost_at_end, lost_before
from outlast.google.connect import connect
from outlast_emulator.testing import Running

HOME, BOOTS = "gs://boots/some/place", "jobs/one/launches/000001/boots/"


def leave(emulator: Running, at: float, *names: str) -> None:
    assert emulator.call("POST", "/_emulator/clock", {"skew_seconds": at}).status == 200
    for name in names:
        assert emulator.put("boots", f"some/place/{BOOTS}{name}", b"").status == 200


def since(began_at: float) -> float:
    """The emulator's clock is ours, put forward: so much it may have gone on between two records."""
    return time.monotonic() - began_at + 0.1


def test_the_lives_of_those_in_a_row_before_one_that_came_up_are_counted(emulator: Running) -> None:
    began_at = time.monotonic()
    emulator.make_bucket("boots")
    leave(emulator, 0, "0-1", "1-1")
    leave(emulator, 40, "0-1-up", "1-1-log")
    leave(emulator, 1000, "0-2", "1-2")
    leave(emulator, 1100, "0-2-log")
    leave(emulator, 5000, "0-3", "1-3")
    leave(emulator, 5060, "0-4")
    transport = connect()
    assert lost_before(transport, HOME, BOOTS, 0, 1) == Lost()
    assert lost_before(transport, HOME, BOOTS, 0, 2) == Lost(), "the one before came up"
    found = lost_before(transport, HOME, BOOTS, 0, 4)
    assert found.machines == 2
    assert 0 <= found.seconds - (100 + 60) <= 2 * since(began_at), "to its last word, or to its successor's first"
    found = lost_before(transport, HOME, BOOTS, 1, 3)
    assert found.machines == 2
    assert 0 <= found.seconds - (40 + LIFE_SECONDS_MAX) <= since(began_at), "nobody lives for ever without a word"


def test_at_the_end_of_a_launch_all_ranks_count_and_what_cannot_be_read_does_not(emulator: Running) -> None:
    began_at = time.monotonic()
    emulator.make_bucket("boots")
    leave(emulator, 0, "0-1", "0-1-up", "1-1")
    leave(emulator, 30, "1-1-log", "0-2")
    leave(emulator, 90, "0-2-log")
    found = lost_at_end(connect(), HOME, BOOTS)
    assert found.machines == 2 and 0 <= found.seconds - (30 + 60) <= 2 * since(began_at)
    assert lost_at_end(connect(), "gs://no-such-bucket", BOOTS) == Lost()
