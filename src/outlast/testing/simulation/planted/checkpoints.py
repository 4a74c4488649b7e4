"""Planted between the trainer's save and head: parts, manifests, garbage, pins, outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from outlast.agent import attempt, mirror
from outlast.agent.attempt import AttemptLife
from outlast.agent.mirror import Mirror, Taken
from outlast.errors import StoreUnavailable
from outlast.folder import content
from outlast.folder.folder import Folder
from outlast.folder.records import File, Head, Manifest
from outlast.testing.simulation import users
from outlast.testing.simulation.planted.plant import GARBAGE, ISSUE, MISC, REFERENCE, around, plant


def _send_later(original: Any, self: Any, total: int) -> None:
    """The manifest is written first, its parts are sent after head."""
    owed = self.folder.__dict__.setdefault("owed", [])
    owed += [(part.key, b"".join(part.chunks())) for part in self.parts]


def _send_owed(original: Any, self: Mirror, *args: Any) -> None:
    for key, data in self.folder.__dict__.pop("owed", []):
        self.folder.store.upload(key, [data])
    original(self, *args)


def _write_from_memory(original: Any, self: Mirror, saved: Any, head: Head) -> Manifest:
    """Whatever was once uploaded is referred to, whether head still names it or not."""
    memory: dict[str, File] = self.__dict__.setdefault("memory", {})
    names = {one.name for one in head.checkpoints}
    for file in saved.files:
        if file.identity in memory and names:
            self.taken[file.path] = Taken(file.identity, next(iter(names)), _at(memory[file.identity], file.path))
    manifest: Manifest = original(self, saved, head)
    by_path = {file.path: file for file in manifest.files}
    memory.update({file.identity: by_path[file.path] for file in saved.files})
    return manifest


def _at(file: File, path: str) -> File:
    return File(path, file.bytes, file.sha256, file.mode, file.parts)


def _purge_shared(original: Any, self: Mirror, dropped: set[str], head: Head, strays: Any) -> None:
    """What a dropped checkpoint named is removed, also if a kept one names it too."""
    parts = self._parts
    self._parts = lambda name: iter(()) if name not in dropped else parts(name)  # type: ignore[method-assign]
    try:
        original(self, dropped, head, strays)
    finally:
        self._parts = parts  # type: ignore[method-assign]


def _sweep_everything(self: Mirror, head: Head) -> None:
    """All that head does not name, in all attempts: a late owner removes what its successor is uploading."""
    root = f"{self.folder.keys.root}attempts/"
    self._purge(set(), head, [entry.key for entry in self.folder.store.list(root) if "/parts/" in entry.key])


def _sweep_while_uploading(original: Any, self: Mirror, saved: Any, head: Head) -> Manifest:
    """Garbage is collected between the parts and their manifest."""
    manifest: Manifest = original(self, saved, head)
    prefix = self.folder.keys.parts(self.attempt)
    self._purge(set(), head, [entry.key for entry in self.folder.store.list(prefix)])
    return manifest


def _commit_collects_first(original: Any, self: AttemptLife) -> None:
    """The oldest checkpoint is removed before the swap that stops naming it."""
    head = self.at.head
    if self.pending is not None and len(head.checkpoints) >= 3:
        self.mirror._purge({head.checkpoints[0].name}, head, ())
        for part in self.mirror._parts(head.checkpoints[0].name):
            self.folder.store.purge([part.key])
    original(self)


def _finish_and_tidy(original: Any, self: AttemptLife, verdict: Any, exit: Any) -> None:
    """After the end, all that no kept checkpoint names is removed: the outputs' manifest does not count."""
    original(self, verdict, exit)
    named = {part.key for one in self.at.head.checkpoints for part in self.mirror._parts(one.name)}
    parts = [entry.key for entry in self.folder.store.list(self.folder.keys.parts(self.number))]
    self.folder.store.purge([key for key in parts if key not in named])


def _no_pins(self: Mirror) -> Iterator[Any]:
    return iter(())


@contextmanager
def _unpinned(folder: Folder, choose: Any) -> Iterator[list[Manifest]]:
    yield [content.read_manifest(folder, name) for name in choose(folder.existing_head().head)]


def _unchecked(folder: Folder, files: Sequence[File]) -> Iterator[tuple[File, Iterator[bytes]]]:
    for file in files:
        yield file, (chunk for part in file.parts for chunk in folder.store.download(part.key))


def _checkpoint_only(self: AttemptLife, checkpoint: Any) -> None:
    """Outputs stay as the machine has them."""
    self.child.clear(self.at.head.bundle)
    for file in content.read_manifest(self.folder, checkpoint.name).files:
        if file.path.startswith("checkpoint/"):
            self.child.restore(file.path, file.mode, content.download(self.folder, file))


