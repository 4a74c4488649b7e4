"""Everything that Compute Engine has a name for, in one table: documents as the API shows them, and what only we know."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from outlast_emulator.compute import links
from outlast_emulator.compute.database import Database
from outlast_emulator.errors import ApiError

_COLUMNS = "id, kind, project, scope, name, document, state"
FIRST_ID = 1_000_000_000_000_000_000
"""And as many more: ssh knows machines by their numbers, and those of two emulators are not the same."""


@dataclass
class Resource:
    """One row, read. Whoever changes `document` or `state` calls `Resources.save` in the same `database.write()`."""

    id: int
    kind: str
    """The collection: `instances`, `disks`, `instanceGroupManagers`, `operations`..."""
    project: str
    scope: str
    """`global`, `zones/Z` or `regions/R`."""
    name: str
    document: dict[str, Any] = field(default_factory=dict)
    """As the API answers it, but for what is computed when it is asked for."""
    state: dict[str, Any] = field(default_factory=dict)
    """What no client sees."""

    @property
    def link(self) -> links.Link:
        return links.Link(self.project, self.scope, self.kind, self.name)

    @property
    def path(self) -> str:
        return self.link.path

    @property
    def url(self) -> str:
        return self.link.url

    @property
    def zone(self) -> str:
        """ "" for what is not in one."""
        return self.scope.removeprefix("zones/") if self.scope.startswith("zones/") else ""

    @property
    def region(self) -> str:
        if self.zone:
            return links.region_of(self.zone)
        return self.scope.removeprefix("regions/") if self.scope.startswith("regions/") else ""

    @property
    def status(self) -> str:
        return str(self.document.get("status", ""))


Instance: TypeAlias = Resource
"""A resource of kind `instances`."""


class Resources:
    """Refusals are Google's: 404 `notFound`, 409 `alreadyExists`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, kind: str, project: str, scope: str, name: str) -> Resource:
        found = self.peek(kind, project, scope, name)
        if found is None:
            raise missing(links.Link(project, scope, kind, name).path)
        return found

    def peek(self, kind: str, project: str, scope: str, name: str) -> Resource | None:
        """By name, or by the number that Google gives everything."""
        values: tuple[Any, ...] = (kind, project, scope, name)
        found = self._database.row(
            f"SELECT {_COLUMNS} FROM resources WHERE kind=? AND project=? AND scope=? AND name=?",  # noqa: S608
            values,
        )
        if found is None and name.isdecimal() and len(name) < 20:
            found = self._database.row(
                f"SELECT {_COLUMNS} FROM resources WHERE id=? AND kind=? AND project=? AND scope=?",  # noqa: S608
                (int(name), kind, project, scope),
            )
        return _read(found) if found else None

    def at(self, link: links.Link) -> Resource | None:
        return self.peek(link.kind, link.project, link.scope, link.name)

    def by_id(self, number: int) -> Resource | None:
        """For tasks: a resource that was deleted and made again under its name is another one."""
        found = self._database.row(f"SELECT {_COLUMNS} FROM resources WHERE id=?", (number,))  # noqa: S608
        return _read(found) if found else None

    def list(self, kind: str, project: str = "", scope: str = "") -> list[Resource]:
        """By name; "" is all of them."""
        question = f"SELECT {_COLUMNS} FROM resources WHERE kind=?"  # noqa: S608
        values: list[Any] = [kind]
        for column, value in (("project", project), ("scope", scope)):
            if value:
                question += f" AND {column}=?"
                values.append(value)
        return [_read(row) for row in self._database.rows(f"{question} ORDER BY name, scope", tuple(values))]

    def add(
        self,
        kind: str,
        project: str,
        scope: str,
        name: str,
        document: dict[str, Any],
        state: dict[str, Any] | None = None,
    ) -> Resource:
        """With a number of its own; `id`, `name` and `selfLink` are put into the document."""
        link = links.Link(project, scope, kind, name)
        with self._database.write() as connection:
            if self.peek(kind, project, scope, name) is not None:
                raise ApiError(409, "alreadyExists", f"The resource '{link.path}' already exists")
            number = self._next_id()
            document = {**document, "id": str(number), "name": name, "selfLink": link.url}
            made = Resource(number, kind, project, scope, name, document, state or {})
            connection.execute("INSERT INTO resources VALUES (?, ?, ?, ?, ?, ?, ?)", _row(made))
        return made

    def save(self, resource: Resource) -> None:
        """Nothing happens if it is gone meanwhile."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE resources SET document=?, state=? WHERE id=?",
                (json.dumps(resource.document), json.dumps(resource.state), resource.id),
            )

    def remove(self, resource: Resource) -> None:
        with self._database.write() as connection:
            connection.execute("DELETE FROM resources WHERE id=?", (resource.id,))

    def _next_id(self) -> int:
        """Of Google's length, rising, never the same twice."""
        earlier = int(self._database.note("id") or FIRST_ID + secrets.randbelow(FIRST_ID))
        self._database.keep_note("id", str(earlier + 7_919))
        return earlier + 7_919


def missing(path: str) -> ApiError:
    return ApiError(404, "notFound", f"The resource '{path}' was not found")


def fingerprint(value: Any) -> str:
    """What a client must send back to change `value`: the same for equal values, as Google's is opaque."""
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
    return base64.urlsafe_b64encode(digest[:8]).decode()


def _row(resource: Resource) -> tuple[Any, ...]:
    return (
        resource.id,
        resource.kind,
        resource.project,
        resource.scope,
        resource.name,
        json.dumps(resource.document),
        json.dumps(resource.state),
    )


def _read(row: tuple[Any, ...]) -> Resource:
    return Resource(row[0], row[1], row[2], row[3], row[4], json.loads(row[5]), json.loads(row[6]))
