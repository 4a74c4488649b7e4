"""Who may do what: the bindings that `outlast init` makes, and no others."""

from __future__ import annotations

from collections.abc import Callable

from outlast.google.bucket_access import BucketAccess
from outlast.google.errors import ApiError
from outlast.google.project_apis import ProjectApis
from outlast.jobs import roles
from outlast.jobs.init_step import Step


class Bindings:
    def __init__(self, apis: ProjectApis, access: BucketAccess, runner: str) -> None:
        self.apis = apis
        self.access = access
        self.runner = runner

    def in_project(self, role: str, member: str) -> Step:
        words = f"--member={member} --role={role} --condition=None"
        return Step(
            "binding",
            f"`{member}` has `{role}` in the project",
            lambda: self.apis.has_role(role, member),
            lambda: _done(self.apis.bind(role, member)),
            (f"gcloud projects add-iam-policy-binding {self.apis.project} {words}",),
            lambda: f"`{member}` lost `{role}`" if self.apis.bind(role, member, bound=False) else "",
            (f"gcloud projects remove-iam-policy-binding {self.apis.project} {words}",),
            f"`{member}` loses `{role}`",
        )

    def in_bucket(self, role: str, member: str) -> Step:
        def is_there() -> bool:
            return _unless_gone(lambda: self.access.has_role(role, member))

        def undo() -> str:
            gone = _unless_gone(lambda: self.access.bind(role, member, bound=False))
            return f"`{member}` lost `{role}` in bucket `{self.access.bucket}`" if gone else ""

        words = f"--member={member} --role={role}"
        return Step(
            "binding",
            f"`{member}` has `{role}` in bucket `{self.access.bucket}`",
            is_there,
            lambda: _done(self.access.bind(role, member)),
            (f"gcloud storage buckets add-iam-policy-binding gs://{self.access.bucket} {words}",),
            undo,
            (f"gcloud storage buckets remove-iam-policy-binding gs://{self.access.bucket} {words}",),
            f"`{member}` loses `{role}` in bucket `{self.access.bucket}`",
            of_bucket=True,
        )

    def to_act(self, member: str) -> Step:
        role = roles.ACT_AS_ROLE

        def undo() -> str:
            gone = _unless_gone(lambda: self.apis.bind_account(self.runner, role, member, bound=False))
            return f"`{member}` may not act as `{self.runner}` any more" if gone else ""

        words = f"{self.runner} --member={member} --role={role} --project={self.apis.project}"
        return Step(
            "binding",
            f"`{member}` may start machines as `{self.runner}`",
            lambda: _unless_gone(lambda: self.apis.account_has_role(self.runner, role, member)),
            lambda: _done(self.apis.bind_account(self.runner, role, member)),
            (f"gcloud iam service-accounts add-iam-policy-binding {words}",),
            undo,
            (f"gcloud iam service-accounts remove-iam-policy-binding {words}",),
            f"`{member}` may no longer act as `{self.runner}`",
        )


def _done(changed: bool) -> None:
    """Whether it changed anything is nothing to a step: it is there now."""


def _unless_gone(call: Callable[[], bool]) -> bool:
    """Nobody has a role on what is not there."""
    try:
        return call()
    except ApiError as error:
        if error.status == 404:
            return False
        raise
