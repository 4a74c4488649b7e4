"""All that IAM remembers, in one file that is replaced at every change: accounts, keys, pools, bindings, what was revoked."""

from __future__ import annotations

import copy
import json
import os
import secrets
import threading
from pathlib import Path
from typing import Any

PROJECT = "emulated"
PROJECT_NUMBER = 424242424242
OWNER = "owner@emulated.invalid"
DEFAULT_ACCOUNT = f"{PROJECT_NUMBER}-compute@developer.gserviceaccount.com"


class State:
    """`document` may be read by anybody; whoever changes it does so in `with state.change() as document`."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = directory / "iam.json"
        self._lock = threading.RLock()
        self.version = 0
        """Counts the changes, for whoever keeps conclusions."""
        try:
            self.document: dict[str, Any] = json.loads(self._path.read_text())
        except FileNotFoundError:
            self.document = first_document()
            self._write()

    def change(self) -> _Change:
        return _Change(self)

    def _write(self) -> None:
        beside = self._path.with_suffix(".new")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as file:
            json.dump(self.document, file, indent=1)
        beside.replace(self._path)


class _Change:
    """All of it or, if the block raises, nothing."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._changed: dict[str, Any] = {}

    def __enter__(self) -> dict[str, Any]:
        self._state._lock.acquire()
        self._changed = copy.deepcopy(self._state.document)
        return self._changed

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._state.document = self._changed
                self._state.version += 1
                self._state._write()
        finally:
            self._state._lock.release()


def first_document() -> dict[str, Any]:
    """An owner, the default service account with the editor's role, and nobody else."""
    return {
        "secret": secrets.token_hex(32),
        "users": {OWNER: {"refresh_token": f"1//{secrets.token_urlsafe(24)}", "revoked": ""}},
        "service_accounts": {DEFAULT_ACCOUNT: {"disabled": False}},
        "keys": {},
        "pools": {},
        "machine": {"account": DEFAULT_ACCOUNT, "scopes": ["https://www.googleapis.com/auth/cloud-platform"]},
        "revoked_at": {},
        "policies": {
            f"projects/{PROJECT}": [
                {"role": "roles/owner", "members": [f"user:{OWNER}"]},
                {"role": "roles/editor", "members": [f"serviceAccount:{DEFAULT_ACCOUNT}"]},
            ]
        },
    }
