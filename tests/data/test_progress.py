"""A push that takes its time is watched on a terminal, and leaves nothing of that behind."""

from __future__ import annotations

from pathlib import Path

from outlast.bundle.dataset.push import push
from outlast.store.directory import DirectoryStore
from tests.data.material import many


def test_a_push_tells_how_far_it_has_come(store: DirectoryStore, tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    root = many(tmp_path / "data", 300, size=1000)
    push(
        store,
        root,
        cache=tmp_path / "cache",
        on_progress=lambda doing, done, total, unit="bytes": told.append((doing, done)),
    )
    assert {doing for doing, _ in told} == {"pushing `data`"}
    assert [done for _, done in told] == sorted(done for _, done in told)
    assert told[-1][1] == 300_000
