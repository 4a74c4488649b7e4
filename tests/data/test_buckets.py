"""Datasets in buckets: pushed to a home there, and read from where somebody else has put them."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.bundle.dataset.push import push
from outlast.errors import NotFound
from outlast.jobs.datasets import give
from outlast.store.registry import open_store
from outlast_emulator.testing import Running
from tests.cli.user import User
from tests.data.material import back, contents, make, many, noise
from tests.data.test_run_datasets import SEES, seen
from tests.gcs.conftest import bucket, emulator, shared_emulator

__all__ = ["bucket", "emulator", "shared_emulator"]


def test_a_dataset_is_pushed_to_a_bucket_once(bucket: str, tmp_path: Path) -> None:
    store = open_store(f"gs://{bucket}/home")
    root = make(many(tmp_path / "data", 50), {"large": noise(20 << 20)})
    pushed = push(store, root, cache=tmp_path / "cache")
    assert contents(back(store, pushed.digest, tmp_path / "back")) == contents(root)
    assert push(open_store(f"gs://{bucket}/home"), root, cache=tmp_path / "other cache").uploaded_bytes == 0


def test_what_lies_in_a_bucket_is_copied_to_the_machine(user: User, emulator: Running, bucket: str) -> None:
    user.env.update(emulator.variables)
    user.write("train.py", SEES)
    there = open_store(f"gs://{bucket}/cats")
    for key, content in {"a.txt": b"one", "b/c.txt": b"two"}.items():
        there.upload(key, [content])
    url = f"gs://{bucket}/cats"
    assert seen(user, "--dataset", url) == {
        "OUTLAST_DATASET": {"a.txt": "one", "b/c.txt": "two"},
        "OUTLAST_DATASET_URL": url,
    }
    assert seen(user, "--dataset", f"{url}/a.txt")["OUTLAST_DATASET"] == "a.txt: one"
    assert seen(user, "--dataset", url, "--dataset-mode", "url") == {"OUTLAST_DATASET_URL": url}


def test_a_bucket_that_holds_nothing_there_is_refused(bucket: str, tmp_path: Path) -> None:
    class World:
        cache_dir = tmp_path / "cache"
        open_store = staticmethod(open_store)

    with pytest.raises(NotFound, match="there is nothing at"):
        give(World(), open_store(str(tmp_path / "home")), [f"gs://{bucket}/nothing"], "copy", tmp_path)  # type: ignore[arg-type]
