"""`outlast doctor`: is this computer fit for jobs?"""

from __future__ import annotations

import os
import sys

import click

from outlast.cli.app import Command
from outlast.cli.options import cloud_key_option, json_option
from outlast.cli.terminal import paint, put, put_json, say, shown
from outlast.cli.words import count
from outlast.errors import EXIT_DONE, EXIT_FAILED

COLOURS = {"good": "green", "warning": "yellow", "bad": "red"}


@click.command("doctor", cls=Command, short_help="Check whether this computer is fit for jobs.")
@cloud_key_option
@json_option
def command(as_json: bool) -> int:
    """Check disk, memory, Python, clock, limits, homes, and what is left of jobs that have ended.

    Beside each thing that is wrong stands the command that mends it. Exit code: 0, or 1 if something is bad.
    """
    from outlast.jobs.doctor import examine
    from outlast.jobs.finding import Health
    from outlast.jobs.world import system_world, user_directory

    user_directory(os.environ)
    findings = examine(system_world())
    wrong = [finding for finding in findings if finding.health is Health.BAD]
    if as_json:
        put_json(
            [
                {"check": one.check, "health": one.health.value, "fact": one.fact, "mend": one.mend or None}
                for one in findings
            ]
        )
    else:
        for one in findings:
            word = paint(f"{one.health.value:<7}", COLOURS[one.health.value], sys.stdout)
            put(f"{word}  {shown(one.check)}: {shown(one.fact)}")
            if one.mend:
                put(f"         `{shown(one.mend)}`")
        warnings = sum(finding.health is Health.WARNING for finding in findings)
        say(f"{count(len(findings), 'check')}: {len(wrong)} bad, {count(warnings, 'warning')}")
    return EXIT_FAILED if wrong else EXIT_DONE
