"""What is hashed beside its use is hashed whole, in order, and before its memory is used again."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from random import Random

from outlast.folder.hashing import BESIDE_BYTES_MIN, hashed

LARGE = BESIDE_BYTES_MIN


def test_chunks_of_all_sizes_come_as_they_are_and_have_the_digest_of_the_whole() -> None:
    random = Random(1)
    chunks = [random.randbytes(size) for size in (1, LARGE, 10, LARGE + 1, LARGE - 1, 0, 3 * LARGE)]
    check = hashlib.sha256()
    assert list(hashed(chunks, check)) == chunks
    assert check.digest() == hashlib.sha256(b"".join(chunks)).digest()


def test_memory_that_is_used_for_the_next_chunk_was_hashed_before() -> None:
    memory, whole = bytearray(LARGE), hashlib.sha256()

    def chunks() -> Iterator[memoryview]:
        for number in range(20):
            memory[:] = bytes([number]) * LARGE
            whole.update(memory)
            yield memoryview(memory)

    check = hashlib.sha256()
    for _ in hashed(chunks(), check):  # type: ignore[arg-type]  # as the store hands them out
        pass
    assert check.digest() == whole.digest()


def test_whoever_stops_in_the_middle_leaves_no_thread() -> None:
    before = threading.active_count()
    reading = hashed([bytes(LARGE)] * 3, hashlib.sha256())
    next(reading)
    assert threading.active_count() == before + 1
    reading.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
