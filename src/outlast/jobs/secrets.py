"""Secrets of a job: read where the user said, kept for its machines outside of any home, forgotten when it ends."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from outlast.engines.engine import Engine
from outlast.errors import Denied, KeyMissing, NotFound, OutlastError, UsageError
from outlast.host import secrets as kept
from outlast.host.secrets import LaunchSecrets
from outlast.jobs.job import Job
from outlast.jobs.world import World
from outlast.spec.environment import VALUE_BYTES_MAX
from outlast.spec.notify import is_reference
from outlast.spec.plain_file import read_plain
from outlast.spec.secret_value import check_value, secret_text
from outlast.spec.secrets import BY_MACHINE, KINDS, ON_THIS_COMPUTER, Reference, check_secret, parse_reference
from outlast.spec.spec import Spec

YOUNG_SECONDS = 3600.0
"""No submit takes so long from its launch to its head."""

NOTHING_STARTED = "nothing was started, nothing is being spent"


def checked(asked: Mapping[str, str], env: Mapping[str, str], directory: Path, engine: Engine) -> dict[str, str]:
    """Variable -> reference, as the spec holds it: one in Secret Manager by the number of its version."""
    references = dict(check_secret(name, reference, directory) for name, reference in asked.items())
    for name in references.keys() & env.keys():
        raise UsageError(f"`{name}` is given twice: by `--env` and by `--secret`", hint="leave one of them out")
    for name, reference in references.items():
        check_reach(parse_reference(reference, directory), f"--secret {name}", engine)
    return {name: pinned(reference) for name, reference in references.items()}


def check_reach(reference: Reference, option: str, engine: Engine) -> None:
    if reference.kind in ON_THIS_COMPUTER and not engine.capabilities.same_machine:
        raise UsageError(
            f"`{option}`: machines of `{engine.name}` cannot be given what is read on this computer",
            hint=f"`outlast secret set NAME --on {engine.name}` keeps it where they can read it, and says what to write instead: "
            "`sm:projects/PROJECT/secrets/NAME`; or run here with `--on local`",
        )


def read_values(world: World, references: Iterable[str]) -> dict[str, str]:
    """Reference -> value, now, of those that are read here. An error names the reference, never what was found there."""
    parsed = {text: parse_reference(text, Path("/")) for text in sorted(set(references))}
    return {text: _read(world, reference) for text, reference in parsed.items() if reference.kind in ON_THIS_COMPUTER}


def _read(world: World, reference: Reference) -> str:
    return check_value(_found(world, reference), reference, NOTHING_STARTED)


def _found(world: World, reference: Reference) -> str:
    if reference.kind == "env":
        value = world.environ.get(reference.what)
        if not value:
            raise NotFound(
                f"`{reference}`: there is no such variable here",
                state=NOTHING_STARTED,
                hint=f"`export {reference.what}=...`, or `outlast secret set {reference.what}` "
                f"and `secret:{reference.what}`",
            )
        return value
    if reference.kind == "secret":
        data = kept.read_kept(world.secrets_of, reference.what)
        if data is None:
            known = ", ".join(f"`{name}`" for name in kept.names_kept(world.secrets_of)) or "none"
            raise NotFound(
                f"`{reference}`: there is no such secret; there are {known}",
                state=NOTHING_STARTED,
                hint=f"`outlast secret set {reference.what}`",
            )
        return secret_text(data, reference, NOTHING_STARTED)
    assert reference.kind == "file", KINDS
    try:
        return secret_text(read_plain(Path(reference.what), VALUE_BYTES_MAX + 2), reference, NOTHING_STARTED)
    except FileNotFoundError:
        raise NotFound(f"`{reference}`: there is no such file", state=NOTHING_STARTED) from None
    except OSError as error:
        raise Denied(
            f"`{reference}` cannot be read: {os.strerror(error.errno or 0)}",
            state=NOTHING_STARTED,
            hint=f"`ls -l {reference.what}`",
        ) from None


def keep_for(world: World, job: Job, spec: Spec, launch_id: str, known: Mapping[str, str]) -> None:
    """Before head names the launch. `known`: what a plan has just read; a submit that finds another's spec reads what that says."""
    references = {one for one in (*spec.secrets.values(), *notify_references(spec)) if not is_by_machine(one)}
    if not references or kept.read_launch(world.user_dir, launch_id) is not None:
        return
    values = known if references <= known.keys() else read_values(world, references)
    kept.put_launch(
        world.user_dir,
        launch_id,
        LaunchSecrets(
            home=job.home.url,
            job=job.id,
            variables={name: values[one] for name, one in spec.secrets.items() if one in references},
            notify={one: values[one] for one in notify_references(spec) if one in references},
        ),
    )


def pinned(reference: str) -> str:
    """What machines ask for is named so that all of them get the same; anything else is as it was."""
    if not is_by_machine(reference):
        return reference
    from outlast.jobs.cloud_secrets import pinned_version  # HTTP: most jobs keep no secret there

    return pinned_version(reference)


def is_by_machine(reference: str) -> bool:
    return parse_reference(reference, Path("/")).kind in BY_MACHINE


def notify_references(spec: Spec) -> list[str]:
    return [one for one in spec.notify if is_reference(one)]


def secrets_unneeded(world: World) -> Iterator[Path]:
    """What launches were given that have ended without a word, or whose job or home is gone. A home that is only away keeps its own."""
    for launch_id, launch in kept.launches(world.user_dir):
        path = kept.launch_path(world.user_dir, launch_id)
        if world.clock.now() - path.stat().st_mtime < YOUNG_SECONDS:
            continue  # a submit or a resume may be on its way to the head that names it
        try:
            head = Job.of(world.home(launch.home), launch.job).folder.read_head().head
        except KeyMissing:
            head = None
        except OutlastError:
            continue
        if head is None or head.launch_id != launch_id or head.state.final:
            yield path


def forget(world: World, spec: Spec, launch_id: str) -> None:
    """Its machine does it too; whoever ends a launch without one has to."""
    if spec.secrets or spec.notify:
        kept.forget_launch(world.user_dir, launch_id)
