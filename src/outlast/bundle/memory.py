"""What was seen last time, in the user's cache: only ever a shortcut. Missing, damaged or foreign, it is as if there were none."""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import chain
from pathlib import Path
from typing import Any

from outlast.bundle.listing import EXECUTABLE, PLAIN, Place
from outlast.bundle.tree import Marks, Tree, Watch
from outlast.dataclass import dataclass
from outlast.spec.plain_file import read_plain

MAGIC = b"outlast cache 2\n"
FILE_BYTES_MAX = 256 << 20
PLACES_MAX = 300_000
SHA256_LENGTH = 64
TREES_MAX = 64
"""How many directories are remembered."""


@dataclass
class HomeState:
    """How the remembered listing stands to the home that it was put into."""

    url: str
    base: str
    """A whole record in that home."""

    base_packs: dict[str, int]
    """With their sizes."""

    changes: dict[bytes, Place | None]
    """The paths in which the listing differs from it, and where their contents lie; None: nowhere, empty or removed."""

    packs: dict[str, int]
    """All packs of the listing, with their sizes."""

    prune: int = 0
    """The home's newest prune then. After another one, all is looked at anew."""


@dataclass
class Kept:
    key: str
    """Of the names that were selected; others: select again."""

    digest: str
    tree: Tree
    files: int
    bytes: int
    left_out: list[tuple[str, int, str]] = field(default_factory=list)
    reported_at: float = 0.0
    commit: str = ""
    dirty: bool = False
    clean: str = ""
    """The digest of the listing that has been seen to be the commit's, with the same names; empty: not seen yet."""

    state: HomeState | None = None


