"""`outlast init`: a project that is ready for jobs, and the file that says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.confirm import confirmed
from outlast.cli.options import Value, cloud_key_option, json_option
from outlast.cli.setting_option import setting_option
from outlast.cli.terminal import put, put_json, say, shown
from outlast.cli.words import count
from outlast.errors import EXIT_DONE, EXIT_INTERRUPTED, UsageError

if TYPE_CHECKING:
    from outlast.jobs.init import Initializer, Looked
    from outlast.jobs.init_step import Setup
    from outlast.jobs.world import World

KINDS = ("user", "group", "serviceAccount", "domain", "principal", "principalSet")


def _member(text: str) -> str:
    kind, colon, rest = text.partition(":")
    if colon and rest and kind in KINDS and not any(letter.isspace() for letter in text):
        return text
    if not colon and "@" in text and not any(letter.isspace() for letter in text):
        return f"user:{text}"
    raise ValueError


MEMBER = Value("member", _member, "somebody, such as `ann@example.com` or `group:lab@example.com`")


@click.command("init", cls=Command, short_help="Make a Google Cloud project ready for jobs.")
@setting_option("project", "PROJECT", "The project that pays; gcloud's if not said.")
@setting_option("region", "REGION", "Where bucket and machines are; `us-central1` if not said.")
@setting_option("bucket", "NAME", "The bucket of the home; one with a new name is made if not said.")
@click.option("--member", "members", type=MEMBER, multiple=True, metavar="WHO", help="Let WHO run jobs; repeatable.")
@click.option("--ssh", is_flag=True, help="Let `outlast ssh` in: one firewall rule, for Google's tunnel only.")
@setting_option("network", "NAME", "The network of the machines; `default` if not said.")
@cloud_key_option
@click.option("--check/--no-check", default=True, help="Prove it with a tiny job; the default.")
@click.option("--dry-run", is_flag=True, help="Say what is there and what would be made; make nothing.")
@click.option(
    "--print", "as_script", is_flag=True, help="Print the commands for somebody with more rights; ask nobody."
)
@click.option("--undo", is_flag=True, help="Take away what init has made. A bucket with data in it stays.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@json_option
def command(
    members: tuple[str, ...],
    ssh: bool,
    check: bool,
    dry_run: bool,
    as_script: bool,
    undo: bool,
    yes: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Make a project ready for `outlast run --on compute`: APIs, a bucket, the service account `outlast-runner` with a small role of
    its own, and `outlast.toml` here.

    What is there already stays as it is: the command can be run any number of times, and after any failure it goes on where it ended.
    """
    from outlast.jobs.world import system_world

    if as_script and (dry_run or yes or as_json):
        raise UsageError(
            "`--print` only prints: it goes with `--undo` and no other of these", hint="`outlast init --print`"
        )
    world = system_world(make=not dry_run)
    setup, initializer = _planned(world, flags, members, ssh=ssh, asking=not as_script, undo=undo)
    if as_script:
        from outlast.jobs.init import script

        for line in script(initializer.steps, undo=undo):
            put(line)
        return EXIT_DONE
    if undo:
        return _undo(initializer, setup, dry_run=dry_run, yes=yes, as_json=as_json)
    looked = list(initializer.look())
    missing = [one for one in looked if not one.there]
    if dry_run or not missing:
        return _shown(looked, setup, dry_run=dry_run, as_json=as_json)
    for one in missing:
        say(f"  to make: {shown(one.step.wanted)}")
    question = f"Make {count(len(missing), 'thing')} in project `{setup.project}`"
    if not confirmed(question, yes=yes, state="nothing was made"):
        say("nothing was made")
        return EXIT_INTERRUPTED
    made = []
    for one in initializer.make():
        made.append(one)
        if not one.there:
            say(f"{shown(one.step.wanted)}")
    if check:
        _check(world, setup)
    say(f"project `{setup.project}` is ready: `outlast run --on compute SCRIPT`")
    if as_json:
        _put(made)
    return EXIT_DONE


def _planned(
    world: World, flags: dict[str, Any], members: tuple[str, ...], *, ssh: bool, asking: bool, undo: bool
) -> tuple[Setup, Initializer]:
    from outlast.jobs.cloud import cloud_of
    from outlast.jobs.init import Initializer
    from outlast.jobs.init_bucket import choose_bucket, printed_name
    from outlast.jobs.init_file import file_step
    from outlast.jobs.init_plan import Planner, members_of
    from outlast.jobs.init_step import Setup

    cloud = cloud_of(world, flags)
    if asking:
        bucket = choose_bucket(cloud.transport, cloud.project, cloud.region, cloud.bucket, world.random)
    else:
        bucket = cloud.bucket or printed_name(world.user_dir, cloud.project, cloud.region, world.random)
    if undo and asking:
        members = (*members, *members_of(cloud.transport, cloud.project))
    setup = Setup(cloud.project, cloud.region, bucket, tuple(dict.fromkeys(members)), ssh or undo, cloud.network)
    planner = Planner(setup, cloud.transport, world.clock)
    file = file_step(setup, Path.cwd(), world.user_dir)
    # The file comes last: by what it says, whoever undoes after a death finds the rest.
    steps = [file, *planner.steps(all_roles=True)] if undo else [*planner.steps(), file]
    return setup, Initializer(steps, cloud.transport, world.clock)


def _shown(looked: list[Looked], setup: Setup, *, dry_run: bool, as_json: bool) -> int:
    missing = [one for one in looked if not one.there]
    if as_json:
        _put(looked)
    elif dry_run:
        for one in looked:
            put(f"{'there' if one.there else 'to make':<8} {shown(one.step.wanted)}")
    say(
        f"{count(len(missing), 'thing')} would be made in project `{setup.project}`; nothing was"
        if missing
        else f"project `{setup.project}` is ready, nothing is to be made: `outlast run --on compute SCRIPT`"
    )
    return EXIT_DONE


def _undo(initializer: Initializer, setup: Setup, *, dry_run: bool, yes: bool, as_json: bool) -> int:
    there = [one.step for one in initializer.look() if one.there and one.step.undone]
    if dry_run or not there:
        for step in () if as_json else reversed(there):
            put(shown(step.undone))
        say(f"{count(len(there), 'thing')} of outlast's in project `{setup.project}`; nothing was taken away")
    elif confirmed(f"Take away {count(len(there), 'thing')} in project `{setup.project}`", yes=yes):
        for said in initializer.undo():
            say(shown(said))
        say("the APIs stay on: others may use them")
    else:
        say("nothing was removed")
        return EXIT_INTERRUPTED
    if as_json:
        put_json({"undone": [step.undone for step in there]})
    return EXIT_DONE


def _check(world: World, setup: Setup) -> None:
    from outlast.jobs.init_check import check_by_job

    say("a tiny job proves it: the smallest machine there is, for a few minutes")
    say(check_by_job(world, setup))


def _put(looked: list[Looked]) -> None:
    put_json([{"name": one.step.name, "wanted": one.step.wanted, "there": one.there} for one in looked])
