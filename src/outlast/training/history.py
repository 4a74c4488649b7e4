"""What earlier lives of this job have left: the newest checkpoint, and the loops that it knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outlast.errors import OutlastError
from outlast.training import disk, generators, outputs, ranks
from outlast.training.decode import MISSING, Decoder, Malformed
from outlast.training.encode import Encoder
from outlast.training.fielded import field, fielded
from outlast.training.filling import Mismatch
from outlast.training.save import EndedLoop, Position
from outlast.training.say import say
from outlast.training.sharing import shared
from outlast.training.state import encode_parts, restore_parts
from outlast.training.taken_back import difference
from outlast.training.tensors import NoTensors, TensorFile

if TYPE_CHECKING:
    from outlast.training.context import Context


@fielded(frozen=True)
class Document:
    """The files of one state, checked against damage."""

    folder: Path
    content: dict[str, Any]
    place: dict[str, Any]
    """generators.json; empty for a loop that keeps only its position."""

    tensors: TensorFile | NoTensors

    def restore(self, parts: dict[str, Any], *, resuming: bool = False) -> None:
        """Brings the parts back, in place where that can be done. `resuming`: the script goes on where it was, and is told what would go on
        otherwise."""
        for said in self._decode(lambda decoder: self._restore(decoder, parts), modes=resuming):
            say(said)
        if resuming:
            self._compare_sharing(parts)

    def _restore(self, decoder: Decoder, parts: dict[str, Any]) -> list[str]:
        doubts = restore_parts(decoder, self.content.get("parts") or {}, parts)
        return [f"warning: {doubt}" for doubt in doubts] + decoder.notes

    def _compare_sharing(self, parts: dict[str, Any]) -> None:
        saved = self.content.get("shared") or []
        if not saved:
            return
        encoder = Encoder()
        encode_parts(encoder, parts)
        now = shared(encoder)
        for one, other in (pair for pair in saved if pair not in now):
            say(
                f"warning: `{one}` and `{other}` shared memory when they were saved, and are two arrays now: each is changed alone, and "
                "what is trained from here on may differ; let them share before the loop begins, or give the state a copy"
            )

    def restore_again(self, parts: dict[str, Any]) -> None:
        """A loader that was brought to its place may have changed them: a dataset that counts in the state what it gives."""
        trees = self.content.get("parts") or {}
        if any(difference(tree, parts[name], name, self.tensors) for name, tree in trees.items()):
            self._decode(lambda decoder: self._restore(decoder, parts))

    def restore_generators(self) -> None:
        """The global ones; those that are parts come back with the parts."""
        generators.set_global_states(
            self._decode(lambda decoder: decoder.decode(self.place.get("global", {}), MISSING, "global"))
        )

    def position(self) -> Position:
        return Position(int(self.content["step"]), int(self.content["epoch"]))

    def data(self) -> dict[str, Any]:
        """Where the data loader stood; empty for a loop without one."""
        return dict(self._decode(lambda decoder: decoder.decode(self.place.get("data", {}), MISSING, "data")))

    def flags(self) -> dict[str, Any]:
        return dict(self._decode(lambda decoder: decoder.decode(self.content.get("flags") or {}, MISSING, "flags")))

    def _decode(self, work: Any, *, modes: bool = False) -> Any:
        try:
            return work(Decoder(self.tensors, modes=modes))
        except Malformed as error:
            raise disk.damaged(self.folder / disk.STATE, str(error)) from error
        except RecursionError as error:
            raise disk.damaged(self.folder / disk.STATE, "it is nested too deeply") from error
        except Mismatch as error:
            raise OutlastError(
                f"the checkpoint `{self.folder}` does not fit the script: {error}\n\n"
                "hint: a job resumes with the code that it was saved by; `outlast run` begins a new job"
            ) from error


@fielded
class History:
    found: disk.Found | None = None
    loops: list[EndedLoop] = field(default_factory=list)
    """In the order in which the script ran them; the last one may not be over."""

    flags: dict[str, Any] = field(default_factory=dict)
    attempt: int = 1
    number: int = 0
    """How many saves this attempt has made before this process."""

    def loop(self, name: str) -> EndedLoop | None:
        return next((one for one in self.loops if one.name == name), None)

    def is_open(self, loop: EndedLoop) -> bool:
        """Whether it was saved on its way, and never at its end: nothing says yet that it is complete."""
        return self.found is not None and not self.found.complete and loop is self.loops[-1] and not loop.stopped

    def forget_after(self, name: str) -> None:
        """That loop goes on: what came after it begins anew."""
        names = [one.name for one in self.loops]
        later = self.loops[names.index(name) + 1 :]
        if later:
            say(f"the loop `{name}` goes on, so {', '.join(f'`{one.name}`' for one in later)} begins anew")
        del self.loops[names.index(name) + 1 :]


def read_history(context: Context) -> History:
    folder = context.checkpoint_dir
    if folder is None:
        return History(attempt=context.attempt.attempt or 1)
    found = disk.list_checkpoints(folder)
    attempt = context.attempt.attempt or (found[0].attempt + 1 if found else 1)
    number = max((one.number for one in found if one.attempt == attempt), default=0)
    if not found and context.attempt.continue_steps:
        return _continued(disk.list_adopted(folder), attempt)
    if not found:
        return History(attempt=attempt)
    newest = ranks.folder_for(found[0], context.attempt)
    content = _read_content(newest.path / disk.STATE, newest.record)
    document = Document(newest.path, content, {}, NoTensors())
    return History(found[0], list(_loops(newest.path, content)), document.flags(), attempt, number)


def _continued(found: list[disk.Found], attempt: int) -> History:
    """Another job's loops, to go on with: also those that were stopped or left, because more is asked for now."""
    if not found:
        return History(attempt=attempt)
    loops = [EndedLoop(one.name, one.step, one.epoch, False, False, one.folder) for one in loops_in(found[0])]
    return History(found[0], loops, attempt=attempt)


