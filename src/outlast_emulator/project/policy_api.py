"""Resource Manager: the project itself, its IAM policy, and what a caller may do in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.iam.policy import PROJECT_POLICY
from outlast_emulator.iam.state import PROJECT, PROJECT_NUMBER
from outlast_emulator.project import bindings
from outlast_emulator.project.naming import check_project
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

ONE = "/v1/projects/{project}"


class PolicyApi:
    def __init__(self, emulator: Emulator) -> None:
        self._authority = emulator.authority

    def routes(self) -> Iterable[Route]:
        yield Route("cloudresourcemanager.projects.get", "GET", ONE, self.get)
        yield Route("cloudresourcemanager.projects.list", "GET", "/v1/projects", self.list)
        for verb, operation in (
            ("getIamPolicy", self.get_policy),
            ("setIamPolicy", self.put_policy),
            ("testIamPermissions", self.test),
        ):
            yield Route(f"cloudresourcemanager.projects.{verb}", "POST", f"{ONE}:{verb}", operation)

    def get(self, request: Request) -> Response:
        check_project(request)
        return answer(_project())

    def list(self, request: Request) -> Response:
        return answer({"projects": [_project()]})

    def get_policy(self, request: Request) -> Response:
        check_project(request)
        return answer(bindings.shown(self._authority, PROJECT_POLICY))

    def put_policy(self, request: Request) -> Response:
        check_project(request)
        return answer(bindings.replace(self._authority, PROJECT_POLICY, request.json()))

    def test(self, request: Request) -> Response:
        check_project(request)
        return answer(bindings.tested(self._authority, request))


def _project() -> dict[str, Any]:
    return {
        "projectNumber": str(PROJECT_NUMBER),
        "projectId": PROJECT,
        "lifecycleState": "ACTIVE",
        "name": "Emulated",
        "createTime": "2026-01-01T00:00:00.000Z",
    }
