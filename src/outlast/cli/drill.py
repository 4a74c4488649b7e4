"""`outlast drill`: does this training survive the death of its machine?"""

from __future__ import annotations

import sys
from typing import Any

import click

from outlast.cli.app import TargetCommand
from outlast.cli.options import DURATION, NUMBER, json_option, whole
from outlast.cli.progress import shown_progress
from outlast.cli.target_options import OLDER_NAMES, asked, machine_options
from outlast.cli.terminal import put, put_json, say, shown
from outlast.dataclass import replace
from outlast.errors import UsageError

SEED_MAX = 2**32 - 1


class DrillCommand(TargetCommand):
    behind = True
    instead = "--like"


@click.command(
    "drill",
    cls=DrillCommand,
    short_help="Kill a training on purpose, and see whether it survives.",
    aliases=OLDER_NAMES,
)
@click.argument("target", required=False, default="")
@click.option("--kills", type=whole(1, 100), default=3, metavar="N", help="How often to kill it; 3 if not said.")
@click.option(
    "--seed", type=whole(0, SEED_MAX), metavar="S", help="The moments of the kills; random if not said, and printed."
)
@click.option(
    "--steps", type=whole(1), metavar="N", help="Let every `outlast.steps` end here, so that a long training is short."
)
@click.option("--for", "seconds", type=DURATION, metavar="DURATION", help="As many steps as take about this long.")
@click.option("--compare", multiple=True, metavar="GLOB", help="Compare these files only; repeatable.")
@click.option("--ignore", multiple=True, metavar="GLOB", help="Leave these files out of the comparison; repeatable.")
@click.option("--tolerance", type=NUMBER, metavar="X", help="Let numbers differ by this much, relative to their size.")
@click.option("--like", metavar="JOB", help="Drill what that job was submitted with; TARGET may be left out then.")
@machine_options
@json_option
def command(target: str, as_json: bool, **given: Any) -> int:
    """Train TARGET once in peace and once with its machine killed, and compare what comes out.

    There is at least one kill after the first checkpoint, one in the middle of a save, and one without notice. Final
    checkpoint and outputs are compared by content. Exit code: 0 survived, 1 not survived, 2 too short to be drilled.
    """
    from outlast.jobs.drill import drill
    from outlast.jobs.world import system_world

    if not target and not given["like"]:
        raise UsageError("no target was given", hint="`outlast drill train.py`, or `outlast drill --like JOB`")
    world = system_world()
    chosen = {
        name: given.pop(name)
        for name in ("kills", "seed", "steps", "seconds", "compare", "ignore", "tolerance", "like")
    }
    request = asked(world, target, given)
    if not target:
        request = replace(request, directory=".")  # where that job was submitted, wherever this is typed
    progress = shown_progress()
    with progress as on_progress:
        result = drill(
            world,
            request,
            report=lambda line: progress.above(lambda: say(shown(line)) if as_json else _put_at_once(line)),
            on_progress=on_progress,
            **chosen,
        )
    if as_json:
        put_json(result.document())
    return result.exit_code


def _put_at_once(line: str) -> None:
    """The report is what this command is for, and somebody may be waiting for its next line."""
    put(shown(line))
    sys.stdout.flush()
