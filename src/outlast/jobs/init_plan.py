"""What a project needs before its first job, in the order in which it is made."""

from __future__ import annotations

import shlex

from outlast.clock import Clock
from outlast.errors import Denied
from outlast.google.bucket_access import BucketAccess
from outlast.google.errors import ApiError, is_off
from outlast.google.project_apis import ProjectApis
from outlast.google.transport import Transport
from outlast.google.wire import NoAnswer
from outlast.jobs import roles
from outlast.jobs.init_bindings import Bindings
from outlast.jobs.init_bucket import bucket_step
from outlast.jobs.init_firewall import firewall_step
from outlast.jobs.init_step import Setup, Step

APIS = (
    "aiplatform.googleapis.com",
    "artifactregistry.googleapis.com",
    "cloudbilling.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "compute.googleapis.com",
    "iam.googleapis.com",
    "logging.googleapis.com",
    "secretmanager.googleapis.com",
    "storage.googleapis.com",
)
IAP_API = "iap.googleapis.com"

ENABLE_SECONDS_MAX = 180.0
ENABLE_PAUSE_SECONDS = 2.0
LISTED_MAX = 3


class Planner:
    """`transport` is to Google, or to the emulator; nothing is asked of it before a step is."""

    def __init__(self, setup: Setup, transport: Transport, clock: Clock) -> None:
        self.setup = setup
        self.apis = ProjectApis(transport, setup.project)
        self.transport = transport
        self.clock = clock
        self.runner = self.apis.account_email(roles.RUNNER_ACCOUNT)

    def steps(self, *, all_roles: bool = False) -> list[Step]:
        """`all_roles`: also the one that only members need."""
        runner = f"serviceAccount:{self.runner}"
        bind = Bindings(self.apis, BucketAccess(self.transport, self.setup.bucket), self.runner)
        steps = [
            self._apis_step(),
            self._project_step(),
            bucket_step(self.setup, self.transport),
            self._role_step(roles.RUNNER_ROLE, "outlast: a machine", roles.RUNNER_PERMISSIONS),
            self._account_step(),
            bind.in_project(self.apis.role_name(roles.RUNNER_ROLE), runner),
            bind.in_bucket(roles.RUNNER_BUCKET_ROLE, runner),
        ]
        if self.setup.members or all_roles:
            steps.append(self._role_step(roles.USER_ROLE, "outlast: runs jobs", roles.USER_ROLE_PERMISSIONS))
        for member in self.setup.members:
            steps.append(bind.in_project(self.apis.role_name(roles.USER_ROLE), member))
            steps += [bind.in_bucket(role, member) for role in roles.USER_BUCKET_ROLES]
            steps.append(bind.to_act(member))
        if self.setup.ssh:
            steps.append(firewall_step(self.setup, self.transport, self.runner))
            steps += [bind.in_project(roles.TUNNEL_ROLE, member) for member in self.setup.members]
        return steps

    # Each step.

    def _apis_step(self) -> Step:
        names = (*APIS, IAP_API) if self.setup.ssh else APIS

        def make() -> None:
            operation = self.apis.enable(names)
            until = self.clock.monotonic() + ENABLE_SECONDS_MAX
            while not operation.get("done"):
                if self.clock.monotonic() > until:
                    raise Denied(
                        f"the APIs of project `{self.setup.project}` are not on after {ENABLE_SECONDS_MAX:.0f} s",
                        hint="`outlast init` again goes on from here",
                    )
                self.clock.sleep(ENABLE_PAUSE_SECONDS)
                operation = self.apis.operation(str(operation["name"]))
            if error := operation.get("error"):
                raise Denied(f"the APIs cannot be switched on: {error.get('message', 'no reason was given')}")

        return Step(
            "apis",
            f"{', '.join(name.partition('.')[0] for name in names)} are on in project `{self.setup.project}`",
            lambda: self.apis.enabled(names) == set(names),
            make,
            (f"gcloud services enable {' '.join(names)} --project={self.setup.project}",),
            settles=True,
        )

    def _project_step(self) -> Step:
        """Nothing that outlast could make: it is there and active, or somebody must see to it."""

        def is_there() -> bool:
            state = self.apis.get_project().get("lifecycleState")
            if state != "ACTIVE":
                raise Denied(
                    f"project `{self.setup.project}` is {str(state).lower().replace('_', ' ')}",
                    hint=f"`gcloud projects undelete {self.setup.project}`, or another `--project`",
                )
            return True

        return Step("project", f"project `{self.setup.project}` is active", is_there, lambda: None)

    def _role_step(self, role: str, title: str, permissions: tuple[str, ...]) -> Step:
        described = {"title": title, "includedPermissions": sorted(permissions), "stage": "GA"}

        def is_there() -> bool:
            found = self.apis.find_role(role)
            held = set((found or {}).get("includedPermissions", ()))
            return found is not None and not found.get("deleted") and held == set(permissions)

        def make() -> None:
            found = self.apis.find_role(role)
            if found is None and self.apis.create_role(role, described):
                return
            if found is not None and found.get("deleted"):
                self.apis.undelete_role(role)  # the name is taken for a week after a deletion
            self.apis.change_role(role, described)

        def undo() -> str:
            found = self.apis.find_role(role)
            if found is None or found.get("deleted"):
                return ""
            self.apis.delete_role(role)
            return f"role `{role}` was deleted"

        named = f"{role} --project={self.setup.project}"
        listed = ",".join(sorted(permissions))
        create = f"gcloud iam roles create {named} --title={shlex.quote(title)} --stage=GA --permissions={listed}"
        return Step(
            "role",
            f"role `{role}` permits {_listed(permissions)}",
            is_there,
            make,
            (
                f"{create} || gcloud iam roles update {named} --permissions={listed}",
            ),  # of an older version's it has others
            undo,
            (f"gcloud iam roles delete {named}",),
            f"role `{role}` is deleted",
        )

    def _account_step(self) -> Step:
        def make() -> None:
            self.apis.create_account(roles.RUNNER_ACCOUNT, "outlast", "Machines that outlast rents run as this")

        def undo() -> str:
            return f"service account `{self.runner}` was deleted" if self.apis.delete_account(self.runner) else ""

        project = f"--project={self.setup.project}"
        return Step(
            "account",
            f"service account `{self.runner}` is there",
            lambda: self.apis.find_account(self.runner) is not None,
            make,
            (f"gcloud iam service-accounts create {roles.RUNNER_ACCOUNT} --display-name=outlast {project}",),
            undo,
            (f"gcloud iam service-accounts delete {self.runner} {project} --quiet",),
            f"service account `{self.runner}` is deleted",
            settles=True,
        )


def members_of(transport: Transport, project: str) -> list[str]:
    """Who was let in by an earlier init."""
    apis = ProjectApis(transport, project)
    try:
        return apis.members(apis.role_name(roles.USER_ROLE))
    except (ApiError, NoAnswer) as error:
        if isinstance(error, ApiError) and is_off(error):
            return []
        raise transport.explain(error, f"the bindings of project `{project}`") from error


def _listed(permissions: tuple[str, ...]) -> str:
    """By their names while that can be read."""
    return (
        ", ".join(f"`{one}`" for one in permissions) if len(permissions) <= LISTED_MAX else f"{len(permissions)} things"
    )
