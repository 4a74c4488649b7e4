"""Values of secrets on this computer's disk: outside of every home, and readable by their owner alone.

    <user_dir>/secrets/kept/<NAME>               what `outlast secret set NAME` was given
    <user_dir>/secrets/launches/<launch id>.json what one launch's machines are given; gone with the launch

By launch and not by job: its id is random, so a job that was deleted and submitted again never meets its past.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from outlast.dataclass import dataclass
from outlast.errors import Damaged, UsageError
from outlast.host import files
from outlast.spec.names import one_spelling
from outlast.spec.record import decode, encode

PRIVATE = 0o700


@dataclass(frozen=True)
class LaunchSecrets:
    """What was read at submit: every attempt of the launch has the same values."""

    home: str
    job: str
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    notify: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Reference -> whom to notify, where that is a secret too."""


# What the user keeps.


def put_kept(user_dir: Path, name: str, value: str) -> None:
    """`UsageError` for the name of another one, as this file system sees it: that one's value would be lost."""
    names = names_kept(user_dir)
    if name not in names and read_kept(user_dir, name) is not None:
        other = next((one for one in names if one_spelling(one) == one_spelling(name)), name)
        raise UsageError(
            f"`{other}` is kept, and this file system takes `{name}` for the same name",
            state=f"`{other}` is as it was",
            hint=f"choose another name, or `outlast secret delete {other}` first",
        )
    files.put(_private(user_dir, "kept") / name, value.encode(), durable=True)


def read_kept(user_dir: Path, name: str) -> bytes | None:
    return files.read(user_dir / "secrets" / "kept" / name)


def delete_kept(user_dir: Path, name: str) -> bool:
    """False: there was none."""
    try:
        os.unlink(user_dir / "secrets" / "kept" / name)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def names_kept(user_dir: Path) -> list[str]:
    """Names only. What begins with a dot is being written."""
    return sorted(name for name in _names(user_dir / "secrets" / "kept") if not name.startswith("."))


# What a launch is given.


def put_launch(user_dir: Path, launch_id: str, secrets: LaunchSecrets) -> None:
    """Create-only: a launch keeps what it began with."""
    path = _private(user_dir, "launches") / f"{launch_id}.json"
    if path.exists():
        return
    files.put(path, encode(secrets), durable=True)


def replace_launch(user_dir: Path, launch_id: str, secrets: LaunchSecrets) -> None:
    """For its machines, which add what only they can ask for; two of them that do so at once write the same."""
    files.put(_private(user_dir, "launches") / f"{launch_id}.json", encode(secrets), durable=True)


def read_launch(user_dir: Path, launch_id: str) -> LaunchSecrets | None:
    """None: it is not here, or no longer, or a power cut tore it."""
    path = user_dir / "secrets" / "launches" / f"{launch_id}.json"
    data = files.read(path)
    if not data:
        return None
    try:
        return decode(LaunchSecrets, data, str(path))
    except Damaged:
        return None


def launch_path(user_dir: Path, launch_id: str) -> Path:
    return user_dir / "secrets" / "launches" / f"{launch_id}.json"


def forget_launch(user_dir: Path, launch_id: str) -> None:
    """What is gone is no error."""
    try:
        os.unlink(f"{user_dir}/secrets/launches/{launch_id}.json")
    except (FileNotFoundError, NotADirectoryError):
        return


def launches(user_dir: Path) -> Iterator[tuple[str, LaunchSecrets]]:
    """What is kept for which launch, for whoever removes what nothing needs any more."""
    for name in sorted(_names(user_dir / "secrets" / "launches")):
        launch_id = name.removesuffix(".json")
        found = read_launch(user_dir, launch_id) if name.endswith(".json") and not name.startswith(".") else None
        if found is not None:
            yield launch_id, found


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _private(user_dir: Path, name: str) -> Path:
    """Made private level by level, and made private again if somebody has opened it."""
    path = user_dir
    for part in ("secrets", name):
        path = path / part
        try:
            os.mkdir(path, PRIVATE)
        except FileExistsError:
            if os.stat(path).st_mode & 0o077:
                os.chmod(path, PRIVATE)
    return path
