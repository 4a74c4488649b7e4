"""Requirement files as far as we read them ourselves: what they include and which local projects they name.

The resolver reads them for what they mean; here only their content matters, because equal content is not resolved twice.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from outlast.errors import NotFound, UsageError
from outlast.pattern import pattern
from outlast.spec.plain_file import read_plain

FILE_BYTES_MAX = 4 << 20
DEPTH_MAX = 20
LOCAL_FILES_MAX = 20_000
LOCAL_BYTES_MAX = 1 << 30
"""A local project above this is no project: somebody has named a directory of data."""

_INCLUDE = pattern(r"\s*(?:-r|-c|--requirement|--constraint)(?:\s*=\s*|\s+|(?=\S))(?P<path>[^#]+?)(?:\s+#.*)?")
_EDITABLE = pattern(r"\s*(?:-e|--editable)(?:\s*=\s*|\s+)")
_PASSED_OVER = frozenset({".git", "__pycache__", "build", "dist", ".venv", "venv", "node_modules", ".mypy_cache"})


def has_any(path: Path) -> bool:
    """Whether it asks for anything at all."""
    return any(line.split("#")[0].strip() for line in _text(path).splitlines())


def content_of(path: Path) -> str:
    """Of the file and of all that it includes; of local projects that it names, their content too."""
    return "\n".join(_contents(path, 0, set()))


def _contents(path: Path, depth: int, seen: set[Path]) -> list[str]:
    if depth > DEPTH_MAX or path in seen:
        return []
    seen.add(path)
    text = _text(path)
    found = [hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()]
    for line in text.replace("\\\n", " ").splitlines():
        included = _INCLUDE.fullmatch(line)
        if included is None:
            found.append(local_content(line, path.parent))
        elif "://" not in included["path"]:
            inner = Path(os.path.normpath(path.parent / included["path"].strip()))
            if not inner.is_file():
                raise NotFound(f"`{path.name}` includes `{included['path']}`, and there is no such file")
            found += _contents(inner, depth + 1, seen)
    return [one for one in found if one]


def _text(path: Path) -> str:
    try:
        return read_plain(path, FILE_BYTES_MAX).decode(errors="surrogateescape")
    except OSError as error:
        raise UsageError(
            f"`{path.name}` cannot be read: {error.strerror}", hint="name a file that pip can read"
        ) from error


def local_content(line: str, directory: Path) -> str:
    """The digest of the local project, archive or wheel that a requirement names; empty if it names none."""
    text = _EDITABLE.sub("", line.split(" #", maxsplit=1)[0].split(";", maxsplit=1)[0].strip())
    if text.startswith("-") or not text:
        return ""
    if "file:" in text:
        path = Path(unquote(urlsplit(text[text.index("file:") :]).path))
    else:
        path = Path(re.sub(r"\[[^\]]*\]$", "", text))
        if not text.startswith((".", "/", "~")) and os.sep not in text and not text.endswith((".whl", ".gz", ".zip")):
            return ""
    path = Path(os.path.normpath(directory / path.expanduser()))
    if path.is_dir():
        return tree_content(path)
    try:
        return hashlib.sha256(read_plain(path, LOCAL_BYTES_MAX)).hexdigest()
    except OSError:
        return ""  # the resolver says what is wrong with it


def tree_content(root: Path) -> str:
    """Of all files of a project, by their paths."""
    digest = hashlib.sha256()
    count = total_bytes = 0
    for at, directories, files in os.walk(root):
        kept = (one for one in sorted(directories) if one not in _PASSED_OVER and not one.endswith(".egg-info"))
        directories[:] = [one for one in kept if not os.path.lexists(os.path.join(at, one, "pyvenv.cfg"))]
        for name in sorted(files):
            path = Path(at, name)
            try:
                data = read_plain(path, LOCAL_BYTES_MAX)
            except OSError:
                continue
            count, total_bytes = count + 1, total_bytes + len(data)
            if count > LOCAL_FILES_MAX or total_bytes > LOCAL_BYTES_MAX:
                raise UsageError(
                    f"the local project `{root}` has more than {LOCAL_FILES_MAX:,} files, or 1 GiB",
                    hint="build a wheel of it, and name that",
                )
            inside = os.fsencode(path.relative_to(root))
            digest.update(b"%s %d\n%s" % (inside, len(data), hashlib.sha256(data).digest()))
    return digest.hexdigest()
