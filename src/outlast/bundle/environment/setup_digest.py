"""What a setup script does depends on its text, and on the files of the bundle that it names: together they name its result."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from outlast.bundle.environment.requirement_files import tree_content
from outlast.errors import NotFound, UsageError
from outlast.pattern import pattern
from outlast.spec.plain_file import read_plain
from outlast.spec.target import path_inside

SCRIPT_BYTES_MAX = 4 << 20
NAMED_BYTES_MAX = 1 << 30

_WORD = pattern(r"[^\s\"'`;|&<>()=,$#{}]+")


def setup_digest(directory: Path, script: str) -> str:
    path = directory / script
    here = path_inside(path, directory) if Path(script).is_absolute() else None
    if here is not None:
        raise UsageError(
            f"`--setup {script}` is on this machine, and a job runs in a copy of its directory",
            hint=f"`--setup {here}`",
        )
    if Path(script).is_absolute() or ".." in Path(script).parts:
        raise UsageError(
            f"`--setup {script}` lies outside of `{directory}`, and only that directory is shipped",
            hint="name a script inside of it, as `scripts/setup.sh`",
        )
    try:
        text = read_plain(path, SCRIPT_BYTES_MAX)
    except FileNotFoundError:
        raise NotFound(f"`--setup {script}`: there is no such file", hint="name a shell or Python script") from None
    except OSError as error:
        raise UsageError(f"`--setup {script}` cannot be read: {error.strerror}") from error
    digest = hashlib.sha256(b"outlast setup 1\n" + hashlib.sha256(text).digest())
    for word in sorted({one.rstrip("/") for one in _WORD.findall(text.decode(errors="replace"))}):
        content = _content(directory, path, word)
        if content:
            digest.update(f"{word} {content}\n".encode())
    return digest.hexdigest()


def _content(directory: Path, script: Path, word: str) -> str:
    """Empty: the word names nothing of the bundle, or all of it, or the script itself."""
    named = Path(os.path.normpath(directory / word))
    if word in ("", ".", "..") or not named.is_relative_to(directory) or named in (directory, script):
        return ""
    if named.is_dir():
        return tree_content(named)
    try:
        return hashlib.sha256(read_plain(named, NAMED_BYTES_MAX)).hexdigest()
    except OSError:
        return ""
