"""What gcloud has written down: its settings, and who is logged in."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from pathlib import Path
from typing import Any

from outlast.errors import Denied

BYTES_MAX = 1 << 20
ADC_FILE = "application_default_credentials.json"


class Gcloud:
    """gcloud's directory: `$CLOUDSDK_CONFIG`, else `~/.config/gcloud`."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        given = environ.get("CLOUDSDK_CONFIG")
        self.path = (
            Path(given) if given else Path(environ.get("HOME") or os.path.expanduser("~")) / ".config" / "gcloud"
        )
        self.named = bool(given)

    @property
    def project(self) -> str:
        return self._property("project")

    @property
    def account(self) -> str:
        return self._property("account")

    def application_default(self) -> dict[str, Any] | None:
        return read_json(self.path / ADC_FILE)

    def login(self) -> dict[str, Any] | None:
        """The active account's own credentials: out of gcloud's database, else out of the files of older versions."""
        account = self.account
        if not account:
            return None
        document = self._from_database(account) or read_json(self.path / "legacy_credentials" / account / "adc.json")
        return None if document is None else {**document, "account": account}

    def _from_database(self, account: str) -> dict[str, Any] | None:
        path = self.path / "credentials.db"
        if not path.is_file():
            return None
        import sqlite3

        try:
            # Only reading, and without its lock files: gcloud may be writing, and the directory need not be ours to write.
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2.0)
            try:
                row = connection.execute("SELECT value FROM credentials WHERE account_id = ?", (account,)).fetchone()
            finally:
                connection.close()
        except sqlite3.Error:
            return None
        return parsed(row[0]) if row is not None and isinstance(row[0], (str, bytes)) else None

    def _property(self, name: str) -> str:
        """A variable, else the active configuration."""
        given = self._environ.get(f"CLOUDSDK_CORE_{name.upper()}")
        if given:
            return given
        active = (
            self._environ.get("CLOUDSDK_ACTIVE_CONFIG_NAME") or _text(self.path / "active_config").strip() or "default"
        )
        if "/" in active:
            return ""
        settings = ConfigParser(interpolation=None, strict=False)
        try:
            settings.read_string(_text(self.path / "configurations" / f"config_{active}"))
        except ConfigError:
            return ""
        return settings.get("core", name, fallback="")


def read_json(path: Path) -> dict[str, Any] | None:
    """None: it is not there. What is there and cannot be used is said."""
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Denied(f"`{path}` cannot be read: {error.strerror}") from error
    document = parsed(data)
    if document is None:
        raise Denied(
            f"`{path}` holds no credentials: it is not JSON",
            hint="`gcloud auth application-default login` writes it anew",
        )
    return document


def parsed(data: str | bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(BYTES_MAX)
    except OSError:
        return ""
