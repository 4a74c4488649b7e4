"""Where this process trains: the run directory, what the agent says in it, and what this process has become of it.

Started by hand there is no run directory: then nothing is kept or restored, and one line on stderr says so. With
`OUTLAST_RUN_DIR` set by hand everything is kept there, without an agent.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outlast.errors import Damaged, Denied, OutlastError, UsageError
from outlast.training.fielded import field, fielded
from outlast.training.say import say_once

if TYPE_CHECKING:
    from outlast.training.cadence import Cadence
    from outlast.training.ending import Left
    from outlast.training.history import History
    from outlast.training.loop import Loop
    from outlast.training.metrics import Stream
    from outlast.training.save import EndedLoop
    from outlast.training.saver import Saver


@fielded(frozen=True)
class Attempt:
    """attempt.json: what the agent says about this life of the trainer. Unknown keys are of a newer agent and ignored."""

    attempt: int = 0
    """0: no agent says so; counted by the checkpoints in the run directory then."""

    rank: int = 0
    workers: int = 1
    together: bool = False
    """Several workers share this run directory (a launcher like torchrun has started them), not one per machine."""

    steps_max: int | None = None
    save_steps: int | None = None
    """A drill saves at least so often, whatever the script says."""

    pause: str = ""
    machine_life_seconds: float | None = None
    allow_changed: bool = False
    adopted: bool = False
    """The job began with another one's checkpoint (`run --from`) and has none of its own yet."""

    continue_steps: bool = False
    """Its loops go on where that one's stood (`--continue-steps`), instead of from step 0."""

    evaluation: bool = False
    """This job evaluates another one, whose checkpoint is what the script asks for."""

    by_agent: bool = False


