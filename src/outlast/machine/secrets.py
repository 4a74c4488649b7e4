"""What a launch's trainer is given that nobody may see: kept here by its submit, or asked of Secret Manager by the machine itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from outlast.clock import SYSTEM
from outlast.errors import Denied, OutlastError
from outlast.host import secrets as kept_secrets
from outlast.host.secrets import LaunchSecrets
from outlast.spec.notify import is_reference
from outlast.spec.secret_value import secret_text
from outlast.spec.secrets import BY_MACHINE, parse_reference
from outlast.spec.spec import Spec

if TYPE_CHECKING:
    from outlast.google.secrets import SecretApi

RIGHTS_SECONDS_MAX = 90.0
"""A right that was just granted takes Google a minute to know. Only machines of Google's wait for it: they have no other login."""

RIGHTS_PAUSE_SECONDS = 5.0


def bring(
    user_dir: Path, spec: Spec, launch_id: str, home: str, *, rights_seconds: float = 0.0
) -> LaunchSecrets | None:
    """All that is known of the launch's secrets, after asking for what only a machine can ask for. None: nothing.

    `rights_seconds`: for so long a machine of Google's waits for a right that it lacks. An error names the reference and never a value.
    What was asked for is kept beside the rest, and goes with the launch.
    """
    kept = kept_secrets.read_launch(user_dir, launch_id)
    variables = {name: one for name, one in spec.secrets.items() if _by_machine(one)}
    notify = [one for one in spec.notify if is_reference(one) and _by_machine(one)]
    have = kept or LaunchSecrets(home, spec.job)
    if variables.keys() <= have.variables.keys() and set(notify) <= have.notify.keys():
        return kept
    values = {reference: _read(reference, rights_seconds) for reference in {*variables.values(), *notify}}
    found = LaunchSecrets(
        home,
        spec.job,
        variables={**have.variables, **{name: values[reference] for name, reference in variables.items()}},
        notify={**have.notify, **{reference: values[reference] for reference in notify}},
    )
    kept_secrets.replace_launch(user_dir, launch_id, found)
    return found


def _by_machine(reference: str) -> bool:
    return parse_reference(reference, Path("/")).kind in BY_MACHINE


def _read(reference: str, rights_seconds: float) -> str:
    from outlast.google.connect import connect  # HTTP: most jobs keep no secret there
    from outlast.google.secrets import SecretApi

    manager = SecretApi(connect())
    by_machine = _of_machine(manager)
    until = SYSTEM.monotonic() + (rights_seconds if by_machine else 0.0)
    while True:
        try:
            return secret_text(_access(manager, reference), reference)
        except Denied as error:
            if SYSTEM.monotonic() >= until:
                # A home that denies something is waited for; this is no home, and nobody is waited for.
                raise OutlastError(error.message, hint=error.hint) from error
            if by_machine:
                _complain(error)
        SYSTEM.sleep(RIGHTS_PAUSE_SECONDS)


def _complain(error: Denied) -> None:
    from outlast.machine.complaint import complaint

    complaint()(error.message)


def _of_machine(manager: SecretApi) -> bool:
    from outlast.google.auth.metadata import HOST, MetadataCredentials

    credentials = manager.transport.credentials
    return isinstance(credentials, MetadataCredentials) and credentials.host == HOST


def _access(manager: SecretApi, reference: str) -> bytes:
    from outlast.google.errors import ApiError
    from outlast.google.wire import NoAnswer

    name = parse_reference(reference, Path("/")).what
    try:
        return manager.access(name)
    except (ApiError, NoAnswer) as error:
        explained = manager.transport.explain(error, f"secret `{reference}`")
        if isinstance(explained, Denied):
            project, secret = name.split("/")[1], name.split("/")[3]
            explained.hint = (
                f"`outlast secret set {secret} --on compute` grants it to machines; or `gcloud secrets add-iam-policy-binding "
                f"{secret} --project={project} --member=serviceAccount:MACHINE --role=roles/secretmanager.secretAccessor`"
            )
        raise explained from error