def _publish_at_once(original: Any, self: AttemptLife) -> None:
    """Outputs go to their place at every commit, whoever owns the job."""
    saved = self.pending[0] if self.pending is not None else None
    if saved is not None:
        for file in saved.files:
            if file.path.startswith("output/"):
                key = self.folder.keys.output(file.path.removeprefix("output/"))
                self.folder.store.upload(key, file.chunks(0, file.bytes))
    original(self)


def _publish_unfenced(original: Any, self: AttemptLife, exit: Any) -> Any:
    """Outputs are put in their place as soon as the trainer has ended, before anybody knows whose job it is."""
    for file in self.child.outputs().files:
        key = self.folder.keys.output(file.path.removeprefix("output/"))
        self._patiently(partial(self.folder.store.upload, key, list(file.chunks(0, file.bytes))))
    return original(self, exit)


def _write_by_number(self: Mirror, saved: Any, head: Head) -> Manifest:
    """A manifest is named by its number alone, counted anew by every agent; one that is there already is waited for."""
    upload = mirror._Upload(self.folder, self.attempt, self.between)
    records = [upload.add(file) for file in saved.files]
    upload.send(sum(file.bytes for file in saved.files))
    files = tuple(record() for record in records)
    number = self.__dict__.get("written", 0) + 1
    name = f"{self.attempt:06d}-{number:06d}"
    manifest = Manifest(name, self.attempt, saved.step, saved.complete, 0.0, files)
    if not self.folder.create(self.folder.keys.manifest(name), manifest):
        raise StoreUnavailable("the manifest is there already")
    self.__dict__["written"] = number
    return manifest


ALL = (
    plant(
        "pointer before parts",
        "parts, then manifest, then head",
        ISSUE,
        (mirror._Upload, "send", around(mirror._Upload.send, _send_later)),
        (Mirror, "committed", around(Mirror.committed, _send_owed)),
    ),
    plant(
        "manifest that wedges",
        "manifests carry attempt and nonce",
        ISSUE,
        (Mirror, "write", _write_by_number),
    ),
    plant(
        "part referred to from memory",
        "a manifest refers only to parts that manifests kept in head name",
        f"{GARBAGE}: ref='memory'",
        (Mirror, "write", around(Mirror.write, _write_from_memory)),
    ),
    plant(
        "shared part collected",
        "what a kept manifest names is not garbage",
        ISSUE,
        (Mirror, "_purge", around(Mirror._purge, _purge_shared)),
    ),
    plant(
        "garbage of later attempts",
        "only attempts up to one's own",
        f"{GARBAGE}: gcmode='all'",
        (Mirror, "sweep", _sweep_everything),
        theme="zombies",
    ),
    plant(
        "upload in flight collected",
        "never its upload in flight",
        f"{GARBAGE}: in flight",
        (Mirror, "write", around(Mirror.write, _sweep_while_uploading)),
    ),
    plant(
        "collected before the swap",
        "only right after its own swap",
        f"{GARBAGE}: order",
        (AttemptLife, "_commit_pending", around(AttemptLife._commit_pending, _commit_collects_first)),
    ),
    plant(
        "outputs are garbage",
        "the kept set includes the outputs' manifest",
        f"{GARBAGE}: outk=False",
        (AttemptLife, "_finish", around(AttemptLife._finish, _finish_and_tidy)),
    ),
    plant(
        "pins not looked at",
        "the owner lists pins between swap and delete",
        f"{GARBAGE}: pins=False",
        (Mirror, "_pins", _no_pins),
    ),
    plant(
        "reader without pin",
        "a reader pins, then reads head again",
        f"{GARBAGE}: reader without pin",
        (users, "pinned", _unpinned),
    ),
    plant("damage not noticed", "hashes are checked while reading", REFERENCE, (attempt, "download_many", _unchecked)),
    plant(
        "outputs not restored",
        "outputs are restored to the checkpoint in use",
        ISSUE,
        (AttemptLife, "_put_in_place", _checkpoint_only),
    ),
    plant(
        "outputs unfenced",
        "outputs count only as the final head names them",
        ISSUE,
        (AttemptLife, "_conclude", around(AttemptLife._conclude, _publish_unfenced)),
    ),
    plant(
        "outputs published at every commit",
        "outputs are published by who ends the launch",
        f"{ISSUE}; {MISC}",
        (AttemptLife, "_commit_pending", around(AttemptLife._commit_pending, _publish_at_once)),
    ),
)
