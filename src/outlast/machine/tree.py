"""The files under a directory that are kept: regular ones, and links to such inside it."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection

from outlast.folder.sound import legal_path
from outlast.machine.disk_file import Seen

DEPTH_MAX = 64
LONG_PATH_LENGTH = 200
"""From here on it is worth asking whether a path can be put in place again."""

LIBRARYS_OWN = (".saving-", ".removing-")
"""Directories of the training library's that are not, or no longer, a checkpoint."""


def scan(
    root: str, *, within: str = "", without: Collection[str] = (), unreadable: set[str] | None = None
) -> dict[str, Seen]:
    """Path relative to `root`, with `/` between its parts -> what the file system says.

    `within`: a root that leads out of this directory holds nothing that is ours. `unreadable`: gets the paths of the files
    that are left out because they may not be read.
    """
    refused: set[str] = set() if unreadable is None else unreadable
    found: dict[str, Seen] = {}
    if within and not lies_in(root, within):
        return found
    _scan(root, "", root, found, without, refused, 0)
    return found


def _scan(
    directory: str,
    prefix: str,
    root: str,
    found: dict[str, Seen],
    without: Collection[str],
    refused: set[str],
    depth: int,
) -> None:
    if depth > DEPTH_MAX or directory in without:
        return
    try:
        entries = list(os.scandir(directory))
    except PermissionError:
        refused.add(directory)
        return
    except OSError:
        return  # gone, or whatever has been put in its place
    for entry in entries:
        if entry.name.startswith(LIBRARYS_OWN) or not _fits(prefix + entry.name):
            continue
        try:
            if entry.is_symlink() and not _is_followed(entry.path, directory, root):
                continue
            if entry.is_dir():
                _scan(entry.path, f"{prefix}{entry.name}/", root, found, without, refused, depth + 1)
            elif not entry.is_file():
                continue
            elif not os.access(entry.path, os.R_OK):
                refused.add(entry.path)
            else:
                found[prefix + entry.name] = Seen.of(entry.stat())
        except OSError:
            continue  # gone in between, or a link that leads nowhere


def lies_in(path: str, within: str) -> bool:
    """Wherever links lead."""
    if _is_plainly_below(path, within):
        return True
    return (os.path.realpath(path) + os.sep).startswith(os.path.realpath(within) + os.sep)


def _is_plainly_below(path: str, root: str) -> bool:
    """By its name, with no link on the way down: whatever leads to the root leads to both."""
    if not path.startswith(root + os.sep):
        return False
    at = root
    for part in path[len(root) + 1 :].split(os.sep):
        at = f"{at}{os.sep}{part}"
        try:
            if part == ".." or stat.S_ISLNK(os.lstat(at).st_mode):
                return False
        except OSError:
            return False
    return True


def _is_followed(link: str, directory: str, root: str) -> bool:
    """`last.ckpt` is often a link to the newest one. What lies outside is not ours to keep, and a link upwards has no end."""
    target = os.path.realpath(link) + os.sep
    inside = target.startswith(os.path.realpath(root) + os.sep)
    return inside and not (os.path.realpath(directory) + os.sep).startswith(target)


def _fits(path: str) -> bool:
    """What is too long could be kept and not be restored."""
    return len(path) < LONG_PATH_LENGTH or legal_path(f"checkpoint/{path}")
