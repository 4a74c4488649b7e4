"""All that IAM remembers, in one file that is replaced at every change: accounts, keys, pools, bindings, what was revoked."""

from __future__ import annotations

import copy
import json
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROJECT = "emulated"
PROJECT_NUMBER = 424242424242
OWNER = "owner@emulated.invalid"
DEFAULT_ACCOUNT = f"{PROJECT_NUMBER}-compute@developer.gserviceaccount.com"
SETTING_UP = (
    "roles/iam.roleAdmin",
    "roles/iam.serviceAccountAdmin",
    "roles/resourcemanager.projectIamAdmin",
    "roles/secretmanager.admin",
)
"""More than Google gives it: a newcomer's programs are this account, by the metadata server, and may set the project up."""

PAST_MAX = 100


class State:
    """`document` may be read by anybody; whoever changes it does so in `with state.change() as document`."""

    def __init__(
        self, directory: Path, name: str = "iam.json", first: Callable[[], dict[str, Any]] | None = None
    ) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = directory / name
        self._lock = threading.RLock()
        self.version = 0
        """Counts the changes, for whoever keeps conclusions."""
        begun = (first or first_document)()
        try:
            # What an older emulator has not known begins as it begins today.
            self.document: dict[str, Any] = {**begun, **json.loads(self._path.read_text())}
        except FileNotFoundError:
            self.document = begun
            self._write()
        self.past: deque[tuple[float, dict[str, Any]]] = deque(maxlen=PAST_MAX)
        """Until when which document was true, oldest first: for changes that take their time to be known."""
        self.now: Callable[[], float] = _no_time

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
                self._state.past.append((self._state.now(), self._state.document))
                self._state.document = self._changed
                self._state.version += 1
                self._state._write()
        finally:
            self._state._lock.release()


def _no_time() -> float:
    return 0.0


def first_document() -> dict[str, Any]:
    """An owner, the default service account with the editor's role and some more, and nobody else."""
    return {
        "secret": secrets.token_hex(32),
        "users": {OWNER: {"refresh_token": f"1//{secrets.token_urlsafe(24)}", "revoked": ""}},
        "service_accounts": {DEFAULT_ACCOUNT: {"disabled": False}},
        "roles": {},
        "keys": {},
        "pools": {},
        "machine": {"account": DEFAULT_ACCOUNT, "scopes": ["https://www.googleapis.com/auth/cloud-platform"]},
        "revoked_at": {},
        "policies": {
            f"projects/{PROJECT}": [
                {"role": "roles/owner", "members": [f"user:{OWNER}"]},
                {"role": "roles/editor", "members": [f"serviceAccount:{DEFAULT_ACCOUNT}"]},
                *({"role": role, "members": [f"serviceAccount:{DEFAULT_ACCOUNT}"]} for role in SETTING_UP),
            ]
        },
    }
