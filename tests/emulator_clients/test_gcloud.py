"""`gcloud storage` drives the emulator, by the variables that the emulator prints and nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from outlast_emulator.testing import Running
from tests.emulator_clients.programs import make_tree, run, same_trees
from tests.gcloud import need_gcloud

CLIENT = "gcloud storage"
PINNED = False
"""It comes from wherever a machine has it from."""


@pytest.fixture(autouse=True)
def gcloud(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_gcloud()
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(home / "gcloud"))


def test_a_tree_goes_up_is_listed_comes_down_and_is_removed(emulator: Running, tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    run("gcloud", "storage", "buckets", "create", "gs://gcloud-life", "--location", "us-central1")
    run("gcloud", "storage", "cp", "--recursive", tree, "gs://gcloud-life/")
    listed = run("gcloud", "storage", "ls", "--recursive", "gs://gcloud-life")
    assert "gs://gcloud-life/tree/sub/ä+%20&?.txt" in listed and "gs://gcloud-life/tree/sub/deeper/large.bin" in listed
    (tmp_path / "back").mkdir()
    run("gcloud", "storage", "cp", "--recursive", "gs://gcloud-life/tree", tmp_path / "back")
    assert same_trees(tree, tmp_path / "back" / "tree")
    run("gcloud", "storage", "rm", "--recursive", "gs://gcloud-life")
    assert "not found" in run("gcloud", "storage", "ls", "gs://gcloud-life", ok=False)


def generations(emulator: Running, bucket: str) -> dict[str, str]:
    listed = emulator.call("GET", f"/storage/v1/b/{bucket}/o").json()["items"]
    return {one["name"]: one["generation"] for one in listed}


def test_rsync_sends_and_fetches_what_has_changed(emulator: Running, bucket: str, tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    run("gcloud", "storage", "rsync", "--recursive", tree, f"gs://{bucket}/tree")
    before = generations(emulator, bucket)
    (tree / "a b.txt").unlink()
    (tree / "new").write_bytes(b"new")
    run(
        "gcloud",
        "storage",
        "rsync",
        "--recursive",
        "--delete-unmatched-destination-objects",
        tree,
        f"gs://{bucket}/tree",
    )
    after = generations(emulator, bucket)
    del before["tree/a b.txt"], after["tree/new"]
    assert after == before, "what has not changed is not sent again, as it would be refused within a second"
    (tmp_path / "back").mkdir()
    run("gcloud", "storage", "rsync", "--recursive", f"gs://{bucket}/tree", tmp_path / "back")
    assert same_trees(tree, tmp_path / "back")


def test_an_object_is_read_copied_moved_and_described(emulator: Running, bucket: str) -> None:
    assert emulator.put(bucket, "one.txt", b"0123456789").status == 200
    assert run("gcloud", "storage", "cat", f"gs://{bucket}/one.txt") == "0123456789"
    assert run("gcloud", "storage", "cat", "--range", "2-4", f"gs://{bucket}/one.txt") == "234"
    run("gcloud", "storage", "cp", f"gs://{bucket}/one.txt", f"gs://{bucket}/two.txt")
    run("gcloud", "storage", "mv", f"gs://{bucket}/two.txt", f"gs://{bucket}/three.txt")
    described = run("gcloud", "storage", "objects", "describe", f"gs://{bucket}/three.txt", "--format", "value(size)")
    assert described.strip() == "10"
    run("gcloud", "storage", "cp", "--no-clobber", f"gs://{bucket}/one.txt", f"gs://{bucket}/three.txt")
    run("gcloud", "storage", "cat", f"gs://{bucket}/two.txt", ok=False)


def test_a_large_file_goes_up_as_composed_parts_and_comes_down_in_slices(
    emulator: Running, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "large").write_bytes(random.Random(5).randbytes(24 << 20))
    monkeypatch.setenv("CLOUDSDK_STORAGE_PARALLEL_COMPOSITE_UPLOAD_ENABLED", "True")
    for what in ("PARALLEL_COMPOSITE_UPLOAD", "SLICED_OBJECT_DOWNLOAD"):
        monkeypatch.setenv(f"CLOUDSDK_STORAGE_{what}_THRESHOLD", "5M")
        monkeypatch.setenv(f"CLOUDSDK_STORAGE_{what}_COMPONENT_SIZE", "8M")
    run("gcloud", "storage", "cp", tmp_path / "large", f"gs://{bucket}/large")
    assert emulator.get(bucket, "large").json()["componentCount"] > 1
    run("gcloud", "storage", "cp", f"gs://{bucket}/large", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "large").read_bytes()
