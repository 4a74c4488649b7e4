"""`@outlast.main`: a training function becomes a command with typed flags, and a resume with other values is refused."""

from __future__ import annotations

import argparse
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from outlast.errors import EXIT_USAGE, OutlastError, UsageError
from outlast.training import context
from outlast.training.flags import Flag, add_flag, flags_of, plain, show
from outlast.training.say import say

Function = TypeVar("Function", bound=Callable[..., Any])

MODES = ("train", "evaluate")
CHANGEABLE = ("train_steps", "checkpoint_steps", "job_dir", "mode")
"""What may differ from one attempt to the next without changing what is trained."""

NEGATIVE_NUMBER = re.compile(r"-(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$|-inf$")
_COMMON: dict[str, tuple[Any, str]] = {
    "mode": (str, "train|evaluate"),
    "job_dir": (str, "keep checkpoints, metrics and outputs here when not in a job"),
    "dataset": (str, "where the data are: outlast.dataset()"),
    "split": (str, "which part of the dataset"),
    "train_steps": (int, "how many steps, counted from the job's first one: the total of the loop `train`"),
    "checkpoint_steps": (int, "save every so many steps, for loops that do not say it themselves"),
}


def main(function: Function) -> Function:
    """Makes a function the trainer's command line. Called without arguments it reads `sys.argv`; with arguments it is itself.

        @outlast.main
        def train(learning_rate: float = 0.1, layers: list[int] = [64, 64], augment: bool = True): ...

        if __name__ == "__main__":
            train()

    Each parameter is a flag (`--learning-rate`), typed by its annotation: int, float, str, bool (`--augment`, `--no-augment`), Path,
    an Enum, a Literal, Optional of these (`none`), a list of these. Always there are `--mode`, `--job-dir`, `--dataset`, `--split`,
    `--train-steps`, `--checkpoint-steps`. A function that has a parameter of that name gets its value. Otherwise `--train-steps`
    replaces the total of the loop `train`, `--checkpoint-steps` its `save_steps`, `--dataset` is what `outlast.dataset()` gives, and
    `--mode evaluate` and `--split` are refused, since nothing would read them.

    The values are kept in every checkpoint. Resuming the same job with others is refused, naming both; `--train-steps`,
    `--checkpoint-steps` and `--job-dir` may change, and `outlast run --from` allows all.
    """
    if not callable(function) or inspect.isclass(function):
        raise TypeError("@outlast.main belongs on a function")
    flags = flags_of(function)

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> Any:
        command._called = True  # type: ignore[attr-defined]
        if args or kwargs:
            return function(*args, **kwargs)
        try:
            values = read_command_line(function, flags, sys.argv[1:])
        except OutlastError as error:
            sys.stderr.write(f"error: {error}\n")
            raise SystemExit(error.exit_code) from None
        return function(**values)

    command._called = False  # type: ignore[attr-defined]
    if function.__module__ == "__main__":
        _remind(command, function.__name__)
    return command  # type: ignore[return-value]


def _remind(command: Any, name: str) -> None:
    import atexit

    pid = os.getpid()

    def remind() -> None:
        if command._called or os.getpid() != pid or hasattr(sys, "last_value"):
            return
        wrong = f"`{name}` is made a command by @outlast.main but was never called; end the script with `{name}()`"
        if not os.environ.get("OUTLAST_JOB"):
            say(f"warning: {wrong}")
            return
        # A job that has trained nothing must not end as one that succeeded: that is final.
        say(f"error: {wrong}")
        atexit.unregister(remind)
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(EXIT_USAGE)

    atexit.register(remind)


def read_command_line(function: Callable[..., Any], flags: Sequence[Flag], argv: Sequence[str]) -> dict[str, Any]:
    """The arguments for the function; what belongs to the library is set there."""
    own = {flag.name for flag in flags}
    given = vars(_parser(function, flags).parse_args(list(argv)))
    values = {flag.name: given.get(flag.name, flag.default) for flag in flags}
    mode = given.get("mode", values.get("mode") or "train")
    if mode not in MODES:
        raise UsageError(f"--mode {mode}: legal are {', '.join(MODES)}")
    for name in ("mode", "split"):
        if name not in own and name in given and given[name] != "train":
            raise UsageError(
                f"--{name} {given[name]}: nothing in `{function.__name__}` would read it\n\nhint: give it a parameter `{name}: str`"
            )
    if "job_dir" in given:
        if "://" in str(given["job_dir"]):
            raise UsageError(f"--job-dir {given['job_dir']}: it must be a directory on this machine")
        context.use(Path(given["job_dir"]))
    here = context.current()
    for name in ("train_steps", "checkpoint_steps"):
        if name in given and given[name] is not None and given[name] < 1:
            raise UsageError(f"--{name.replace('_', '-')} {given[name]}: it must be 1 or more")
    here.train_steps = given.get("train_steps") if "train_steps" not in own else None
    here.checkpoint_steps = given.get("checkpoint_steps") if "checkpoint_steps" not in own else None
    here.dataset = str(given.get("dataset") or values.get("dataset") or "")
    told = {"dataset": None, **given, **values}  # that none was given is a value too
    kept = {name: plain(value) for name, value in told.items() if name not in CHANGEABLE}
    if mode == "train":
        refuse_changed(here, kept)
        here.flags = kept
    return values


def refuse_changed(here: context.Context, values: dict[str, Any]) -> None:
    """The values of the job's earlier attempts are in its checkpoint; other ones would train something else."""
    if here.run_dir is None or not here.history.flags:
        return
    before = here.history.flags
    # By what they look like: a number that is none (nan) is not equal to itself.
    changed = [
        name
        for name in values
        if name in before and before[name] != values[name] and repr(before[name]) != repr(values[name])
    ]
    if not changed:
        return
    lines = [
        f"--{name.replace('_', '-')} is {_told(name, values)}, but this job has trained with {_told(name, before)}"
        for name in changed
    ]
    if here.attempt.allow_changed:
        for line in lines:
            say(f"note: {line}")
        return
    assert here.history.found is not None
    raise UsageError(
        "; ".join(lines) + f" (checkpoint of step {here.history.found.step})\n\n"
        "hint: resume with the same values; `outlast resume JOB --allow-changed` goes on with these, and `outlast run --from JOB` "
        "begins a new job from its checkpoint"
    )


def _told(name: str, values: dict[str, Any]) -> str:
    return "not given" if name in _COMMON and values[name] is None else show(values[name])


def _parser(function: Callable[..., Any], flags: Sequence[Flag]) -> argparse.ArgumentParser:
    about = inspect.getdoc(function) or ""
    parser = argparse.ArgumentParser(
        description=about, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser._negative_number_matcher = (
        NEGATIVE_NUMBER  # its own takes `-1e-05`, as Python writes a small number, for a flag
    )
    own = {flag.name for flag in flags}
    mine = parser.add_argument_group("flags of this trainer") if flags else parser
    for flag in flags:
        add_flag(mine, flag)  # type: ignore[arg-type]
    common = parser.add_argument_group("flags of every trainer")
    for name, (kind, text) in _COMMON.items():
        if name in own:
            continue
        options = ["--" + name.replace("_", "-")] + ([f"--{name}"] if "_" in name else [])
        choices = MODES if name == "mode" else None
        common.add_argument(*options, dest=name, type=kind, help=text, choices=choices, default=argparse.SUPPRESS)
    return parser
