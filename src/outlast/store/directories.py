"""Directories of a directory store: made when a file needs them, removed when they are empty."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable

from outlast.errors import Damaged, StoreUnavailable
from outlast.store.disk import Disk, is_regular, not_a_directory
from outlast.store.paths import DISPLACED
from outlast.store.presence import away, is_there

PARENTS_TRIES_MAX = 4096
"""Steps up and down to make a directory: far more than a path has segments."""

SYNC_ALL_MIN = 17
"""From so many on, their whole file system is synced rather than each: whatever else was written there costs time, too."""


class Directories:
    def __init__(self, root: str, disk: Disk, *, made: bool = False) -> None:
        self._root = root
        self._disk = disk
        self.made = made
        """Known to have been there: somebody says so, or it was seen."""

    def check_there(self) -> None:
        """`StoreUnavailable` if this is known to have been made, and is not there."""
        if self.made and not is_there(self._root):
            raise away(self._root)

    def make_parents(self, path: str, unsynced: dict[str, None] | None = None) -> None:
        """Makes the directories above `path` that are not there. A plain object that has the name of one makes room.

        `unsynced`: those to which names were added come in here, for a caller that has more to sync.
        """
        self.check_there()  # or a home would be begun in an empty mount point
        wanted = [os.path.dirname(path)]
        for _ in range(PARENTS_TRIES_MAX):
            if not wanted:
                return
            directory = wanted[-1]
            try:
                self._disk.make_directory(directory)
            except FileExistsError:
                if is_regular(directory):
                    self._displace(directory)
                else:
                    wanted.pop()
            except (FileNotFoundError, NotADirectoryError):
                wanted.append(os.path.dirname(directory))
            else:
                wanted.pop()
                if unsynced is None:
                    self._sync_if_there(os.path.dirname(directory))
                else:
                    unsynced[os.path.dirname(directory)] = None
        raise NotADirectoryError(errno.ENOTDIR, "something that is no directory is in the way", wanted[-1])

    def check_way(self, path: str) -> bool:
        """`Damaged` if a directory between the root and `path` is a link: it would lead out of the home. False: one is not there, and so is
        nothing of that name."""
        at = len(self._root)
        while (at := path.find("/", at + 1)) > 0:
            try:
                status = os.lstat(path[:at])
            except (FileNotFoundError, NotADirectoryError):
                return False
            if stat.S_ISLNK(status.st_mode):
                raise Damaged(
                    f"`{path[:at]}` is a link: the directories of a home are its own",
                    hint="something else than outlast has changed this home; a home may be a link, what is in it may not",
                )
        return True

    def prune(self, directories: Iterable[str]) -> None:
        """Removes those that are empty, and what becomes empty above. A writer that needs one makes it again."""
        for directory in directories:
            while directory.startswith(f"{self._root}/"):
                try:
                    self._disk.remove_directory(directory)
                except (FileNotFoundError, NotADirectoryError):
                    pass
                except OSError:
                    break  # not empty, or not ours to remove: an empty directory does no harm
                directory = os.path.dirname(directory)

    def sync(self, directory: str) -> None:
        """Being gone already is no error."""
        try:
            self._sync_if_there(directory)
        except OSError as error:
            raise _unsure(directory, error) from error

    def sync_many(self, directories: Collection[str]) -> None:
        try:
            if len(directories) >= SYNC_ALL_MIN and self._disk.sync_all(self._root):
                return
        except OSError as error:
            raise _unsure(self._root, error) from error
        for directory in directories:
            self.sync(directory)

    def _sync_if_there(self, directory: str) -> None:
        try:
            self._disk.sync_directory(directory)
        except FileNotFoundError:
            pass

    def _displace(self, path: str) -> None:
        """A plain object makes room for a directory. At every moment it is in one of the two places, the newest in the first."""
        if not path.startswith(f"{self._root}/"):
            raise not_a_directory(self._root)
        try:
            self._disk.rename(path, path + DISPLACED)
        except (FileNotFoundError, NotADirectoryError):
            pass  # somebody else did, and the directory is there


def _unsure(directory: str, error: OSError) -> StoreUnavailable:
    """It is done and seen by others, so whatever went wrong, "nothing was written" would be a lie."""
    return StoreUnavailable(
        f"what was written to `{directory}` may not survive a power cut: {error.strerror}",
        hint="look at the disk or the network file system (`dmesg`, `mount`)",
    )
