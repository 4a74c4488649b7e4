"""Datasets that are somewhere else: what a URL holds, and its bytes copied to this machine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from outlast.bundle.dataset.listing import is_legal
from outlast.bundle.dataset.unpack import Directories, seal
from outlast.bundle.unpack import write_pieces
from outlast.clock import Clock
from outlast.errors import KeyMissing, NotFound, OutlastError, UsageError
from outlast.pattern import pattern
from outlast.store.registry import SCHEMES
from outlast.store.store import Entry, Store

OBJECTS_MAX = 10_000_000
HTTP = frozenset({"http", "https"})

_SIGNED = pattern(r"(?i)(?:^|[&?])[^=&]*(?:signature|token|secret|password|api_?key|sig)=")

OpenStore = Callable[[str], Store]


class Remote(NamedTuple):
    """What was found at a URL."""

    url: str
    version: str
    """Changes when anything there does."""

    files: int
    bytes: int
    file: str
    """The name of the only file; empty: a directory."""


def check_url(url: str) -> str:
    """What stands in a URL is stored with the job for all to read: a secret is refused."""
    parts = urlsplit(url)
    if parts.scheme not in HTTP and parts.scheme not in SCHEMES:
        legal = ", ".join(f"`{scheme}:`" for scheme in sorted({*HTTP, *SCHEMES} - {"memory"}))
        raise UsageError(
            f"a dataset `{_clean(url)}` cannot be read: `{parts.scheme}:` is not known", hint=f"there are {legal}"
        )
    if parts.password or _SIGNED.search(parts.query):
        raise UsageError(
            f"`{_clean(url)}` holds a secret, and a dataset's URL is stored with the job for all to read",
            hint="download it, and give the directory to `--dataset`",
        )
    return url


def look(url: str, open_store: OpenStore) -> Remote:
    """What is there now. `NotFound` if nothing is."""
    if urlsplit(url).scheme in HTTP:
        from outlast.bundle.dataset import http  # costs more than all else here

        found = http.look(url)
        return Remote(url, found.version, 1, found.bytes, _file_name(url))
    version = hashlib.sha256()
    files = total_bytes = 0
    _, file, entries = _entries(url, open_store)
    last = ""
    for entry in entries:
        if not is_legal(entry.key.encode()):
            raise UsageError(f"`{entry.key[:120]}` in `{url}` cannot be a file's name", hint="rename it there")
        if last and entry.key.startswith(last + "/"):
            raise UsageError(f"`{last[:120]}` in `{url}` would be both a file and a directory", hint="rename it there")
        last = entry.key
        version.update(f"{entry.generation} {entry.bytes} {entry.key}\0".encode())
        files += 1
        total_bytes += entry.bytes
        if files > OBJECTS_MAX:
            raise UsageError(f"there are more than {OBJECTS_MAX:,} objects in `{url}`", hint="name a part of it")
    if not files:
        raise NotFound(f"there is nothing at `{url}`", hint="look at its spelling, and whether you may list it")
    return Remote(url, version.hexdigest(), files, total_bytes, file)


def copy(remote: Remote, to: Path, open_store: OpenStore, clock: Clock) -> None:
    """`to` is not there yet. Read-only and durable when this returns; after an error, throw it away."""
    os.mkdir(to, 0o700)
    root = os.fsencode(to)
    if urlsplit(remote.url).scheme in HTTP:
        from outlast.bundle.dataset import http

        with open(to / remote.file, "xb", opener=_private) as file:
            http.download(remote.url, remote.version, file, clock)
        os.chmod(to / remote.file, 0o400)
    else:
        directories = Directories(root)
        store, _, entries = _entries(remote.url, open_store)
        for entry in entries:
            path = entry.key.encode()
            directories.make(os.path.dirname(path))
            _copy_object(store, entry, os.path.join(root, path))
    if look(remote.url, open_store).version != remote.version:
        raise moved(remote.url)
    seal(root, remote.files)


def moved(url: str) -> OutlastError:
    return OutlastError(
        f"`{url}` is not what it was when the job was submitted",
        hint="submit a new job to train with what is there now",
    )


def _entries(url: str, open_store: OpenStore) -> tuple[Store, str, Iterator[Entry]]:
    """The store that holds what is there, the name of the only object if it is one, and the objects."""
    parent, _, name = url.rstrip("/").rpartition("/")
    if name and not parent.endswith("/"):
        around = open_store(parent)
        found = next((one for one in around.list(name, limit=1) if one.key == name), None)
        if found is not None:
            return around, name, iter((found,))
    store = open_store(url)
    # An object whose name ends in a slash is what a browser shows as a folder.
    return store, "", (entry for entry in store.list("") if not entry.key.endswith("/"))


def _copy_object(store: Store, entry: Entry, path: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        write_pieces(handle, store.download(entry.key))
        os.fchmod(handle, 0o400)
    except KeyMissing:
        raise moved(store.url) from None
    finally:
        os.close(handle)


def _file_name(url: str) -> str:
    name = unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2])
    return name if is_legal(name.encode()) and "/" not in name and name.isprintable() else "download"


def _clean(url: str) -> str:
    """Without what may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
