"""A base image with a real conda, and a channel with one package: no channel of the world can be reached from tests.

What PyPI has of conda is within conda-lock, under another name; here it has its own again.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import tarfile
from pathlib import Path

from tests.containers import base_image
from tests.containers.registry_server import Server, skopeo
from tools import install

PLACE = "opt/real-conda"
WITHIN = "conda_lock/_vendor/conda"
LEFT_OUT = {"bin", "conda_lock", "installed", "__pycache__", "tests"}
COMMAND = f"""\
#!/bin/sh
export PYTHONPATH=/{PLACE}/site PYTHONWARNINGS=ignore PYTHONDONTWRITEBYTECODE=1
export CONDA_SOLVER=classic CONDA_SAT_SOLVER=pysat CONDA_REPORT_ERRORS=false CONDA_OFFLINE=true
exec python3 -m conda "$@"
"""
"""The default solver is not on PyPI; its older one is conda's own."""


def push(registry: Server, name: str, programs: dict[str, str], scratch: Path) -> str:
    """The base image with one more layer; `programs`, by name, are in it too. Its name."""
    shutil.copytree(base_image.layout(), scratch)
    (entry,) = json.loads((scratch / "index.json").read_text())["manifests"]
    manifest = json.loads(_blob(scratch, entry["digest"]).read_bytes())
    config = json.loads(_blob(scratch, manifest["config"]["digest"]).read_bytes())
    archive = _archive(programs)
    config["rootfs"]["diff_ids"].append(f"sha256:{hashlib.sha256(archive).hexdigest()}")
    config["history"].append({"created_by": "conda"})
    manifest["layers"].append({**manifest["layers"][0], **_put(scratch, gzip.compress(archive, 1, mtime=0))})
    manifest["config"] |= _put(scratch, json.dumps(config).encode())
    index = {"schemaVersion": 2, "manifests": [{**entry, **_put(scratch, json.dumps(manifest).encode())}]}
    (scratch / "index.json").write_text(json.dumps(index))
    skopeo("copy", "--dest-tls-verify=false", f"oci:{scratch}:base", f"docker://{registry.host}/{name}")
    return f"{registry.host}/{name}"


def _blob(layout: Path, digest: str) -> Path:
    return layout / "blobs" / "sha256" / digest.removeprefix("sha256:")


def _put(layout: Path, data: bytes) -> dict[str, object]:
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    _blob(layout, digest).write_bytes(data)
    return {"digest": digest, "size": len(data)}


def _archive(programs: dict[str, str]) -> bytes:
    assert install.CONDA.is_dir(), "`make test` installs it"
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, text in {**programs, "conda": COMMAND}.items():
            _add(tar, f"usr/bin/{name}", text.encode(), 0o755)
        for path in sorted(install.CONDA.rglob("*")):
            inside = path.relative_to(install.CONDA)
            if path.is_file() and not LEFT_OUT & set(inside.parts) and ".dist-info" not in inside.parts[0]:
                _add(tar, f"{PLACE}/site/{inside}", path.read_bytes(), 0o644)
        conda = install.CONDA / WITHIN
        for path in sorted(conda.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                data = path.read_bytes().replace(b"conda_lock._vendor.conda", b"conda")
                _add(tar, f"{PLACE}/site/conda/{path.relative_to(conda)}", data, 0o644)
        for name, data in _channel().items():
            _add(tar, f"{PLACE}/channel/{name}", data, 0o644)
    return made.getvalue()


def environment(*packages: str) -> str:
    return json.dumps({"channels": [f"file:///{PLACE}/channel", "nodefaults"], "dependencies": list(packages)})


def _channel() -> dict[str, bytes]:
    """With one package, `conda-tool`, whose program says where it is from."""
    program = b"#!/bin/sh\necho of conda\n"
    record = {"name": "conda-tool", "version": "1.0", "build": "0", "build_number": 0, "depends": []}
    record |= {"subdir": "linux-64", "arch": "x86_64", "platform": "linux"}
    digest = hashlib.sha256(program).hexdigest()
    path = {"_path": "bin/conda-tool", "path_type": "hardlink", "sha256": digest, "size_in_bytes": len(program)}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:bz2") as tar:
        _add(tar, "info/index.json", json.dumps(record).encode(), 0o644)
        _add(tar, "info/files", b"bin/conda-tool\n", 0o644)
        _add(tar, "info/paths.json", json.dumps({"paths_version": 1, "paths": [path]}).encode(), 0o644)
        _add(tar, "bin/conda-tool", program, 0o755)
    package = made.getvalue()
    known = {**record, "size": len(package), "sha256": hashlib.sha256(package).hexdigest()}
    name = "conda-tool-1.0-0.tar.bz2"
    return {
        f"linux-64/{name}": package,
        "linux-64/repodata.json": _listing("linux-64", {name: known}),
        "noarch/repodata.json": _listing("noarch", {}),
    }


def _listing(subdir: str, packages: dict[str, object]) -> bytes:
    return json.dumps({"info": {"subdir": subdir}, "packages": packages, "repodata_version": 1}).encode()


def _add(tar: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))
