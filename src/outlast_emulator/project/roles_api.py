"""IAM's roles: Google's own to look at, and the project's, which stay known for a week after their deletion."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError, young
from outlast_emulator.iam.roles import ROLES
from outlast_emulator.iam.state import PROJECT
from outlast_emulator.project.naming import check_project
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

ALL = "/v1/projects/{project}/roles"
_ID = re.compile(r"[a-zA-Z0-9_.]{3,64}\Z")
_PERMISSION = re.compile(r"[a-z][a-zA-Z0-9]*\.[a-zA-Z0-9]+\.[a-zA-Z0-9]+\Z")
STAGES = ("ALPHA", "BETA", "GA", "DEPRECATED", "DISABLED", "EAP")
FIELDS = {
    "title": "title",
    "description": "description",
    "includedPermissions": "permissions",
    "stage": "stage",
}


class RolesApi:
    def __init__(self, emulator: Emulator) -> None:
        self._state = emulator.authority.state

    def routes(self) -> Iterable[Route]:
        one = ALL + "/{role}"
        yield Route("iam.projects.roles.create", "POST", ALL, self.create)
        yield Route("iam.projects.roles.list", "GET", ALL, self.list)
        yield Route("iam.projects.roles.get", "GET", one, self.get)
        yield Route("iam.projects.roles.patch", "PATCH", one, self.patch)
        yield Route("iam.projects.roles.delete", "DELETE", one, self.delete)
        yield Route("iam.projects.roles.undelete", "POST", one + ":undelete", self.undelete)
        testable = "iam.permissions.queryTestablePermissions"
        yield Route(testable, "POST", "/v1/permissions:queryTestablePermissions", self.testable)
        yield Route("iam.roles.get", "GET", "/v1/roles/{role}", self.get_predefined)

    def create(self, request: Request) -> Response:
        check_project(request)
        body = request.json()
        name, wanted = str(body.get("roleId", "")), body.get("role") or {}
        if not _ID.match(name):
            raise young("INVALID_ARGUMENT", "The role_id is invalid: 3 to 64 letters, digits, underscores and dots.")
        with self._state.change() as document:
            there = document["roles"].get(_name(name))
            if there is not None and there["deleted"]:
                raise young(
                    "FAILED_PRECONDITION",
                    f"You can't create a role with role_id ({name}) where there is an existing role with that role_id "
                    "in a deleted state.",
                )
            if there is not None:
                raise young("ALREADY_EXISTS", f"A role named {name} in projects/{PROJECT} already exists.")
            role = {"title": "", "description": "", "permissions": [], "stage": "ALPHA", "deleted": False, "changes": 0}
            document["roles"][_name(name)] = {**role, **_fields(wanted)}
        return answer(self._shown(_name(name)))

    def get(self, request: Request) -> Response:
        return answer(self._shown(self._known(request)))

    def list(self, request: Request) -> Response:
        check_project(request)
        hidden = not request.flag("showDeleted") if request.query("showDeleted") else True
        roles = self._state.document["roles"]
        found = [self._shown(name) for name in sorted(roles) if not (hidden and roles[name]["deleted"])]
        return answer({"roles": found} if found else {})

    def patch(self, request: Request) -> Response:
        name, wanted = self._known(request), request.json()
        masked = [one for one in request.query("updateMask").split(",") if one]
        if masked:
            names = {re.sub(r"_(.)", lambda found: found[1].upper(), one) for one in masked}
            wanted = {field: wanted.get(field) for field in FIELDS if field in names}
        with self._state.change() as document:
            role = document["roles"][name]
            self._check_etag(name, request.json().get("etag"))
            if role["deleted"]:
                raise young("FAILED_PRECONDITION", f"The role {name} is deleted: it cannot be changed.")
            role.update(_fields(wanted))
            role["changes"] += 1
        return answer(self._shown(name))

    def delete(self, request: Request) -> Response:
        return self._set_deleted(request, deleted=True)

    def undelete(self, request: Request) -> Response:
        return self._set_deleted(request, deleted=False)

    def get_predefined(self, request: Request) -> Response:
        name = f"roles/{request.params['role']}"
        if name not in ROLES:
            raise _unknown(name)
        return answer({"name": name, "title": name, "stage": "GA", "includedPermissions": sorted(ROLES[name])})

    def testable(self, request: Request) -> Response:
        """Those that the emulator's roles are made of; gcloud asks before it makes a role."""
        known = sorted({permission for permissions in ROLES.values() for permission in permissions})
        return answer({"permissions": [{"name": name, "stage": "GA"} for name in known]})

    def _set_deleted(self, request: Request, *, deleted: bool) -> Response:
        name = self._known(request)
        with self._state.change() as document:
            role = document["roles"][name]
            if role["deleted"] == deleted:
                word = "already" if deleted else "not"
                raise young("FAILED_PRECONDITION", f"The role {name} is {word} deleted.")
            role["deleted"] = deleted
            role["changes"] += 1
        return answer(self._shown(name))

    def _known(self, request: Request) -> str:
        check_project(request)
        name = _name(request.params["role"])
        if name not in self._state.document["roles"]:
            raise _unknown(name)
        return name

    def _check_etag(self, name: str, sent: Any) -> None:
        if sent and sent != self._shown(name)["etag"]:
            raise young("ABORTED", f"There were concurrent changes of the role {name}.")

    def _shown(self, name: str) -> dict[str, Any]:
        role = self._state.document["roles"][name]
        shown = {
            "name": name,
            "title": role["title"],
            "description": role["description"],
            "includedPermissions": sorted(role["permissions"]),
            "stage": role["stage"],
            "etag": f"Bw{role['changes']:010d}",
            "deleted": role["deleted"],
        }
        return {field: value for field, value in shown.items() if value not in ("", False, [])}


def _name(role: str) -> str:
    return f"projects/{PROJECT}/roles/{role}"


def _fields(wanted: dict[str, Any]) -> dict[str, Any]:
    found = {kept: wanted[field] for field, kept in FIELDS.items() if wanted.get(field) is not None}
    for permission in found.get("permissions", []):
        if not _PERMISSION.match(permission):
            raise young("INVALID_ARGUMENT", f"Permission {permission} is not valid.")
    if found.get("stage", "GA") not in STAGES:
        raise young("INVALID_ARGUMENT", f"Invalid value at 'role.stage': {found['stage']}")
    return found


def _unknown(name: str) -> ApiError:
    return young("NOT_FOUND", f"The role named {name} was not found.")
