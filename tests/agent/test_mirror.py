"""What an agent that was started again knows of its own uploads."""

from __future__ import annotations

import pytest

from outlast.agent.mirror import Mirror
from tests.agent.by_hand import Job


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
