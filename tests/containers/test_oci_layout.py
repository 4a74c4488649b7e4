"""Images in a directory: what others read, what goes when there are too many."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from outlast.container import oci_layout
from outlast.container.manifest import CONFIG, LAYER_GZIP, MANIFEST
from outlast.container.oci_layout import OciLayout
from outlast.container.registry import BlobsMissing, digest_of
from outlast.container.runtime import load_command
from tests.containers.registry_server import skopeo


def manifest(layout: OciLayout, number: int) -> bytes:
    config = json.dumps(
        {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}, "n": number}
    )
    layout.put_blob("", digest_of(config.encode()), len(config), lambda: (config.encode(),))
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": digest_of(config.encode()), "size": len(config)},
        "layers": [],
    }
    return json.dumps(document).encode()


def test_an_image_is_read_by_others_and_given_to_docker_as_an_archive(tmp_path: Path) -> None:
    layout = OciLayout(tmp_path / "layout")
    data = manifest(layout, 1)
    layout.put_manifest("", "one", data, MANIFEST)

    found = json.loads(skopeo("inspect", "--raw", f"oci:{layout.image('one')}:one"))
    assert found == json.loads(data)
    assert layout.manifest_digest("", "one") == layout.manifest_digest("", digest_of(data)) == digest_of(data)
    assert layout.name_of(digest_of(data)) == "one"
    command = load_command("/usr/bin/docker", layout.image("one"), "one")
    assert command[-1] == "/usr/bin/docker"
    (tmp_path / "docker").write_text(f'#!/bin/sh\n[ "$1" = load ] && cat > {tmp_path}/archive.tar\n')
    (tmp_path / "docker").chmod(0o755)
    subprocess.run([*command[:-1], str(tmp_path / "docker")], check=True)
    assert json.loads(skopeo("inspect", "--raw", f"oci-archive:{tmp_path}/archive.tar:one")) == found


def test_the_newest_images_stay_and_nothing_of_them_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oci_layout, "IMAGES_MAX", 2)
    monkeypatch.setattr(oci_layout, "UNUSED_SECONDS_MIN", -60.0)
    layout = OciLayout(tmp_path)
    made = []
    for number in range(4):
        made.append(manifest(layout, number))
        layout.put_manifest("", f"image{number}", made[-1], MANIFEST)
        for path in (tmp_path / "images").iterdir():
            at = int(path.name.removeprefix("image"))
            os.utime(path, (at, at))

    assert [bool(layout.manifest_digest("", f"image{number}")) for number in range(4)] == [False, False, True, True]
    assert len(list((tmp_path / "blobs" / "sha256").iterdir())) == 4


def test_a_manifest_without_its_blobs_is_refused(tmp_path: Path) -> None:
    layout = OciLayout(tmp_path)
    document = json.loads(manifest(layout, 1))
    document["layers"] = [{"mediaType": LAYER_GZIP, "digest": digest_of(b"missing"), "size": 7}]

    with pytest.raises(BlobsMissing):
        layout.put_manifest("", "one", json.dumps(document).encode(), MANIFEST)
