"""`outlast doctor`: is this computer fit for jobs?"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.options import cloud_key_option, json_option
from outlast.cli.setting_option import setting_option
from outlast.cli.terminal import paint, put, put_json, say, shown
from outlast.cli.words import count
from outlast.errors import EXIT_DONE, EXIT_FAILED, UsageError

if TYPE_CHECKING:
    from outlast.jobs.finding import Finding
    from outlast.jobs.world import World

COLOURS = {"good": "green", "warning": "yellow", "bad": "red"}


@click.command("doctor", cls=Command, short_help="Check whether this computer is fit for jobs.")
@click.option(
    "--on",
    "engine",
    metavar="ENGINE",
    help="Check the place where this engine's machines are, instead of this computer.",
)
@click.option("--fix", is_flag=True, help="With an engine that rents machines: mend what can be mended from here.")
@setting_option("project", "PROJECT", "The project to look at; gcloud's if not said.")
@setting_option("region", "REGION", "The region to look at; `us-central1` if not said.")
@setting_option("bucket", "NAME", "The bucket to look at; that of your home if not said.")
@setting_option("network", "NAME", "The network to look at; `default` if not said.")
@cloud_key_option
@json_option
def command(engine: str | None, fix: bool, as_json: bool, **flags: Any) -> int:
    """Check disk, memory, Python, clock, limits, homes, and what is left of jobs that have ended.

    With `--on compute`: login, project, APIs, roles and rights, quotas, bucket, network, ways out of it, and the clock. With
    `--on vertex` the same, with Vertex AI's own quotas, and of networks only one that is named.

    Beside each thing that is wrong stands the command that mends it. Exit code: 0, or 1 if something is bad.
    """
    from outlast.jobs.finding import Health
    from outlast.jobs.world import system_world, user_directory

    user_directory(os.environ)
    world = system_world()
    findings = _examined(world, engine, flags, fix=fix)
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


def _examined(world: World, engine: str | None, flags: dict[str, Any], *, fix: bool) -> list[Finding]:
    if engine is not None and world.engine(engine).capabilities.rents:
        from outlast.jobs.doctor_cloud import diagnose, mend

        for mended in mend(world, flags) if fix else ():
            say(f"mended: {shown(mended)}")
        contained = world.engine(engine).capabilities.contained
        return [diagnosis.finding for diagnosis in diagnose(world, flags, contained=contained)]
    given = [f"--{name}" for name, value in {**flags, "fix": fix or None}.items() if value is not None]
    if given:
        raise UsageError(
            f"`{given[0]}` is about rented machines, and this is a look at this computer",
            hint="add `--on compute`",
        )
    from outlast.jobs.doctor import examine

    return examine(world)
