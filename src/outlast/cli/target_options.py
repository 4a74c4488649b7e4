"""The options of a command that takes a target, and the request that they make."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.container_options import container_flags, container_options, containing
from outlast.cli.data_options import data_asked, data_options
from outlast.cli.environment_options import environment_asked, environment_flags, environment_options
from outlast.cli.options import cloud_key_option
from outlast.cli.rent_options import rent_asked, rent_flags, rent_options
from outlast.cli.setting_option import setting_option
from outlast.cli.vertex_options import managing, vertex_options
from outlast.errors import UsageError

if TYPE_CHECKING:
    from outlast.jobs.asked import Asked
    from outlast.jobs.world import World

OLDER_NAMES = {
    "resume": "from",
    "gpu-spec": "gpus",
    "labels": "label",
    "project-id": "project",
    "docker-run-args": "container-args",
    "image-id": "image-tag",
}
"""What seasoned hands type; see DESIGN: one name each, older names as hidden aliases."""

SETTINGS = (
    "on",
    "home",
    "bucket",
    "project",
    "cpus",
    "gpus",
    "retries",
    "max-run",
    "stall",
    "checkpoint-dir",
    "output-dir",
    "resume-args",
    "notify",
)
"""Options whose value may also come from a variable or a file (see `outlast config`)."""


def machine_options(callback: Callable[..., Any]) -> Callable[..., Any]:
    """What `run` and `drill` have in common."""
    for option in reversed(
        (
            setting_option("on", "ENGINE", "Where to run; `local` is this machine."),
            setting_option("home", "URL", "The home that keeps the job: a directory, or `gs://BUCKET`."),
            setting_option("bucket", "NAME", "The same as `--home gs://NAME`; made if it is not there."),
            setting_option("project", "PROJECT", "The Google Cloud project that pays; gcloud's if not said."),
            cloud_key_option,
            setting_option("cpus", "N", "CPUs that it may use; 1 if not said, 8 where machines are rented."),
            setting_option(
                "gpus", "GPUS", "GPUs that it may use: `2`, and where rented `L4` or `4xA100`; 0 if not said."
            ),
            click.option("--env", "env", multiple=True, metavar="K=V", help="A variable for the trainer; repeatable."),
            click.option(
                "--env-plain",
                "env_plain",
                multiple=True,
                metavar="K=V",
                help="The same, although it looks like a secret.",
            ),
            click.option(
                "--secret",
                "secrets",
                multiple=True,
                metavar="NAME=REF",
                help="A variable whose value is kept nowhere: `env:VAR`, `file:PATH`, `secret:NAME` or `sm:...`; repeatable.",
            ),
            click.option(
                "--notify",
                "notify",
                multiple=True,
                metavar="COMMAND|URL",
                help="Whom to tell of its end, of a failure, of a stall; repeatable.",
            ),
            click.option(
                "--dir", "-d", "dirs", multiple=True, metavar="DIR", help="Ship this directory too; repeatable."
            ),
            setting_option(
                "checkpoint-dir", "DIR", "Where a script that does not use the library keeps its checkpoints."
            ),
            setting_option("output-dir", "DIR", "Where such a script writes its results."),
            setting_option("resume-args", "WORDS", "Arguments added when an attempt begins with a checkpoint."),
        )
    ):
        callback = option(callback)
    return environment_options(container_options(data_options(rent_options(vertex_options(callback)))))


def asked(world: World, target: str, given: dict[str, Any]) -> Asked:
    """The request: flags, then variables, files and defaults."""
    from outlast.jobs.asked import Asked
    from outlast.spec.environment import parse_env, parse_env_plain
    from outlast.spec.load import home_of, load
    from outlast.spec.names import check_job_id, check_label, check_name
    from outlast.spec.secrets import parse_secret

    directory = Path.cwd()
    flags = {name: given.get(name.replace("-", "_")) for name in SETTINGS}
    flags["labels"] = dict(check_label(label) for label in given.get("labels", ()))
    flags["env"] = dict(
        [*map(parse_env, given.get("env", ())), *map(parse_env_plain, given.get("env_plain", ()))],
    )
    flags |= environment_flags(given) | rent_flags(given) | container_flags(given)
    settings = load(flags, world.environ, directory, world.user_dir / "config.toml")
    request = Asked(
        target=target,
        args=tuple(given["args"]),
        directory=str(directory),
        extra_dirs=tuple(_directory(one) for one in given.get("dirs", ())),
        on=settings["on"],
        name=check_name(given["name"]) if given.get("name") is not None else None,
        job_id=check_job_id(given["job_id"]) if given.get("job_id") is not None else None,
        labels=settings["labels"],
        env=settings["env"],
        home=home_of(settings),
        project=settings["project"],
        cpus=settings["cpus"] if settings.source("cpus") != "default" else None,
        gpus=0 if given.get("nogpu") and given.get("gpus") is None else settings["gpus"],
        retries=settings["retries"],
        max_run_seconds=settings["max-run"],
        stall_seconds=settings["stall"],
        checkpoint_dir=settings["checkpoint-dir"],
        output_dir=settings["output-dir"],
        resume_args=settings["resume-args"],
        from_job=_from_job(world, given.get("from_job")),
        continue_steps=bool(given.get("continue_steps")),
        notify=tuple(settings["notify"]),
        secrets=dict(parse_secret(one, directory) for one in given.get("secrets", ())),
        managed=managing(given),
        **rent_asked(settings, given),
        container=containing(world, settings, given),
        **environment_asked(settings),
        **data_asked(given),
    ).of_image()
    if not given.get("shell"):
        return request
    from outlast.cli.shell_option import as_shell

    return as_shell(request, settings)


def _from_job(world: World, text: str | None) -> str:
    """By its whole name: a prefix that is unique today may not be tomorrow."""
    if text is None:
        return ""
    from outlast.jobs.adopt import split_source
    from outlast.jobs.find import find

    job, checkpoint = split_source(text)
    found = find(world, job)
    named = found.folder_url if "/" in job else found.id
    return f"{named}@{checkpoint}" if checkpoint else named


def _directory(path: str) -> str:
    if not os.path.isdir(path):
        raise UsageError(
            f"`--dir {path}`: there is no such directory", hint="`--dir` ships a directory beside this one"
        )
    return path