class Memory:
    def __init__(self, cache: Path) -> None:
        self._folder = cache / "bundles"
        self.begun_ns = self._kernel_now_ns()

    def recall(self, name: str) -> Kept | None:
        parts = self._read(f"{name}.tree")
        try:
            return None if parts is None else _tree_from(parts)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            return None

    def keep(self, name: str, kept: Kept) -> None:
        try:
            self._write(f"{name}.tree", _tree_parts(kept))
        except OverflowError:  # an inode beyond 63 bits: such a file system is not remembered
            return
        self._forget_oldest()

    def recall_places(self, home: str) -> tuple[dict[str, Place], dict[str, int]]:
        """Where that home's contents lie, and the sizes of its packs."""
        parts = self._read(f"{_name(home)}.home")
        try:
            return ({}, {}) if parts is None else _places_from(parts)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            return {}, {}

    def keep_places(self, home: str, places: dict[str, Place], packs: dict[str, int]) -> None:
        self._write(f"{_name(home)}.home", _places_parts(places, packs))

    def _kernel_now_ns(self) -> int:
        """The time that a file written now gets: to be compared with other files' times, whatever any clock says."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._folder / f".now-{os.getpid()}"
            path.write_bytes(b"")
            now_ns = path.stat().st_ctime_ns
            path.unlink()
            return now_ns
        except OSError:
            return 0

    def _read(self, name: str) -> list[bytes] | None:
        try:
            data = read_plain(self._folder / name, FILE_BYTES_MAX)
        except OSError:
            return None
        head = len(MAGIC) + 32
        if data[: len(MAGIC)] != MAGIC:
            return None
        body = memoryview(data)[head:]
        if hashlib.sha256(body).digest() != data[len(MAGIC) : head]:
            return None
        count = int.from_bytes(body[:4], "little")
        lengths = array("q", bytes(body[4 : 4 + 8 * count]))
        at = 4 + 8 * count
        parts = []
        for length in lengths:
            parts.append(bytes(body[at : at + length]))
            at += length
        return parts

    def _write(self, name: str, parts: Sequence[bytes]) -> None:
        """Without a sync: what a power cut damages is seen by its checksum."""
        body = b"".join([len(parts).to_bytes(4, "little"), array("q", [len(part) for part in parts]).tobytes(), *parts])
        temporary = self._folder / f".{name}-{os.getpid()}"
        try:
            temporary.write_bytes(MAGIC + hashlib.sha256(body).digest() + body)
            temporary.replace(self._folder / name)
        except OSError:
            self._remove(temporary)

    def _remove(self, path: Path) -> None:
        try:
            path.unlink()
        except OSError:
            pass  # it is not there, or nothing can be done

    def _forget_oldest(self) -> None:
        try:
            trees = sorted(self._folder.glob("*.tree"), key=lambda path: path.stat().st_mtime_ns)
            for path in trees[:-TREES_MAX]:
                path.unlink()
        except OSError:
            pass  # another process forgets the same


def _name(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def tree_name(paths: Iterable[Path]) -> str:
    """One memory for each directory together with its extra ones."""
    return _name("\0".join(str(path) for path in paths))


def _tree_parts(kept: Kept) -> list[bytes]:
    tree = kept.tree
    header = {
        "key": kept.key,
        "digest": kept.digest,
        "files": kept.files,
        "bytes": kept.bytes,
        "left_out": kept.left_out,
        "reported_at": kept.reported_at,
        "commit": kept.commit,
        "dirty": kept.dirty,
        "clean": kept.clean,
        "watches": [[_text(one.path), one.kind, _text(one.real), one.real_kind] for one in tree.watches],
        "state": None if kept.state is None else _state_plain(kept.state),
    }
    return [
        json.dumps(header).encode(),
        b"\0".join(tree.sources),
        b"\0".join(tree.directories),
        array("q", chain.from_iterable(tree.marks)).tobytes(),
        b"\0".join(tree.paths),
        array("q", tree.sizes).tobytes(),
        "".join("x" if mode == EXECUTABLE else "-" for mode in tree.modes).encode(),
        "".join(tree.sha256s).encode(),
    ]


def _tree_from(parts: list[bytes]) -> Kept:
    header, sources, directories, marks, paths, sizes, modes, sha256s = parts
    document: dict[str, Any] = json.loads(header)
    numbers = iter(array("q", marks))
    rows: list[Marks] = list(zip(numbers, numbers, numbers, numbers, numbers, strict=True))
    tree = Tree(sources=_split(sources), directories=_split(directories), marks=rows)
    tree.watches = [
        Watch(_bytes(path), kind, _bytes(real), real_kind) for path, kind, real, real_kind in document["watches"]
    ]
    count = document["files"]
    if {len(tree.sources), len(rows), len(modes), len(sizes) // 8, len(sha256s) // SHA256_LENGTH} != {count}:
        raise ValueError("columns of different lengths")

    def rest(tree: Tree) -> None:
        text = sha256s.decode("ascii")
        tree.paths = _split(paths)
        tree.sizes = list(array("q", sizes))
        tree.modes = [EXECUTABLE if one == "x" else PLAIN for one in modes.decode("ascii")]
        tree.sha256s = [text[at : at + SHA256_LENGTH] for at in range(0, len(text), SHA256_LENGTH)]

    tree.rest = rest
    return Kept(
        key=document["key"],
        digest=document["digest"],
        tree=tree,
        files=count,
        bytes=document["bytes"],
        left_out=[(path, size, why) for path, size, why in document["left_out"]],
        reported_at=document["reported_at"],
        commit=document["commit"],
        dirty=document["dirty"],
        clean=document["clean"],
        state=None if document["state"] is None else _state_from(*document["state"]),
    )


def _state_plain(state: HomeState) -> list[Any]:
    return [
        state.url,
        state.base,
        state.base_packs,
        [[_text(path), place] for path, place in state.changes.items()],
        state.packs,
        state.prune,
    ]


def _state_from(
    url: str, base: str, base_packs: dict[str, int], changes: list[Any], packs: dict[str, int], prune: int
) -> HomeState:
    places = {_bytes(path): None if place is None else Place(*place) for path, place in changes}
    return HomeState(url, base, base_packs, places, packs, prune)


def _places_parts(places: dict[str, Place], packs: dict[str, int]) -> list[bytes]:
    newest = list(places.items())[-PLACES_MAX:]
    numbers = {pack: number for number, pack in enumerate(packs)}
    return [
        json.dumps(packs).encode(),
        "".join(sha256 for sha256, _ in newest).encode(),
        array("q", [numbers[place.pack] for _, place in newest]).tobytes(),
        array("q", [place.offset for _, place in newest]).tobytes(),
    ]


def _places_from(parts: list[bytes]) -> tuple[dict[str, Place], dict[str, int]]:
    header, sha256s, numbers, offsets = parts
    packs: dict[str, int] = json.loads(header)
    names = list(packs)
    text = sha256s.decode("ascii")
    keys = (text[at : at + SHA256_LENGTH] for at in range(0, len(text), SHA256_LENGTH))
    columns = zip(keys, array("q", numbers), array("q", offsets), strict=True)
    return {sha256: Place(names[number], offset) for sha256, number, offset in columns}, packs


def _split(blob: bytes) -> list[bytes]:
    return blob.split(b"\0") if blob else []


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
