"""What an agent sends, and what one that was started again knows of its own uploads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

import pytest

from outlast.agent import mirror as mirror_module
from outlast.agent.child import Saved
from outlast.agent.mirror import Mirror
from outlast.store.memory import MemoryStore
from outlast.store.store import Upload
from tests.agent.by_hand import File, Job


@pytest.mark.parametrize("foreign", ["notes.txt", "x", "٣", "²", ""])
def test_numbers_go_on_after_the_last_manifest_whatever_else_lies_there(foreign: str) -> None:
    job = Job()
    keys = job.folder.keys
    for name in ("000001-000002-aaaa", "000001-000007-bbbb", "000002-000009-cccc"):
        job.store.put(keys.manifest(name), b"{}", if_generation=0)
    job.store.put(f"{keys.checkpoints}000001-{foreign}", b"somebody's")
    mirror = Mirror(job.folder, 1, lambda done, total: None)
    mirror.recall()
    assert mirror.manifests == 7, "another attempt's do not count"


class Disorderly(MemoryStore):
    """Sends the last part first, and one of them twice, as several connections may."""

    def upload_many(self, uploads: Iterable[Upload], between: Callable[[int], None] = lambda done: None) -> None:
        many = list(uploads)
        super().upload_many([*reversed(many), many[1]], between)


def test_a_file_of_many_parts_is_known_by_its_own_hash_in_whatever_order_they_were_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mirror_module, "PART_BYTES", 16)
    job = Job(Disorderly())
    file = File(job.clock, "large", 0.0)
    saved = Saved(1, 1, complete=False, files=(file,))
    manifest = Mirror(job.folder, 1, lambda done, total: None).write(saved, job.head)
    (written,) = manifest.files
    assert len(written.parts) == 4
    assert written.sha256 == hashlib.sha256(file.data).hexdigest()
