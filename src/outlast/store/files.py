"""Files of a directory store: written whole under a temporary name, then put in place at once, and durable."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from outlast.clock import Clock
from outlast.errors import StoreUnavailable
from outlast.store.directories import SYNC_ALL_MIN, Directories
from outlast.store.disk import NO_LINK, Disk, is_regular, is_same, no_links, status_of
from outlast.store.paths import DISPLACED, TEMPORARY

TEMPORARY_SECONDS_MAX = 24 * 3600.0
"""A temporary file that was not written to for so long was left by a crash. Whoever stopped for longer begins again."""

THREADS_MAX = 16
"""So many files are synced at a time."""

TRIES_MAX = 100
"""How often a file is put in place again because its directory was removed meanwhile."""

GONE = "gone"
"""Where a displaced object's name leads when it was deleted: nowhere."""


class Staged(NamedTuple):
    temporary: str
    path: str
    """Where it is to be."""

    file: int
    """Open, for whoever makes it durable."""

    bytes: int
    written_at_ns: int


class Files:
    def __init__(self, root: str, clock: Clock, disk: Disk, directories: Directories) -> None:
        self._root = root
        self._temporary = f"{root}/{TEMPORARY}"
        self._clock = clock
        self._disk = disk
        self._directories = directories
        self._tidied = False

    def link(self, data: bytes, path: str) -> bool:
        """Creates; False if there is another file of that name."""
        return self.link_many([(data, path)])[0]

    def link_many(self, many: Iterable[tuple[bytes, str]]) -> list[bool]:
        """Creates each; all are durable before the first one is seen."""
        staged: list[Staged] = []
        made: list[bool] = []
        unsynced: dict[str, None] = {}
        try:
            self._stage_many(many, staged)
            self._make_durable(staged)
            try:
                for one in staged:
                    made.append(self._link(one, unsynced))
                    if made[-1]:
                        unsynced[os.path.dirname(one.path)] = None
            finally:
                self._directories.sync_many(unsynced)
        finally:
            for one in staged:
                self.discard(one.temporary)
        return made

    def _stage_many(self, many: Iterable[tuple[bytes, str]], staged: list[Staged]) -> None:
        """Into `staged`, whatever happens."""
        try:
            for data, path in many:
                staged.append(self.stage((data,), None, path))
        except BaseException:
            for one in staged:
                self._disk.close(one.file)
            raise

    def _link(self, staged: Staged, unsynced: dict[str, None]) -> bool:
        for _ in range(TRIES_MAX):
            try:
                self._disk.link(staged.temporary, staged.path)
            except FileExistsError:
                # Ours after all: a network file system did it, lost the answer and asked again.
                return is_same(staged.temporary, staged.path)
            except (FileNotFoundError, NotADirectoryError):
                self._directories.make_parents(staged.path, unsynced)
            else:
                return True
        raise _undermined(staged.path)

    def replace(self, chunks: Iterable[bytes], path: str, stamp: int | None) -> tuple[int, int]:
        """Creates or replaces; answers its size and its time in nanoseconds. A directory of that name stays: see `DISPLACED`."""
        staged = self.stage(chunks, stamp, path)
        self.place([staged])
        return staged.bytes, staged.written_at_ns

    def stage(self, chunks: Iterable[bytes], stamp: int | None, path: str) -> Staged:
        """A complete file that nobody sees yet, and that a power cut may still take; for `place`."""
        self._tidy()
        temporary = self._temporary_path()
        try:
            file, size = self._fill(temporary, chunks)
            self._directories.made = True
            try:
                if stamp is not None:
                    self._disk.stamp(file, stamp)
                return Staged(temporary, path, file, size, os.fstat(file).st_mtime_ns)
            except BaseException:
                self._disk.close(file)
                raise
        except BaseException:
            self.discard(temporary)
            raise

    def place(self, staged: list[Staged]) -> None:
        """Makes them durable, puts them where they belong, one right after the other, then syncs each directory once.

        What is seen is so all but durable: whoever finds it after a crash may refer to it. Nothing stays staged, come what may.
        """
        directories: dict[str, None] = {}
        try:
            self._make_durable(staged)
            while staged:
                self._put_in_place(staged[0].temporary, staged[0].path)
                directories[os.path.dirname(staged.pop(0).path)] = None
        finally:
            for one in staged:
                self.discard(one.temporary)
            staged.clear()
            for directory in directories:
                self._directories.sync(directory)

    def _make_durable(self, staged: Sequence[Staged]) -> None:
        """At the same time: the file system's journal, which each would wait for, is then written once or twice for all of them."""
        failed: list[OSError] = []
        if len(staged) >= SYNC_ALL_MIN and self._synced_at_once(staged):
            return

        def sync(one: Staged) -> None:
            try:
                self._disk.sync(one.file)
            except OSError as error:
                failed.append(error)
            finally:
                self._disk.close(one.file)

        if len(staged) == 1:
            sync(staged[0])
        elif staged:
            import threading  # who reads, or writes one at a time, does without

            for first in range(0, len(staged), THREADS_MAX):
                threads = [threading.Thread(target=sync, args=(one,)) for one in staged[first : first + THREADS_MAX]]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        if failed:
            raise failed[0]

    def _synced_at_once(self, staged: Sequence[Staged]) -> bool:
        """False: each is still to be synced. Held open meanwhile: what became of a file is told to those who have it open."""
        synced = True
        try:
            synced = self._disk.sync_all(self._root)
        finally:
            for one in staged if synced else ():
                self._disk.close(one.file)
        return synced

    def _put_in_place(self, temporary: str, path: str) -> None:
        for _ in range(TRIES_MAX):
            try:
                self._rename(temporary, path)
            except (FileNotFoundError, NotADirectoryError):
                self._directories.make_parents(path)
                continue
            return
        raise _undermined(path)

    def replace_hastily(self, data: bytes, path: str) -> None:
        """As a favour, for what nobody reads any more: not synced."""
        temporary = self._temporary_path()
        try:
            self._disk.close(self._fill(temporary, (data,))[0])
            self._disk.rename(temporary, path)
        except OSError:
            self.discard(temporary)
            raise

    def remove(self, path: str) -> bool:
        """Deletes a plain object's file; False if there is none."""
        found = False
        # The displaced one goes first, else it would show up again; and once more, in case it was displaced meanwhile.
        for one in (path + DISPLACED, path, path + DISPLACED):
            if not is_regular(one):
                continue
            try:
                if one == path:
                    self._disk.unlink(one)
                else:
                    self._hold_place(one)
                found = True
            except FileNotFoundError:
                pass
        return found

    def purge(self, path: str) -> bool:
        """The same, leaving no trace."""
        found = self.remove(path)
        if status_of(path + DISPLACED) is not None:
            self.unlink(path + DISPLACED)
        return found

    def unlink(self, path: str) -> None:
        """Being gone already is no error."""
        try:
            self._disk.unlink(path)
        except FileNotFoundError:
            pass

    def _fill(self, temporary: str, chunks: Iterable[bytes]) -> tuple[int, int]:
        try:
            file = self._disk.create(temporary)
        except (FileNotFoundError, NotADirectoryError):
            self._prepare()
            file = self._disk.create(temporary)
        size = 0
        try:
            for chunk in _guarded(chunks):
                self._disk.write(file, chunk)
                size += len(chunk)
        except BaseException:
            self._disk.close(file)
            raise
        return file, size

    def _temporary_path(self) -> str:
        return f"{self._temporary}/{os.urandom(8).hex()}"

    def _rename(self, temporary: str, path: str) -> None:
        try:
            self._disk.rename(temporary, path)
        except IsADirectoryError:
            self._disk.rename(temporary, path + DISPLACED)

    def discard(self, temporary: str) -> None:
        try:
            self._disk.unlink(temporary)
        except OSError:
            pass  # the write is decided already; what is left here is removed when it is old

    def _hold_place(self, displaced: str) -> None:
        """Deletes a displaced object so that its name stays taken.

        Else somebody who is late to displace it would rename the directory, which has its name by now, together with all
        that is in it. What is no regular file is no object to anybody, and no directory can be renamed over it.
        """
        temporary = self._temporary_path()
        self._disk.symlink(GONE, temporary)
        try:
            self._disk.rename(temporary, displaced)
        except OSError:
            self.discard(temporary)
            raise

    def _prepare(self) -> None:
        """The first write to a home: makes it, and finds out whether it can be one."""
        probe = f"{self._temporary}/{os.urandom(8).hex()}"
        self._directories.make_parents(probe)
        self._disk.close(self._disk.create(probe))
        try:
            self._disk.link(probe, f"{probe}-2")
            self._disk.unlink(f"{probe}-2")
        except OSError as error:
            self.discard(probe)
            if error.errno not in NO_LINK:
                raise
            self._directories.prune([self._temporary])  # nothing stays but the question, for whoever comes next
            raise no_links(error, self._root) from error
        self.discard(probe)

    def _tidy(self) -> None:
        """Once in a store's life, before its first write: removes what crashes have left behind."""
        if self._tidied:
            return
        self._tidied = True
        try:
            with os.scandir(self._temporary) as entries:
                for entry in entries:
                    if self._clock.now() - entry.stat(follow_symlinks=False).st_mtime > TEMPORARY_SECONDS_MAX:
                        self._disk.unlink(entry.path)
        except OSError:
            pass  # somebody else tidies too, or nothing is there yet; nothing depends on it


class ChunksFailed(Exception):
    """What was to be written could not be read; `error` is the caller's own, and no trouble of the store."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.error = error


def _guarded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    try:
        yield from chunks
    except OSError as error:
        raise ChunksFailed(error) from error


def _undermined(path: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"cannot write `{path}`: its directory, or the temporary file, was removed meanwhile, {TRIES_MAX} times",
        hint="try again, and look who removes files from this home",
    )
