"""A base image out of this computer's own Python: no registry of the world can be reached from tests.

Kept in build/, since it takes seconds to make; made of nothing of ours, and pushed by skopeo.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
LEFT_OUT = {
    "test",
    "tests",
    "idlelib",
    "turtledemo",
    "tkinter",
    "ensurepip",
    "lib2to3",
    "__pycache__",
    "site-packages",
    "dist-packages",
}
PROGRAMS = ("sh", "env", "cat", "ls", "sleep", "id", "mkdir", "chmod", "cp", "rm", "true", "tr", "kill")
SYSTEM = ("libgcc_s.so.1", "libstdc++.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libm.so.6")
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def layout() -> Path:
    """An OCI layout directory with one image, `base`."""
    executable = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    key = hashlib.sha256(f"{executable} {sys.version} 6".encode()).hexdigest()[:12]
    made = ROOT / "build" / f"container-base-{key}"
    if made.is_dir():
        return made
    scratch = ROOT / "build" / f".container-base-{os.getpid()}"
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "blobs" / "sha256").mkdir(parents=True)
    _fill(scratch, _archive(executable))
    try:
        scratch.rename(made)
    except OSError:
        shutil.rmtree(scratch)  # another process was faster
    return made


def _fill(at: Path, archive: bytes) -> None:
    def blob(data: bytes, kind: str) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        (at / "blobs" / "sha256" / digest).write_bytes(data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    layer = blob(gzip.compress(archive, 1, mtime=0), "layer.v1.tar+gzip")
    config = {
        "architecture": ARCHITECTURE,
        "os": "linux",
        "config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin", f"PYTHON_VERSION={VERSION}.0"], "Cmd": ["python3"]},
        "history": [{"created_by": "this computer's Python"}],
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(archive).hexdigest()}"]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(json.dumps(config).encode(), "config.v1+json"),
        "layers": [layer],
    }
    entry = blob(json.dumps(manifest).encode(), "manifest.v1+json")
    entry["annotations"] = {"org.opencontainers.image.ref.name": "base"}
    (at / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    (at / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


def _archive(executable: str) -> bytes:
    stdlib = Path(sysconfig.get_path("stdlib", vars={"base": sys.base_prefix, "installed_base": sys.base_prefix}))
    programs = [found for name in PROGRAMS if (found := shutil.which(name, path="/usr/bin:/bin"))]
    libraries = [str(path) for path in (stdlib / "lib-dynload").glob("*.so") if "_test" not in path.name]
    libraries += [path for name in SYSTEM for path in _found(name)]
    needed = {library for program in (executable, *programs, *libraries) for library in _libraries(program)}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, mode in (("tmp", 0o1777), ("root", 0o700), ("proc", 0o755), ("sys", 0o755), ("dev", 0o755)):
            archive.addfile(_entry(name, tarfile.DIRTYPE, mode))
        for name in ("bin", "sbin", "lib", "lib64"):
            archive.addfile(_entry(name, tarfile.SYMTYPE, 0o777, link=f"usr/{name}"))
        _text(archive, "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
        _text(archive, "etc/group", "root:x:0:\n")
        needed |= {path for path in libraries if "/lib-dynload/" not in path}
        for path in sorted({executable, *needed}):
            _file(archive, path, _placed(path))
        for path in sorted(programs):
            _file(archive, path, f"usr/bin/{os.path.basename(path)}")
        placed = _placed(executable)
        if placed != "usr/bin/python3":
            archive.addfile(_entry("usr/bin/python3", tarfile.SYMTYPE, 0o777, link=f"/{placed}"))
        for module in sorted(stdlib.rglob("*")):
            inside = module.relative_to(stdlib).parts
            if not LEFT_OUT & set(inside) and module.is_file() and module.suffix != ".a":
                _file(archive, str(module), _placed(str(module)))
    return made.getvalue()


def _placed(path: str) -> str:
    """Debian's /lib and /bin are links to those in /usr."""
    return re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", path).lstrip("/")


def _found(name: str) -> list[str]:
    """What packages need of the system, beside Python itself."""
    said = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return re.findall(rf"{re.escape(name)} \(libc6,[^)]*64[^)]*\) => (\S+)", said)[:1]


def _libraries(program: str) -> list[str]:
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", said)


def _entry(name: str, kind: bytes, mode: int, link: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.linkname = kind, mode, link
    return entry


def _file(archive: tarfile.TarFile, path: str, name: str) -> None:
    data = Path(path).read_bytes()
    entry = _entry(name, tarfile.REGTYPE, 0o755 if os.access(path, os.X_OK) else 0o644)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def _text(archive: tarfile.TarFile, name: str, text: str) -> None:
    entry = _entry(name, tarfile.REGTYPE, 0o644)
    entry.size = len(text)
    archive.addfile(entry, io.BytesIO(text.encode()))
