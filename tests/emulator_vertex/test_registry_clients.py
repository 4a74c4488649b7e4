"""skopeo and podman push to, read from and run images of the emulator's registry."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from outlast_emulator.testing import Running
from tests.emulator_vertex.images import push, tar

CLIENT = "skopeo, podman"
PINNED = False
SECONDS_MAX = 300
FROM = "emulated/outlast/train"


def run(*words: str | Path, home: Path, fails: bool = False) -> str:
    environment = {
        "HOME": str(home),
        "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "XDG_RUNTIME_DIR": str(home),
    }
    done = subprocess.run(
        [str(word) for word in words], env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not on the PATH; Debian's package `{program}` brings it")


def test_skopeo_reads_copies_pushes_and_deletes(emulator: Running, tmp_path: Path) -> None:
    need("skopeo")
    push(emulator, FROM, "one", layers=(tar({"a": b"1" * 100_000}), tar({"b": b"2"})), based=False, Env=["A=b"])
    host = f"docker://{emulator.url.partition('://')[2]}"
    skopeo = ("skopeo", "--insecure-policy")
    shown = json.loads(run(*skopeo, "inspect", "--tls-verify=false", f"{host}/{FROM}:one", home=tmp_path))
    assert shown["Env"] == ["A=b"] and len(shown["Layers"]) == 2 and shown["RepoTags"] == ["one"]
    run(*skopeo, "copy", "--src-tls-verify=false", f"{host}/{FROM}:one", f"dir:{tmp_path}/image", home=tmp_path)
    run(*skopeo, "copy", "--dest-tls-verify=false", f"dir:{tmp_path}/image", f"{host}/other/name:two", home=tmp_path)
    tls = ("--src-tls-verify=false", "--dest-tls-verify=false")
    run(*skopeo, "copy", *tls, f"{host}/other/name:two", f"{host}/third:three", home=tmp_path)
    found = {
        name: emulator.call("GET", f"/v2/{name}/manifests/{tag}").body
        for name, tag in ((FROM, "one"), ("third", "three"))
    }
    assert found[FROM] == found["third"]
    run(*skopeo, "delete", "--tls-verify=false", f"{host}/third:three", home=tmp_path)
    assert emulator.call("GET", "/v2/third/manifests/three").status == 404


def test_skopeo_logs_in_with_an_access_token(emulator: Running, tmp_path: Path) -> None:
    need("skopeo")
    push(emulator, FROM, "one", layers=(tar({"a": b"1"}),), based=False)
    emulator.call(
        "POST", "/_emulator/iam/users", {"email": "r@example.com", "roles": ["roles/artifactregistry.reader"]}
    )
    token = emulator.call("POST", "/_emulator/iam/tokens", {"email": "r@example.com"}).json()["access_token"]
    emulator.switch(require_login=True)
    host, creds = f"docker://{emulator.url.partition('://')[2]}", f"oauth2accesstoken:{token}"
    inspect = ("skopeo", "inspect", "--tls-verify=false")
    assert "unauthorized" in run(*inspect, f"{host}/{FROM}:one", home=tmp_path, fails=True).lower()
    run(*inspect, "--creds", creds, f"{host}/{FROM}:one", home=tmp_path)
    copy = ("skopeo", "--insecure-policy", "copy", "--src-tls-verify=false", "--dest-tls-verify=false")
    refused = run(
        *copy,
        "--src-creds",
        creds,
        "--dest-creds",
        creds,
        f"{host}/{FROM}:one",
        f"{host}/new:one",
        home=tmp_path,
        fails=True,
    )
    assert "denied" in refused.lower()


def test_podman_pulls_tags_and_pushes(emulator: Running, tmp_path: Path) -> None:
    need("podman")
    push(emulator, FROM, "one", layers=(tar({"a": b"1"}), tar({"b": b"2"})), based=False, Labels={"x": "y"})
    host = emulator.url.partition("://")[2]
    (tmp_path / ".config/containers").mkdir(parents=True)
    (tmp_path / ".config/containers/policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    with tempfile.TemporaryDirectory(prefix="p") as short:  # it takes no longer path
        storage = ("--root", tmp_path / "root", "--runroot", short, "--storage-driver", "vfs")
        podman = ("podman", *storage, "--cgroup-manager", "cgroupfs")
        run(*podman, "pull", "--tls-verify=false", f"{host}/{FROM}:one", home=tmp_path)
        run(*podman, "tag", f"{host}/{FROM}:one", f"{host}/by/podman:two", home=tmp_path)
        run(*podman, "push", "--tls-verify=false", f"{host}/by/podman:two", home=tmp_path)
    manifest = emulator.call("GET", "/v2/by/podman/manifests/two").json()
    config = emulator.call("GET", f"/v2/by/podman/blobs/{manifest['config']['digest']}").json()
    assert config["config"]["Labels"] == {"x": "y"} and len(manifest["layers"]) == 2
