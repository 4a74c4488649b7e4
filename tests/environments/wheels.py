"""Tiny packages, made here: wheels and source archives in a directory that serves as an index."""

from __future__ import annotations

import base64
import hashlib
import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

BACKEND = """
import base64, hashlib, os, zipfile
NAME, VERSION, REQUIRES = {name!r}, {version!r}, {requires!r}
INFO = f"{{NAME}}-{{VERSION}}.dist-info"
def metadata():
    lines = ["Metadata-Version: 2.1", f"Name: {{NAME}}", f"Version: {{VERSION}}"]
    return "\\n".join([*lines, *(f"Requires-Dist: {{one}}" for one in REQUIRES), ""])
def prepare_metadata_for_build_wheel(directory, config_settings=None):
    os.makedirs(os.path.join(directory, INFO))
    with open(os.path.join(directory, INFO, "METADATA"), "w") as file:
        file.write(metadata())
    return INFO
def build_wheel(directory, config_settings=None, metadata_directory=None):
    files = {{}}
    for at, _, names in os.walk("code"):
        for name in names:
            path = os.path.join(at, name)
            files[os.path.relpath(path, "code")] = open(path, "rb").read()
    files[f"{{INFO}}/METADATA"] = metadata().encode()
    files[f"{{INFO}}/WHEEL"] = b"Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    rows = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{{path}},sha256={{digest}},{{len(data)}}")
    files[f"{{INFO}}/RECORD"] = "\\n".join([*rows, f"{{INFO}}/RECORD,,", ""]).encode()
    wheel = f"{{NAME}}-{{VERSION}}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, wheel), "w") as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path), data)
    return wheel
"""
"""A build backend that needs nothing but Python."""

PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def metadata(name: str, version: str, requires: Sequence[str], requires_python: str = "") -> bytes:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Python: {requires_python}"] if requires_python else []
    return "\n".join([*lines, *(f"Requires-Dist: {one}" for one in requires), ""]).encode()


def record_line(path: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}"


def make_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    files: Mapping[str, str | bytes] | None = None,
    requires: Sequence[str] = (),
    requires_python: str = "",
    entry_points: str = "",
    record: Mapping[str, str] | None = None,
    modes: Mapping[str, int] | None = None,
    unrecorded: Mapping[str, bytes] | None = None,
    tag: str = "py3-none-any",
) -> Path:
    """`record` replaces lines of RECORD; `modes` are those of single members; `unrecorded` is in it and not in RECORD."""
    info = f"{name}-{version}.dist-info"
    contents = {path: data.encode() if isinstance(data, str) else data for path, data in (files or {}).items()}
    if files is None:
        contents[f"{name}.py"] = f"version = {version!r}\n".encode()
    contents[f"{info}/METADATA"] = metadata(name, version, requires, requires_python)
    contents[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: %s\n" % tag.encode()
    if entry_points:
        contents[f"{info}/entry_points.txt"] = entry_points.encode()
    lines = {path: record_line(path, data) for path, data in contents.items()} | dict(record or {})
    contents[f"{info}/RECORD"] = "\n".join([*filter(None, lines.values()), f"{info}/RECORD,,", ""]).encode()
    contents |= dict(unrecorded or {})
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in contents.items():
            member = zipfile.ZipInfo(path)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (modes or {}).get(path, stat.S_IFREG | 0o644) << 16
            archive.writestr(member, data)
    return wheel


def make_project(folder: Path, name: str, version: str = "1.0", requires: Sequence[str] = (), code: str = "") -> Path:
    """A directory that can be built, with nothing but Python."""
    (folder / "code").mkdir(parents=True)
    (folder / "code" / f"{name}.py").write_text(code or f"version = {version!r}\nbuilt = True\n")
    (folder / "backend.py").write_text(BACKEND.format(name=name, version=version, requires=list(requires)))
    (folder / "pyproject.toml").write_text(PROJECT)
    return folder


def make_sdist(folder: Path, scratch: Path, name: str, version: str = "1.0", requires: Sequence[str] = ()) -> Path:
    root = make_project(scratch / f"{name}-{version}", name, version, requires)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(root, f"{name}-{version}")
        data = metadata(name, version, requires)
        member = tarfile.TarInfo(f"{name}-{version}/PKG-INFO")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return path
