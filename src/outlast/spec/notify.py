"""`--notify COMMAND|URL`: whom to tell of a job's end and of a stall; checked before anything is started."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from urllib.parse import urlsplit

from outlast.errors import NotFound, UsageError
from outlast.pattern import pattern
from outlast.spec.names import shown
from outlast.spec.secrets import KINDS, parse_reference

TEXT_BYTES_MAX = 4096
SCHEMES = ("https", "http")
FORMS = "`--notify https://...`, `--notify 'mail -s done me'`, or `--notify env:VARIABLE` for a URL that nobody else may know"

_SCHEME = pattern(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(text: str) -> bool:
    return _SCHEME.match(text) is not None


def is_reference(text: str) -> bool:
    return text.partition(":")[0] in KINDS and not is_url(text)


def check_notify(text: str, directory: Path, path: str) -> str:
    """As the spec holds it. `path`: where commands are looked for, as the shell that submits has it."""
    if not text.strip() or "\0" in text or len(text.encode(errors="replace")) > TEXT_BYTES_MAX:
        raise UsageError(f"`--notify` {shown(text)} is neither a command nor a URL", hint=FORMS)
    if is_reference(text):
        return str(parse_reference(text, directory))
    if is_url(text):
        check_url(text)
        return text
    return _command(text, directory, path)


def check_url(url: str) -> None:
    """Its text may be as good as a password, and is not repeated."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError("the URL of `--notify` is not well formed", hint=FORMS) from None
    if parts.scheme.lower() not in SCHEMES or not parts.hostname or port == 0 or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise UsageError("the URL of `--notify` begins with none of `https://HOST` and `http://HOST`", hint=FORMS)
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the URL of `--notify` holds a user or password, and would be stored in the job's folder for all to read",
            hint="`--notify env:VARIABLE`, or `secret:NAME`, keeps it out of there",
        )


def _command(text: str, directory: Path, path: str) -> str:
    """Split as a shell would, and started without one."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"`--notify` {shown(text)}: {error}", hint="close the quote") from None
    if "/" in words[0]:
        program = os.path.normpath(directory.absolute() / os.path.expanduser(words[0]))
        found = shutil.which(program)
        words[0] = program
    else:
        found = shutil.which(words[0], path=path)
    if found is None:
        raise NotFound(
            f"`--notify`: there is no program {shown(words[0])}",
            state="nothing was started, nothing is being spent",
            hint="no shell is between: for `&&`, `|` or `$X` write `sh -c '...'`",
        )
    return shlex.join(words)
