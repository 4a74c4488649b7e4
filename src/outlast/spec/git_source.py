"""`--git URL@REF:SUBDIRECTORY`: what was typed, taken apart and checked before git is asked anything."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.names import shown

TEXT_LENGTH_MAX = 2000
PROTOCOLS = ("file", "git", "http", "https", "ssh")
"""Those that run nothing but git's own programs and ssh."""

USER_LENGTH_MAX = 20
"""Longer than this, the user in a web address is a token."""

_REF = pattern(r"(?!.*\.\.)(?!.*//)(?!.*@\{)\w[\w./+#-]*(?<![./])")
_REST = pattern(r"(?P<path>.*?)(?:@(?P<ref>[^@:]*)(?::(?P<below>[^@]*))?)?", re.DOTALL)
_SCP = pattern(r"[^/:]+:(?!//)")
_BELOW = pattern(r"(?!\.{1,2}(?:/|$))[^/\0\\]+(?:/(?!\.{1,2}(?:/|$))[^/\0\\]+)*")


class GitSource(NamedTuple):
    url: str
    ref: str
    """A tag, a branch or a hash; empty: what the repository has checked out by default."""

    below: str
    """The directory of the repository that is shipped; empty: all of it."""

    @property
    def shown(self) -> str:
        return f"{self.url}{f'@{self.ref}' if self.ref else ''}{f':{self.below}' if self.below else ''}"


def parse_git(text: str, directory: Path) -> GitSource:
    """Whatever begins with a dash, names another program, or holds a password is refused."""
    if not text or len(text) > TEXT_LENGTH_MAX or not text.isprintable() or text.startswith("-"):
        raise UsageError(f"{shown(text)} names no repository", hint="`--git https://example.org/code.git@v1.2`")
    if "://" in text:
        return _checked(*_split_url(text))
    if "::" in text:
        raise UsageError(
            f"{shown(text)}: git's remote helpers are not called", hint=f"there are {', '.join(PROTOCOLS)}"
        )
    if (directory / os.path.expanduser(text)).is_dir():
        return _checked(_local(text, directory), "", "")
    found = _SCP.match(text)
    if found is not None and not (directory / found[0]).exists() and not found[0].startswith((".", "~")):
        path, ref, below = _rest(text[found.end() :])
        return _checked(f"{found[0]}{path}", ref, below)
    path, ref, below = _rest(text)
    return _checked(_local(path, directory), ref, below)


def _split_url(text: str) -> tuple[str, str, str]:
    scheme, _, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    if scheme not in PROTOCOLS:
        raise UsageError(
            f"{shown(text)}: `{scheme[:20]}:` is no protocol for code", hint=f"there are {', '.join(PROTOCOLS)}"
        )
    user, at, host = authority.rpartition("@")
    if host.startswith("-"):
        raise UsageError(f"{shown(text)} names no host")
    if at and (":" in user or (scheme in ("http", "https") and len(user) > USER_LENGTH_MAX)):
        raise UsageError(
            f"`{scheme}://...@{host}` holds a secret, and what is asked for is stored with the job for all to read",
            hint="let git find it: a credential helper, or ssh",
        )
    path, ref, below = _rest(path)
    return f"{scheme}://{authority}{slash}{path}", ref, below


def _rest(text: str) -> tuple[str, str, str]:
    found = _REST.fullmatch(text)
    assert found is not None  # it fits everything
    return found["path"], found["ref"] or "", found["below"] or ""


def _local(text: str, directory: Path) -> str:
    return os.path.abspath(directory / os.path.expanduser(text))


def _checked(url: str, ref: str, below: str) -> GitSource:
    if ref and (not _REF.fullmatch(ref) or ref.endswith(".lock")):
        raise UsageError(f"{shown(ref)} is no tag, branch or hash", hint="`--git URL@main`, `--git URL@v1.2`")
    below = below.strip("/")
    if below and not _BELOW.fullmatch(below):
        raise UsageError(
            f"{shown(below)} is no directory inside of a repository", hint="`--git URL@main:packages/train`"
        )
    return GitSource(url, ref, below)
