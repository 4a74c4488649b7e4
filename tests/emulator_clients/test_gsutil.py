"""gsutil drives the emulator: it speaks TLS to the JSON API whatever it is told; the XML API by plain HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast_emulator.testing import Running
from tests.emulator_clients.programs import make_tree, run, same_trees
from tools import install

CLIENT = "gsutil"

CONFIG = """
[Boto]
https_validate_certificates = False
num_retries = 2
[Credentials]
gs_json_host = 127.0.0.1
gs_json_port = {port}
gs_host = 127.0.0.1
gs_port = {port}
[GSUtil]
default_project_id = emulated
state_dir = {home}/state
software_update_check_period = 0
parallel_process_count = 1
resumable_threshold = 4194304
"""
XML = ("-o", "GSUtil:prefer_api=xml", "-o", "Boto:is_secure=False")


@pytest.fixture(autouse=True)
def config(emulator: Running, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not install.GSUTIL.exists():
        pytest.fail("gsutil is not installed\nhint: `make test` installs it into build/gsutil")
    (home / "boto").write_text(CONFIG.format(port=emulator.url.rsplit(":", 1)[1], home=home))
    monkeypatch.setenv("BOTO_CONFIG", str(home / "boto"))


def gsutil(*words: str | Path, ok: bool = True) -> str:
    return run(install.GSUTIL, *words, ok=ok)


def test_a_tree_goes_up_is_synchronised_and_comes_down(emulator: Running, tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    gsutil("mb", "-l", "us-central1", "gs://gsutil-life")
    gsutil("cp", "-r", tree, "gs://gsutil-life/")
    assert "gs://gsutil-life/tree/sub/ä+%20&?.txt" in gsutil("ls", "-r", "gs://gsutil-life")
    (tree / "new").write_bytes(b"new")
    gsutil("rsync", "-r", tree, "gs://gsutil-life/tree")
    (tmp_path / "back").mkdir()
    gsutil("rsync", "-r", "gs://gsutil-life/tree", tmp_path / "back")
    assert same_trees(tree, tmp_path / "back")
    gsutil("rm", "-r", "gs://gsutil-life")
    assert "gsutil-life" not in gsutil("ls")


def test_an_object_is_read_moved_composed_and_rewritten(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "one", b"0123456789")
    assert gsutil("cat", "-r", "2-4", f"gs://{bucket}/one") == "234"
    gsutil("mv", f"gs://{bucket}/one", f"gs://{bucket}/two")
    gsutil("compose", f"gs://{bucket}/two", f"gs://{bucket}/two", f"gs://{bucket}/both")
    assert gsutil("cat", f"gs://{bucket}/both") == "01234567890123456789"
    assert "Content-Length:         20" in gsutil("stat", f"gs://{bucket}/both")
    gsutil("rewrite", "-s", "nearline", f"gs://{bucket}/two")  # with its access list, which gsutil must have seen
    assert emulator.get(bucket, "two").json()["storageClass"] == "NEARLINE"


def test_the_xml_api_takes_lists_and_deletes(emulator: Running, bucket: str, tmp_path: Path) -> None:
    (tmp_path / "by xml").write_bytes(b"by xml")
    (tmp_path / "large").write_bytes(b"resumable" * 600_000)
    gsutil(*XML, "cp", tmp_path / "by xml", tmp_path / "large", f"gs://{bucket}/")
    assert gsutil(*XML, "ls", f"gs://{bucket}").split("\n")[0] == f"gs://{bucket}/by xml"
    assert emulator.get(bucket, "by xml", alt="media").body == b"by xml"
    assert emulator.get(bucket, "large", alt="media").body == b"resumable" * 600_000
    assert "Content-Length:         5400000" in gsutil(*XML, "stat", f"gs://{bucket}/large")  # asks for its access list
    gsutil(*XML, "rm", f"gs://{bucket}/by xml")
    assert emulator.get(bucket, "by xml").status == 404
