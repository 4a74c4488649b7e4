"""What a record must say besides having the right fields: whoever wrote it, what it names lies where it belongs."""

from __future__ import annotations

from outlast.errors import Damaged
from outlast.folder.records import Head, Manifest
from outlast.pattern import pattern

PATH_BYTES_MAX = 3000
"""Of a file in a checkpoint: a machine's own directory and this are less than the 4,096 that systems allow."""

NAME_BYTES_MAX = 255
ROOTS = ("checkpoint/", "output/")

_MANIFEST_NAME = pattern(r"[0-9A-Za-z-]{1,100}")


def check_job(found: str, job: str, key: str) -> None:
    if found != job:
        raise Damaged(
            f"`{key}` is the record of another job, `{found[:80]}`",
            hint="a folder that was copied or renamed by hand is no job; `outlast run --from` makes one of another",
        )


def check_head(head: Head, key: str) -> None:
    names = [checkpoint.name for checkpoint in head.checkpoints]
    for name in [*names, head.outputs] if head.outputs else names:
        if not _MANIFEST_NAME.fullmatch(name):
            raise Damaged(f"`{key}` is damaged: {name[:80]!r} is no checkpoint's name")
    # The length first: a number that is out of all reason must not cost anything.
    if len(head.attempts) != head.attempt or any(str(n + 1) not in head.attempts for n in range(head.attempt)):
        raise Damaged(f"`{key}` is damaged: its attempts are not those up to {head.attempt}")


def check_manifest(manifest: Manifest, name: str, folder: str, key: str) -> None:
    """`folder`: the beginning of all keys of the job. What lies outside of it is not this manifest's to name, or to have removed."""
    if manifest.name != name:
        raise Damaged(f"`{key}` is damaged: it is the manifest `{manifest.name[:80]}`")
    seen: set[str] = set()
    for file in manifest.files:
        if not legal_path(file.path) or file.path in seen:
            raise Damaged(f"`{key}` is damaged: {file.path[:80]!r} is no file of a checkpoint")
        seen.add(file.path)
        for part in file.parts:
            if not legal_part(part.key, folder):
                raise Damaged(f"`{key}` is damaged: {part.key[:80]!r} is no part of this job")
    for path in seen:
        if any(path[:at] in seen for at in range(len(path)) if path[at] == "/"):
            raise Damaged(f"`{key}` is damaged: {path[:80]!r} lies below a file")


def legal_path(path: str) -> bool:
    """Whether a file may be put there, in a checkpoint's own directories and nowhere else. Names need not be UTF-8."""
    names = path.split("/")
    try:
        sizes = [len(name.encode("utf-8", "surrogateescape")) for name in names]
    except UnicodeEncodeError:
        return False
    if sum(sizes) + len(sizes) > PATH_BYTES_MAX or max(sizes) > NAME_BYTES_MAX:
        return False
    return path.startswith(ROOTS) and "\0" not in path and not any(name in ("", ".", "..") for name in names)


def legal_part(key: str, folder: str) -> bool:
    names = key.split("/")
    return (
        key.startswith(f"{folder}attempts/")
        and "parts" in names
        and "\0" not in key
        and not any(name in ("", ".", "..") for name in names)
    )
