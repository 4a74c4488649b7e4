"""rclone drives the emulator: by its backend for Google's JSON API, and by its S3 backend through the XML API."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from outlast_emulator.testing import Running
from tests.emulator_clients.programs import make_tree, run, same_trees

CLIENT = "rclone"
PINNED = False
"""Debian's, whose version differs from release to release."""

CONFIG = """
[json]
type = google cloud storage
anonymous = true
project_number = emulated
endpoint = {url}/storage/v1/
bucket_policy_only = true

[xml]
type = s3
provider = Other
endpoint = {url}
access_key_id = GOOG1EMULATED
secret_access_key = emulated
region = us-central1
list_version = 2
upload_cutoff = 5M
chunk_size = 5M
"""


@pytest.fixture(autouse=True)
def config(emulator: Running, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("rclone") is None:
        pytest.fail(
            "rclone is not on the PATH\nhint: `make test` installs it where it may: `sudo apt-get install rclone`"
        )
    (home / "rclone.conf").write_text(CONFIG.format(url=emulator.url))
    monkeypatch.setenv("RCLONE_CONFIG", str(home / "rclone.conf"))
    monkeypatch.setenv("RCLONE_RETRIES", "1")


@pytest.mark.parametrize("api", ["json", "xml"])
def test_a_tree_goes_up_is_checked_moved_and_comes_down(api: str, emulator: Running, tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    place = f"{api}:rclone-{api}"
    run("rclone", "mkdir", place)
    run("rclone", "copy", tree, f"{place}/tree")
    run("rclone", "check", tree, f"{place}/tree")
    assert "sub/deeper/large.bin" in run("rclone", "lsf", "--recursive", f"{place}/tree")
    assert run("rclone", "cat", "--offset", "2", "--count", "2", f"{place}/tree/a b.txt") == "ll"
    run("rclone", "moveto", f"{place}/tree/a b.txt", f"{place}/tree/moved.txt")
    (tree / "a b.txt").rename(tree / "moved.txt")
    run("rclone", "sync", f"{place}/tree", tmp_path / "back")
    assert same_trees(tree, tmp_path / "back")
    run("rclone", "purge", place)
    assert f"rclone-{api}" not in run("rclone", "lsd", f"{api}:")
