"""The final outputs, copied to where a person looks for them. Readers of our own use the manifest."""

from __future__ import annotations

from collections.abc import Iterator

from outlast.errors import Damaged, KeyMissing, NewerFormat
from outlast.folder.content import download, read_manifest
from outlast.folder.evaluation import publish_result
from outlast.folder.folder import Folder
from outlast.folder.records import File, Head, Published
from outlast.spec.spec import Spec
from outlast.store.keys import check_key

OUTPUT = "output/"


def output_files(folder: Folder, head: Head) -> list[File]:
    """What the job's outputs are: as the final swap named them, else as the newest checkpoint has them."""
    name = head.outputs or (head.checkpoints[-1].name if head.checkpoints else "")
    if not name:
        return []
    return [file for file in read_manifest(folder, name).files if file.path.startswith(OUTPUT)]


def publish(folder: Folder, launch_id: str, spec: Spec | None = None, head: Head | None = None) -> None:
    """Copies what is missing of a final head's outputs, and of an evaluation's result; whoever ends a launch calls it first.

    `spec` and `head`: if they were just read.
    """
    try:
        head = head or folder.read_head().head
    except KeyMissing:
        return
    if head.launch_id != launch_id or not head.state.final:
        return
    publish_result(folder, head, spec)
    if not head.outputs:
        return
    if _published(folder) == head.outputs:
        return
    files = output_files(folder, head)
    wanted = dict(_places(folder, files))
    # First, since a file system may take what was for what will be: `Model.pt` for `model.pt`.
    folder.store.purge([entry.key for entry in folder.store.list(folder.keys.outputs) if entry.key not in wanted])
    damaged = []
    for key, file in wanted.items():
        try:
            folder.store.upload(key, download(folder, file))
        except Damaged:
            damaged.append(key)  # whoever reads the outputs by their manifest is told; nobody waits for this file
    if damaged:
        folder.store.purge(damaged)
    folder.rewrite(folder.keys.published, Published(head.outputs))


def _places(folder: Folder, files: list[File]) -> Iterator[tuple[str, File]]:
    """A path that cannot be a key (too long, no UTF-8) is found by the manifest alone."""
    for file in files:
        key = folder.keys.output(file.path.removeprefix(OUTPUT))
        try:
            check_key(key)
        except ValueError:
            continue
        yield key, file


def _published(folder: Folder) -> str:
    try:
        return folder.read(Published, folder.keys.published).manifest
    except (KeyMissing, Damaged, NewerFormat):
        return ""
