"""Artifact Registry's repositories: `/v1/projects/P/locations/L/repositories`. What is in them is the registry's business.

A push makes its repository, unless the switch `registry_needs_repository` is on: then it must be there, as at Google.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import Clock, rfc3339
from outlast_emulator.compute import places
from outlast_emulator.errors import ApiError, young
from outlast_emulator.iam.state import PROJECT, State
from outlast_emulator.project.naming import NAMES, check_project
from outlast_emulator.registry.errors import RegistryError
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route
from outlast_emulator.switches import Switches

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

OF = "artifactregistry.projects.locations.repositories"
ALL = "/v1/projects/{project}/locations/{location}/repositories"
ONE = ALL + "/{repository}"
NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
MULTI_REGIONS = ("us", "europe", "asia")
TYPES = "type.googleapis.com/google.devtools.artifactregistry.v1"
EMPTY = "type.googleapis.com/google.protobuf.Empty"


class Repositories:
    def __init__(self, directory: Path, switches: Switches) -> None:
        self.state = State(directory, "repositories.json", dict)
        self._switches = switches

    def check_there(self, name: str) -> None:
        """For a push to `PROJECT/REPOSITORY/IMAGE`."""
        if not self._switches.registry_needs_repository:
            return
        project, _, rest = name.partition("/")
        repository = rest.partition("/")[0]
        if project not in NAMES or not any(key.endswith(f"/{repository}") for key in self.state.document):
            raise RegistryError("NAME_UNKNOWN", f'Repository "{repository or name}" not found')


class RepositoriesApi:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._state = emulator.repositories.state
        self._clock: Clock = emulator.clock

    def routes(self) -> Iterable[Route]:
        table: tuple[tuple[str, str, str, Operation], ...] = (
            ("create", "POST", ALL, self.create),
            ("list", "GET", ALL, self.list),
            ("get", "GET", ONE, self.get),
            ("delete", "DELETE", ONE, self.delete),
        )
        for name, verb, path, operation in table:
            yield Route(f"{OF}.{name}", verb, path, _placed(operation))

    def create(self, request: Request) -> Response:
        location, repository = request.params["location"], request.query("repositoryId")
        body = request.json()
        if not NAME.fullmatch(repository):
            raise young(
                "INVALID_ARGUMENT",
                f"repository_id `{repository}` is not a lowercase letter, then letters, digits and dashes",
            )
        if body.get("format") != "DOCKER":
            raise young(
                "INVALID_ARGUMENT", f"The emulator has repositories of format DOCKER only, not {body.get('format')}."
            )
        now = rfc3339(int(self._clock.now() * 1e6))
        document = {
            **body,
            "name": f"projects/{PROJECT}/locations/{location}/repositories/{repository}",
            "mode": body.get("mode", "STANDARD_REPOSITORY"),
            "createTime": now,
            "updateTime": now,
            "registryUri": f"{location}-docker.pkg.dev/{PROJECT}/{repository}",
        }
        with self._state.change() as kept:
            if f"{location}/{repository}" in kept:
                raise young("ALREADY_EXISTS", "the repository already exists")
            kept[f"{location}/{repository}"] = document
        return answer(self._operation(location, {"@type": f"{TYPES}.Repository", **document}))

    def get(self, request: Request) -> Response:
        return answer(self._found(request))

    def list(self, request: Request) -> Response:
        location = request.params["location"]
        found = [one for key, one in sorted(self._state.document.items()) if location in ("-", key.partition("/")[0])]
        return answer({"repositories": found} if found else {})

    def delete(self, request: Request) -> Response:
        """With all images in it."""
        self._found(request)
        location, repository = request.params["location"], request.params["repository"]
        with self._state.change() as kept:
            kept.pop(f"{location}/{repository}", None)
        self._emulator.registry.remove_below(f"{PROJECT}/{repository}/")
        return answer(self._operation(location, {"@type": EMPTY}))

    def _found(self, request: Request) -> dict[str, Any]:
        name = f"{request.params['location']}/{request.params['repository']}"
        found = self._state.document.get(name)
        if found is None:
            place = (
                f"projects/{PROJECT}/locations/{request.params['location']}/repositories/{request.params['repository']}"
            )
            raise young("NOT_FOUND", f'Repository "{place}" not found')
        return dict(found)

    def _operation(self, location: str, response: dict[str, Any]) -> dict[str, Any]:
        name = f"projects/{PROJECT}/locations/{location}/operations/{secrets.token_hex(16)}"
        return self._emulator.long_operations.add(name, {"@type": f"{TYPES}.OperationMetadata"}, response)


def _placed(operation: Operation) -> Operation:
    def call(request: Request) -> Response:
        check_project(request)
        location = request.params["location"]
        if location not in (*places.REGIONS, *MULTI_REGIONS, "-"):
            raise _nowhere(location)
        return operation(request)

    return call


def _nowhere(location: str) -> ApiError:
    return young("INVALID_ARGUMENT", f"unsupported location: {location}")


def routes(emulator: Emulator) -> Iterable[Route]:
    return RepositoriesApi(emulator).routes()