def loops_in(found: disk.Found) -> list[EndedLoop]:
    """The loops that a checkpoint knows; none in one that the script has written by its own means."""
    if disk.STATE not in (found.record.get("files") or {}):
        return []
    return list(_loops(found.path, _read_content(found.path / disk.STATE, found.record)))


def _loops(folder: Path, content: Mapping[str, Any]) -> Iterator[EndedLoop]:
    try:
        for record in content["ended"]:
            name = record["folder"]
            place = None if name is None else folder / disk.ENDED / Path(name).name
            step, epoch = int(record["step"]), int(record["epoch"])
            yield EndedLoop(record["name"], step, epoch, bool(record["stopped"]), bool(record["left"]), place)
        if content["loop"] is not None:
            step, epoch = int(content["step"]), int(content["epoch"])
            yield EndedLoop(content["loop"], step, epoch, bool(content["stopped"]), False, folder)
    except (KeyError, TypeError, ValueError) as error:
        raise disk.damaged(folder / disk.STATE, f"the loops in it are not well formed: {error}") from None


@contextmanager
def open_document(folder: Path, record: dict[str, Any] | None = None) -> Iterator[Document]:
    """Damaged names the file if anything in it is not what was written."""
    record = record or disk.read_checkpoint(folder).record
    content = _read_content(folder / disk.STATE, record)
    files = record.get("files") or {}
    place = _read_content(folder / disk.GENERATORS, record) if disk.GENERATORS in files else {}
    tensors: TensorFile | NoTensors = NoTensors()
    if disk.TENSORS in files:
        disk.check_file(folder / disk.TENSORS, record)
        try:
            tensors = TensorFile(folder / disk.TENSORS)
        except Malformed as error:
            raise disk.damaged(folder / disk.TENSORS, str(error)) from error
    try:
        yield Document(folder, content, place, tensors)
    finally:
        tensors.close()


def _read_content(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    disk.check_file(path, record)
    content = disk.read_json(path)
    disk.check_format(path, content)
    return content


def roll_back_outputs(context: Context) -> None:
    """Where no agent has restored the outputs, brings them back to what they were at the checkpoint that is resumed from."""
    found = context.history.found
    if found is None or found.complete or context.attempt.by_agent or context.run_dir is None:
        return
    outputs.restore_outputs(found.record.get("outputs") or [], context.output_dir, context.run_dir / "kept")
