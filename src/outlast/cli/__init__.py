"""The command line: words in, words out."""

from __future__ import annotations

import os
import sys

GARBAGE_MAX = 100_000


EXIT_INTERRUPTED = 130
"""As in `errors`, which is not imported yet when it is needed here."""


def main() -> int:
    """The console script."""
    try:
        return _run()
    except KeyboardInterrupt:  # while modules were imported, before or behind what sees to it everywhere else
        os.write(2, b"interrupted\n")
        return EXIT_INTERRUPTED


def _run() -> int:
    """A help page is a file, and printing it imports nothing."""
    if sys.stdout is not None and sys.stderr is not None:
        try:
            if _is_printed(sys.argv[1:]):
                return 0
        except (OSError, KeyboardInterrupt) as error:
            from outlast.cli.edge import end_with

            return end_with(error)
    from outlast.cli.edge import run

    code = run(sys.argv[1:])
    if sys.argv[1:2] in (["jobs"], ["container"]):
        # Everything is out; taking a thousand jobs, or what was imported, to pieces, object by object, would take as long as the work.
        os._exit(code)
    return code


def _is_printed(args: list[str]) -> bool:
    """What can be answered without a parser of command lines."""
    page = _page(args)
    if page is not None:
        sys.stdout.write(page)
        sys.stdout.flush()
        return True
    if args[:2] != ["container", "build"] or "--json" in args:
        return False
    from outlast.cli.container_again import build_again

    if build_again(args) is None:
        import gc

        gc.set_threshold(
            GARBAGE_MAX
        )  # a build makes little of it, and looks for it with every fifth module that it imports
        return False
    sys.stdout.flush()
    os._exit(0)  # nothing is open


def _page(args: list[str]) -> str | None:
    """The generated page that these arguments ask for, if they ask for one and it is there."""
    if args in ([], ["help"]):
        args = ["--help"]
    if args[0] == "help" or args[-1] == "-h":
        args = [*args[1:], "--help"] if args[0] == "help" else [*args[:-1], "--help"]
    if args[-1] != "--help" or len(args) > 2:
        return None
    name = args[0] if len(args) == 2 else "outlast"
    if not name.isalpha() or not name.isascii():
        return None
    try:
        with open(f"{os.path.dirname(__file__)}/pages/{name}.txt", encoding="utf-8") as page:
            return page.read()
    except OSError:
        return None
