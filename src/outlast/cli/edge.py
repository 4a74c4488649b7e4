"""The outermost edge: whatever happens below becomes words on stderr and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from outlast.cli.clean import printable
from outlast.cli.terminal import paint, say
from outlast.errors import (
    EXIT_DENIED,
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_NOT_FOUND,
    EXIT_STORE,
    EXIT_USAGE,
    NotFound,
    OutlastError,
)

CODE_OF_ERRNO = {
    errno.ENOSPC: EXIT_STORE,
    errno.EDQUOT: EXIT_STORE,
    errno.EROFS: EXIT_STORE,
    errno.EIO: EXIT_STORE,
    errno.EMFILE: EXIT_FAILED,
    errno.ENFILE: EXIT_FAILED,
    errno.EACCES: EXIT_DENIED,
    errno.EPERM: EXIT_DENIED,
    errno.ENAMETOOLONG: EXIT_USAGE,
}
"""Troubles of the machine, or of what was typed, not of the program: they are told without a trace."""


class PipeClosed(Exception):
    """Nobody reads our stdout any more."""


def run(args: Sequence[str]) -> int:
    """Runs one command line; never raises."""
    _mend_streams()
    try:
        code = _dispatch(list(args))
        sys.stdout.flush()
        return code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the edge: what nobody expected ends here
        return end_with(error)


def end_with(error: BaseException) -> int:
    """Says what happened, and answers the exit code of that."""
    if isinstance(error, (BrokenPipeError, PipeClosed)):
        _silence_stdout()
        return EXIT_DONE  # the reader has seen enough, as with `| head`
    if isinstance(error, OutlastError):
        return _end(tell, error, error.exit_code)
    if isinstance(error, KeyboardInterrupt):
        return _end(say, "interrupted", EXIT_INTERRUPTED)
    if isinstance(error, FileNotFoundError) and _nowhere():
        return _end(
            tell, NotFound("the directory that you stand in is gone", hint="`cd` to another one"), EXIT_NOT_FOUND
        )
    if isinstance(error, OSError) and error.errno in CODE_OF_ERRNO:
        return _end(_tell_machine, error, CODE_OF_ERRNO[error.errno])
    return _end(_tell_bug, error, EXIT_FAILED)


def _dispatch(args: list[str]) -> int:
    if args[:1] == ["jobs"] and set(args[1:]) <= {"--json", "--running"}:
        # The command that is typed most often, in the form in which it is: no parser is loaded for it, and of what a
        # list of a thousand jobs makes there is nothing to collect before it ends.
        import gc

        from outlast.cli.listing import list_all

        gc.disable()

        return list_all(running="--running" in args, as_json="--json" in args)
    if args[:2] == ["container", "build"]:
        from outlast.cli.container_again import build_changed

        known = build_changed(args)
        if known is not None:
            return known
    from outlast.cli.app import build

    code: object = build().main(args=args, prog_name="outlast", standalone_mode=False)
    return code if isinstance(code, int) else EXIT_DONE


def tell(error: OutlastError) -> None:
    """What failed; the state of things; after a blank line, what to type."""
    say(f"{paint('error:', 'red', sys.stderr)} {_lines(error.message)}")
    if error.state:
        say(f"  {_lines(error.state)}")
    if error.hint:
        say()
        say(f"{paint('hint:', 'blue', sys.stderr)} {_lines(error.hint)}")


def note(text: str) -> None:
    say(f"{paint('note:', 'yellow', sys.stderr)} {_lines(text)}")


def note_away(homes: Mapping[str, str]) -> None:
    """Homes that could not be read, and why: what is in them was not looked at."""
    for url, why in homes.items():
        note(f"home `{url}` could not be read: {why}")


def _lines(text: str) -> str:
    """Foreign words may stand in it: nothing in them is obeyed, and no line of theirs looks like one of ours."""
    return "\n  ".join(printable(line) for line in text.split("\n"))


def _tell_machine(error: OSError) -> None:
    where = f"`{os.fsdecode(error.filename)}`: " if isinstance(error.filename, (str, bytes)) else ""
    tell(OutlastError(f"{where}{error.strerror}"))


def _nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _tell_bug(error: BaseException) -> None:
    import traceback

    traceback.print_exception(error, file=sys.stderr)
    say()
    say(f"{paint('error:', 'red', sys.stderr)} this is a bug in outlast; a job that was submitted is not touched by it")
    say()
    say(f"{paint('hint:', 'blue', sys.stderr)} please report the lines above and the command that you typed")


def _end(tell_it: Callable[[Any], None], what: object, code: int) -> int:
    """Says it if anybody can be told; a second Ctrl-C at this point changes nothing."""
    try:
        tell_it(what)
        sys.stdout.flush()
    except (OSError, KeyboardInterrupt):
        _silence_stdout()
    return code


def _mend_streams() -> None:
    """A closed descriptor 0, 1 or 2 would be given to the next file opened, and our words would be written into it."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(descriptor)
        sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _silence_stdout() -> None:
    """What is still in the buffer must not be tried again, and complained about, at the interpreter's exit."""
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
    except (OSError, ValueError):
        pass
