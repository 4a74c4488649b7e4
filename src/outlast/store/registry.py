"""Every kind of store there is, by the scheme of its url."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.store.store import Store

_SCHEME = pattern(r"([A-Za-z][A-Za-z0-9+.-]*):")

HOME_NAME_BYTES_MAX = 255
HOME_PATH_BYTES_MAX = 3000
"""Of the 4,096 bytes that a path may have on Linux; the rest is for the longest keys."""


def open_store(url: str, *, made: bool = False) -> Store:
    """The store at `url`: a path (`/data/home`, `~/home`) or one of `SCHEMES`. A directory need not be there yet.

    `made`: somebody has written to it. Where nothing of that is left, its file system is not mounted: `StoreUnavailable`, and no
    write begins it anew. A handle that has seen what is in it knows that by itself. Only a directory can be away so; a bucket
    that is gone says that it is.
    """
    scheme = _SCHEME.match(url)
    if scheme is None:
        return _open_path(url, url, made)
    if scheme[1] not in SCHEMES:
        raise UsageError(
            f"a home `{url}` cannot be opened: `{scheme[1]}:` is not known",
            hint=f"a home is a directory (`/data/home`) or one of {_legal()}",
        )
    return SCHEMES[scheme[1]](url, made)


@dataclass(frozen=True)
class Prepared:
    """A home that can be written to."""

    url: str
    notes: tuple[str, ...] = ()
    """What its user should know, a sentence each."""


def prepare(url: str, *, project: str = "", region: str = "", dry: bool = False) -> Prepared:
    """Makes what must be there before the first write: a bucket. A directory makes itself. `dry`: only says what it would make."""
    if not url.startswith("gs:"):
        return Prepared(url)
    from outlast.store import gcs_home

    return Prepared(*gcs_home.prepare(url, project=project, region=region, dry=dry))


def _open_file(url: str, made: bool) -> Store:
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment or not parts.path.startswith("/"):
        raise UsageError(f"`{url}` does not name a directory of this machine", hint="write `file:///data/home`")
    return _open_path(unquote(parts.path), url, made)


def _open_path(path: str, url: str, made: bool) -> Store:
    from outlast.store.directory import DirectoryStore

    if not path or "\0" in path:
        raise UsageError(f"`{url!r}` does not name a directory", hint=f"a home is a directory or one of {_legal()}")
    root = os.path.abspath(os.path.expanduser(path))
    longest = max(len(os.fsencode(name)) for name in root.split("/"))
    if longest > HOME_NAME_BYTES_MAX or len(os.fsencode(root)) > HOME_PATH_BYTES_MAX:
        raise UsageError(f"`{path[:60]}...` is too long for a home", hint="choose a directory with a shorter name")
    return DirectoryStore(root, made=made)


def _open_memory(url: str, made: bool) -> Store:
    from outlast.store.memory import named

    return named(url.removeprefix("memory:"))


def _open_bucket(url: str, made: bool) -> Store:
    from outlast.store.gcs_home import open_bucket  # urllib3 costs a directory's user nothing

    return open_bucket(url)


def _legal() -> str:
    return ", ".join(f"`{EXAMPLES[scheme]}`" for scheme in SCHEMES)


SCHEMES: Mapping[str, Callable[[str, bool], Store]] = {
    "file": _open_file,
    "gs": _open_bucket,
    "memory": _open_memory,
}
"""The list. The contract suite runs over it: what stands here is tested."""

EXAMPLES: Mapping[str, str] = {
    "file": "file:///data/home",
    "gs": "gs://bucket",
    "memory": "memory:NAME",
}
