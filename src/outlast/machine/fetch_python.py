"""A Python that a rented machine's image does not have, fetched by uv: which is on the machine, or comes from a package index."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from outlast.clock import Clock
from outlast.errors import NotFound
from outlast.pattern import pattern

INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
ACCEPT = "application/vnd.pypi.simple.v1+json"
UV_BYTES_MAX = 200 << 20
TRIES = 3
TRY_AGAIN_SECONDS = 5.0
ANSWER_SECONDS_MAX = 60.0
INSTALL_SECONDS_MAX = 900.0

_UV_WHEEL = pattern(r"uv-(?P<version>\d+(?:\.\d+)*)-py3-none-manylinux_2_17_(?P<machine>\w+?)\.manylinux2014_\w+\.whl")


def fetch_python(version: str, cache: Path, environ: Mapping[str, str], clock: Clock) -> str:
    """Where it is now. NotFound, with the reason of the last try and with what else can be done, if it cannot be had."""
    why = ""
    for number in range(TRIES):
        if number:
            clock.sleep(TRY_AGAIN_SECONDS)
        try:
            return _installed(version, cache, environ)
        except (
            OSError,
            ValueError,
            LookupError,
            StopIteration,
            TypeError,
            zipfile.BadZipFile,
            subprocess.SubprocessError,
        ) as error:
            why = _words(error)
    raise NotFound(
        f"there is no `python{version}` on this machine, for which the job's packages were resolved, and none could be fetched ({why}); "
        f"`outlast image build FAMILY --python {version}` makes an image that has it"
    )


def _installed(version: str, cache: Path, environ: Mapping[str, str]) -> str:
    uv = shutil.which("uv", path=environ.get("PATH", os.defpath)) or str(_uv(cache, environ))
    ours = {
        "UV_PYTHON_INSTALL_DIR": str(cache / "pythons"),
        "UV_PYTHON_INSTALL_BIN": "0",
        "UV_PYTHON_PREFERENCE": "only-managed",
        "UV_CACHE_DIR": str(cache / "uv"),
        "UV_NO_CONFIG": "1",
        "UV_NO_PROGRESS": "1",
    }
    _run([uv, "python", "install", version], {**environ, **ours})
    found = _run([uv, "python", "find", "--no-project", version], {**environ, **ours})
    if not os.access(found, os.X_OK):
        raise FileNotFoundError(f"uv names `{found}`, which is not there")
    return os.path.realpath(found)


def _run(words: list[str], environ: Mapping[str, str]) -> str:
    done = subprocess.run(
        words,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
        timeout=INSTALL_SECONDS_MAX,
    )
    return done.stdout.strip()


def _uv(cache: Path, environ: Mapping[str, str]) -> Path:
    """From the index's newest wheel for this kind of machine: a program that needs nothing but itself."""
    at = cache / "tools" / "uv"
    if os.access(at, os.X_OK):
        return at
    index = next((environ[name] for name in INDEX_VARIABLES if environ.get(name)), "")
    content = _from_index(index.rstrip("/") + "/uv/") if index else _by_pip(environ)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        program = archive.read(next(name for name in archive.namelist() if name.endswith(".data/scripts/uv")))
    at.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, beside = tempfile.mkstemp(dir=at.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(program)
    os.chmod(beside, 0o700)
    os.replace(beside, at)
    return at


def _from_index(page: str) -> bytes:
    wheel = _newest(json.loads(_read(page, ACCEPT)))
    content = _read(urljoin(page, wheel["url"]))
    if hashlib.sha256(content).hexdigest() != wheel["hashes"]["sha256"]:
        raise ValueError(f"`{wheel['filename']}` is not what `{urlsplit(page).hostname}` says it is")
    return content


def _by_pip(environ: Mapping[str, str]) -> bytes:
    """Which index there is where nobody has named one, pip knows."""
    with tempfile.TemporaryDirectory() as scratch:
        words = [
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "download",
            "--no-deps",
            "--only-binary",
            ":all:",
        ]
        _run(
            [*words, "--dest", scratch, "uv"], {name: value for name, value in environ.items() if name != "PYTHONPATH"}
        )
        return next(Path(scratch).glob("uv-*.whl")).read_bytes()


def _newest(listing: dict[str, Any]) -> dict[str, Any]:
    found: dict[tuple[int, ...], dict[str, Any]] = {}
    for one in listing["files"]:
        form = _UV_WHEEL.fullmatch(one["filename"])
        if form and form["machine"] == os.uname().machine and not one.get("yanked"):
            found[tuple(map(int, form["version"].split(".")))] = one
    if not found:
        raise ValueError(f"the package index has no uv for `{os.uname().machine}`")
    return found[max(found)]


def _read(url: str, accept: str = "*/*") -> bytes:
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("the package index is neither at http nor at https")
    request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310 - just checked
    with urllib.request.urlopen(request, timeout=ANSWER_SECONDS_MAX) as answer:  # noqa: S310
        content: bytes = answer.read(UV_BYTES_MAX)
    return content


def _words(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        said = str(error.stderr or error.stdout).strip().splitlines()
        return f"uv: {said[-1][:300]}" if said else f"uv ended with {error.returncode}"
    if isinstance(error, urllib.error.URLError):
        return str(getattr(error, "reason", error))[:300] or type(error).__name__
    return str(error)[:300] or type(error).__name__
