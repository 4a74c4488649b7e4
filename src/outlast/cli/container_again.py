"""`outlast container build`, typed again with nothing changed: seen by stamps, and asked of the registry alone.

What is imported is most of what it takes: so as little as possible is, here and in what this imports.
"""

from __future__ import annotations

import json
import os
import sys

from outlast.clock import SYSTEM
from outlast.container.unchanged import COMMANDS, command_key, stamps_of
from outlast.errors import EXIT_DONE, OutlastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlast.container.unchanged import Stamps

looked: list[tuple[list[str], list[str], Stamps | None, int]] = []
"""Whoever builds after all need not look again: (roots, files, their stamps, when)."""

before: list[dict[str, Any]] = []
"""Nor read the words of the command, if whatever gives them their meaning is as it was."""


def build_again(arguments: list[str]) -> int | None:
    """The exit code; None: it must be built, as far as anybody can tell."""
    begun_at = SYSTEM.monotonic()
    try:
        known = _known(arguments)
        begun_ns = int(SYSTEM.now() * 1e9)
        stamps = stamps_of(known["roots"], known["files"])
        looked.append((known["roots"], known["files"], stamps, begun_ns))
        meant = known.get("before")
        if meant and [*(stamps_of((), meant["settings"]) or ())] == meant["settings_stamps"]:
            before.append(meant)
        later = stamps_of((), known["files_later"])
        if stamps is None or later is None or [stamps[0], later[0]] != known["digests"] or not _is_there(known):
            return None
        lines = [f"{known['said'][0]}: {known['layers']} layers, nothing to push", *known["said"][1:]]
        out = str(known["out"])
    except (OSError, KeyError, TypeError, ValueError, RecursionError, OutlastError):
        return None  # never built so before; or whoever builds says what is wrong
    milliseconds = (SYSTEM.monotonic() - begun_at) * 1000
    sys.stderr.write("".join(f"{line}\n" for line in (*lines, f"  in {milliseconds:.0f} ms: nothing has changed")))
    sys.stdout.write(out)
    return EXIT_DONE


def build_changed(arguments: list[str]) -> int | None:
    """The same command with other files, without its words being read again; None: they must be."""
    if not before:
        return None
    from contextlib import closing

    from outlast.container.ahead import Ahead

    known = before.pop()
    base = known["base"]
    # Most of what follows is imports: the registry is asked meanwhile.
    with closing(Ahead(known["host"], known["path"], tuple(base) if base else None, os.environ)) as registry:
        from outlast.cli.container_make import make_again

        return make_again(known["asked"], arguments, registry)


def _known(arguments: list[str]) -> dict[str, Any]:
    """As `container_observer` has written it down."""
    user_dir = os.environ.get("OUTLAST_DIR") or os.path.expanduser("~/.outlast")
    key = command_key(arguments, os.getcwd(), os.environ)
    with open(os.path.join(user_dir, "cache", "containers", COMMANDS, key), "rb") as file:
        known: dict[str, Any] = json.load(file)
    return known


def _is_there(known: dict[str, Any]) -> bool:
    """The image in its registry, and the base's tag where it was."""
    from outlast.container.presence import are_there

    image, base = known["image"], known["base"]
    wanted = [(image["host"], image["path"], one, image["digest"]) for one in image["wanted"]]
    if base["is_here"]:
        wanted.append((base["host"], base["path"], base["wanted"], base["digest"]))
    elif SYSTEM.now() >= base["until_at"]:
        return False
    return are_there(wanted)