@fielded
class Context:
    run_dir: Path | None
    checkpoint_dir: Path | None
    output_dir: Path
    attempt: Attempt
    pid: int = field(default_factory=os.getpid)
    flags: dict[str, Any] = field(default_factory=dict)
    """The values of the command line that a resume must repeat (`outlast.main`)."""

    train_steps: int | None = None
    checkpoint_steps: int | None = None
    dataset: str = ""
    active: list[Loop] = field(default_factory=list)
    """Loops whose bodies run now, the outermost first."""

    ended: list[EndedLoop] = field(default_factory=list)
    """Loops that are over and came before, in this process's order."""

    left: dict[str, Left] = field(default_factory=dict)
    """What loops that were left by `break` had then, until another loop begins."""

    own_checkpoints: bool = False
    """The script saves by `outlast.checkpoint` or by its own means: a loop without a state must not save over that."""

    looked_due: bool = False
    cadence: Cadence | None = None
    """When a script without a loop should save."""

    metrics: Stream | None = None
    _saver: Saver | None = None
    _history: History | None = None
    _progress: int | None = None
    _marked: bool = False
    _arrived: bool = False

    @property
    def quiet(self) -> bool:
        """Another worker speaks for this one in the run directory that they share: progress, metrics, outputs."""
        return self.attempt.together and self.attempt.rank > 0

    @property
    def saver(self) -> Saver:
        if self._saver is None:
            from outlast.training.saver import Saver

            self.own()
            self._saver = Saver(self)
            self.at_exit(self._saver.finish)
        return self._saver

    def wait_for_saves(self) -> None:
        if self._saver is not None:
            self._saver.wait()

    @property
    def history(self) -> History:
        """What the newest checkpoint says. Looked for once, when it is first asked for."""
        if self._history is None:
            from outlast.training.history import read_history

            self._history = read_history(self)
        return self._history

    def arrive(self) -> None:
        """Before the script touches outputs or checkpoints: they are brought into the state that it resumes from."""
        if self._arrived or self.run_dir is None or in_worker_process() or self.quiet:
            return
        self._arrived = True
        from outlast.training.history import roll_back_outputs

        roll_back_outputs(self)

    def kept(self) -> bool:
        """Whether anything is kept; says once if not."""
        if self.run_dir is None and not self.quiet:
            say_once(
                "by hand",
                "not in a job: nothing is kept or restored (OUTLAST_RUN_DIR=DIR keeps it there; `outlast run` makes a job)",
            )
        return self.run_dir is not None

    def make_run_dir(self) -> None:
        """In a job it is there."""
        if self.run_dir is not None:
            make_own(self.run_dir)

    def own(self) -> None:
        """Makes sure that only one process writes here. Released by the system with the process, not inherited by a fork."""
        if self._progress is not None or self.run_dir is None or self.quiet:
            return
        import fcntl

        make_own(self.run_dir)
        self._progress = os.open(self.run_dir / "progress", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(self._progress, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise OutlastError(f"another process is training in `{self.run_dir}` already") from None
        except OSError:  # a file system without locks
            pass

    def write_progress(self, step: int, total: int | None = None) -> None:
        """`total`: where it ends, if that is known."""
        if self._progress is not None:
            try:
                os.pwrite(self._progress, b"%020d\n%020d\n" % (step, total or 0), 0)
            except OSError as error:
                say_once("progress", f"warning: the current step could not be written: {error}")

    def mark_loop(self, present: bool) -> None:
        """`loop` tells the agent that this process leaves by itself at its next boundary."""
        if self.run_dir is None or present == self._marked or self.quiet:
            return
        self._marked = present
        try:
            if present:
                make_own(self.run_dir)
                (self.run_dir / "loop").touch()
            else:
                (self.run_dir / "loop").unlink(missing_ok=True)
        except OSError as error:
            say_once("loop", f"warning: `{self.run_dir / 'loop'}` could not be written: {error}")

    def at_exit(self, function: Callable[[], None]) -> None:
        """Runs only in the process that asked for it, not in one that was forked from it."""
        pid = self.pid

        def run() -> None:
            if os.getpid() == pid:
                function()

        atexit.register(run)


_current: Context | None = None

LEFT_OUT = "# What a script left that was started by hand: neither git nor `outlast run` takes it along.\n*\n"


def make_own(directory: Path) -> None:
    """It is there. One that is made here is no job's and nobody's code: what is in it is left out of commits and bundles."""
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        if not directory.is_dir():
            raise
        return
    (directory / ".gitignore").write_text(LEFT_OUT)


def current() -> Context:
    """The context of this process. A forked process gets one of its own and owns nothing of its parent's."""
    global _current
    if _current is None or _current.pid != os.getpid():
        _current = _read_context(os.environ)
    return _current


def forget() -> None:
    """Only for tests that live in one process: the next call of `current` reads the environment again."""
    global _current
    _current = None


def in_worker_process() -> bool:
    """A child of multiprocessing (a data loader's worker): it must not write for the training."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _read_context(environ: Any) -> Context:
    named = environ.get("OUTLAST_RUN_DIR", "")
    if not named:
        output = Path(environ.get("OUTLAST_OUTPUT_DIR") or "output").absolute()
        return Context(None, None, output, _attempt_of({}, environ))
    run_dir = Path(named).absolute()
    _check_usable(run_dir, "OUTLAST_RUN_DIR")
    return context_in(run_dir, environ)


def _check_usable(run_dir: Path, name: str) -> None:
    """Before anything is trained for nothing. In a job it is there and ours; by hand it may be anything."""
    there = run_dir
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    why = (
        f"`{there}` is no directory"
        if not there.is_dir()
        else f"`{there}` may not be written to"
        if not os.access(there, os.W_OK | os.X_OK)
        else ""
    )
    if why:
        raise Denied(
            f"{name} is `{run_dir}`, and nothing can be kept there: {why}\n\n"
            f"hint: name a directory of your own, or leave {name} out to train without keeping anything"
        )


def context_in(run_dir: Path, environ: Any) -> Context:
    checkpoint = Path(environ.get("OUTLAST_CHECKPOINT_DIR") or run_dir / "checkpoint").absolute()
    output = Path(environ.get("OUTLAST_OUTPUT_DIR") or run_dir / "output").absolute()
    return Context(run_dir, checkpoint, output, _read_attempt(run_dir / "attempt.json", environ))


def use(run_dir: Path) -> Context:
    """Keeps everything in that directory from now on (`--job-dir`), unless this process is in a job already."""
    global _current
    if current().run_dir is None:
        _check_usable(run_dir.absolute(), "--job-dir")
        _current = context_in(run_dir.absolute(), os.environ)
    return current()


def _read_attempt(path: Path, environ: Any) -> Attempt:
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        record = {}
    except OSError as error:
        raise Denied(f"`{path}` cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise Damaged(f"`{path}` is not JSON: {error}") from None
    if not isinstance(record, dict):
        raise Damaged(f"`{path}` is not a JSON object")
    try:
        return _attempt_of(record, environ)
    except (TypeError, ValueError) as error:
        raise Damaged(f"`{path}` has a value of the wrong kind: {error}") from None


def _attempt_of(record: dict[str, Any], environ: Any) -> Attempt:
    """Started by hand there is no record, but there may be several workers (torchrun)."""
    rank, workers = _number_in(environ, "RANK"), _number_in(environ, "WORLD_SIZE")
    return Attempt(
        attempt=int(record.get("attempt") or 0),
        rank=int(record.get("rank") or 0) if rank is None else rank,
        workers=workers or int(record.get("workers") or 1),
        together=(workers or 1) > int(record.get("workers") or 1),
        steps_max=None if record.get("steps_max") is None else int(record["steps_max"]),
        save_steps=None if record.get("save_steps") is None else max(1, int(record["save_steps"])),
        pause=str(record.get("pause") or ""),
        machine_life_seconds=record.get("machine_life_seconds"),
        allow_changed=bool(record.get("allow_changed")),
        adopted=bool(record.get("adopted")),
        continue_steps=bool(record.get("continue_steps")),
        evaluation=bool(record.get("evaluation")),
        by_agent=bool(record),
    )


def _number_in(environ: Any, name: str) -> int | None:
    text = environ.get(name)
    if not text:
        return None
    if not text.isdecimal():
        raise UsageError(
            f"{name} is `{text}`, which is no number of a worker\n\nhint: unset it, or let torchrun set it"
        )
    return int(text)


def scratch_dir(name: str) -> Path:
    """A directory that goes with this process: what is written by hand is not kept."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix=f"outlast-{name}-"))

    def remove() -> None:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)

    current().at_exit(remove)
    return folder
