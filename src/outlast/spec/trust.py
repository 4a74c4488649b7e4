"""Which project files this user has said yes to, by path and content: a changed file is asked about again."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from outlast.spec.plain_file import read_plain, write_private

FILES_MAX = 1000
LIST_BYTES_MAX = 16 << 20


def is_trusted(path: Path, content: bytes, user_dir: Path) -> bool:
    return _read(user_dir).get(str(path.absolute())) == _digest(content)


def trust(path: Path, user_dir: Path) -> None:
    """From now on the file, as it is now, may say where data goes."""
    trusted = _read(user_dir)
    trusted.pop(str(path.absolute()), None)
    trusted[str(path.absolute())] = _digest(path.read_bytes())
    newest = dict(list(trusted.items())[-FILES_MAX:])
    user_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = user_dir / f".trusted-{os.getpid()}"
    write_private(temporary, json.dumps(newest, indent=1))
    temporary.replace(user_dir / "trusted.json")


def _read(user_dir: Path) -> dict[str, str]:
    """What cannot be read trusts nothing."""
    try:
        trusted = json.loads(read_plain(user_dir / "trusted.json", LIST_BYTES_MAX))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(trusted, dict):
        return {}
    return {path: digest for path, digest in trusted.items() if isinstance(digest, str)}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
