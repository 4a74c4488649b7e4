"""Somebody whose project is ready, what is rented for him, and a package that his machines can install."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path
from typing import Any

from outlast_emulator.testing import Running
from tests.cli.user import User

SECONDS_MAX = 240.0
SHOWN = "/srv/wheels"


ANN = "ann@example.com"


def ready(emulator: Running, root: Path, *more: str) -> User:
    """With the role that `outlast init` gives to a member, and no right beyond it; `more`: other words for init."""
    one = User(root, dict(emulator.variables))
    one.work.mkdir(parents=True)
    done = one.outlast("init", "--yes", "--no-check", "--member", ANN, *more)
    assert done.code == 0, done.err
    key = root / "ann.json"
    key.write_bytes(emulator.call("POST", "/_emulator/iam/users", {"email": ANN}).body)
    one.env["GOOGLE_APPLICATION_CREDENTIALS"] = str(key)
    return one


def show_wheel(emulator: Running, directory: Path) -> None:
    """Machines reach no package index: `greetings` is in a directory that they see."""
    directory.mkdir(parents=True)
    files = {
        "greetings.py": "WORD = 'good morning'\n",
        "greetings-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greetings\nVersion: 1.0\n",
        "greetings-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = []
    with zipfile.ZipFile(directory / "greetings-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(text)}")
        record = "greetings-1.0.dist-info/RECORD"
        wheel.writestr(record, "\n".join([*lines, f"{record},,", ""]))
    shown = {"shown": {SHOWN: str(directory)}, "environment": {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": SHOWN}}
    assert emulator.call("POST", "/_emulator/world", shown).status == 200


def listed(emulator: Running, kind: str) -> list[dict[str, Any]]:
    """Of the whole project: `instances`, `disks`."""
    answer = emulator.call("GET", f"/compute/v1/projects/emulated/aggregated/{kind}").json()
    return [one for scope in answer["items"].values() for one in scope.get(kind, [])]


def images(emulator: Running) -> list[str]:
    answer = emulator.call("GET", "/compute/v1/projects/emulated/global/images").json()
    return sorted(one["name"] for one in answer.get("items", []))


def rented(emulator: Running) -> list[str]:
    """Machines and disks that are paid for now."""
    alive = emulator.call("GET", "/_emulator/ledger").json()["alive"]
    return [one["kind"] for one in alive if one["kind"].startswith("compute.") and one["kind"] != "compute.image"]
