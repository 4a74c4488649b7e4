"""The validating step: every request and every answer against the discovery documents.

What a client sends in vain is refused with 400; what the emulator would answer wrongly raises `BadAnswer`, a bug of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.chain import Step
from outlast_emulator.discovery.document import Method, load, names
from outlast_emulator.discovery.types import Mismatch, drop_nulls
from outlast_emulator.errors import ApiError, invalid, not_implemented, required
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Operation, Route
from outlast_emulator.storage import masks
from outlast_emulator.switches import Switches

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

UPLOAD_PATHS = ("/upload/", "/resumable/")
"""There the body is contents, or metadata and contents: whoever takes it apart calls `Checker.body`."""

MASKED = ("storage.", "compute.")
"""The APIs whose partial answers are made here, from names that are written in one way only."""

QUERIES_KEPT = 1024
QUERY_CHARACTERS_KEPT = 500


def step(emulator: Emulator) -> Step:
    checker = Checker(emulator.switches)
    emulator.check_body = checker.body
    return checker.step


def routes(emulator: Emulator) -> Iterable[Route]:
    """Routes for all that Google has and nobody before has claimed: 501, with the method's name."""
    return Checker(emulator.switches).unimplemented(emulator.router.routes)


class BadAnswer(Exception):
    """The emulator was about to say what Google's document does not allow."""


class Checker:
    def __init__(self, switches: Switches) -> None:
        self._switches = switches
        self._sound: set[tuple[str, str]] = set()
        """Methods and queries that were found in order: a client sends the same few again and again."""
        self.methods: dict[str, Method] = {}
        for name in names():
            self.methods.update(load(name).methods)

    def step(self, request: Request, following: Operation) -> Response:
        method = self.methods.get(request.method_id) if self._switches.validate else None
        if method is None or (request.route is not None and is_unserved(request.route)):
            return following(request)
        if request.query_text or method.required:
            self._check_query(method, request)
        if method.request is not None and not request.path.startswith(UPLOAD_PATHS):
            self.body(method.id, request.json())
        response = following(request)
        if method.response is not None and response.document is not None and response.status < 300:
            try:
                method.response(response.document, "")
            except Mismatch as error:
                raise BadAnswer(f"{method.id} answered what its discovery document forbids: {error}") from error
        return response

    def _check_query(self, method: Method, request: Request) -> None:
        asked = (method.id, request.query_text)
        if asked in self._sound:
            return
        try:
            check_query(method, request.queries)
        except ApiError as error:
            _undocumented(error)
            raise
        if len(request.query_text) <= QUERY_CHARACTERS_KEPT:
            if len(self._sound) >= QUERIES_KEPT:
                self._sound.clear()
            self._sound.add(asked)

    def body(self, method_id: str, document: Any) -> None:
        """Refuses a request's JSON if the method does not take it; what is taken is put into the form of answers."""
        method = self.methods.get(method_id)
        if method is None or method.request is None or not self._switches.validate:
            return
        try:
            method.request(document, "")
        except Mismatch as error:
            raise _undocumented(invalid(error.message)) from error
        if method.verb != "PATCH":
            drop_nulls(document)

    def unimplemented(self, routes: Iterable[Route]) -> list[Route]:
        """Routes for all that Google has and the emulator has not: 501, with the method's name.

        On Google's hosts two APIs may have the same path (`/v1/operations/...`); here the first one has it.
        """
        served = {route.method_id for route in routes}
        taken = {(route.verb, _shape(route.template)) for route in routes}
        found: list[Route] = []
        for method in self.methods.values():
            for path in method.paths if method.id not in served else ():
                if (method.verb, _shape(path)) not in taken:
                    taken.add((method.verb, _shape(path)))
                    found.append(Route(method.id, method.verb, path, _refuse))
        return found


def _undocumented(error: ApiError) -> ApiError:
    """What is refused here Google's documents do not know; what is refused later they do."""
    error.undocumented = True
    return error


def _shape(template: str) -> str:
    """The same for two templates that take the same requests."""
    return re.sub(r"\{[^}]*?(\.\.\.)?\}", r"{\1}", template)


def is_unserved(route: Route) -> bool:
    return route.operation is _refuse


def check_query(method: Method, queries: dict[str, list[str]]) -> None:
    for name, values in queries.items():
        if name not in method.words:
            raise invalid(
                f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter. '
                f"Field '{name}' could not be found in request message."
            )
        check = method.words[name]
        if check is None:
            continue
        for value in values:
            wrong = check(value)
            if wrong is not None:
                raise invalid(wrong, reason="invalidParameter", location=name)
    for name in method.required:
        if not queries.get(name):
            raise required(name)
    if method.unselectable is not None and method.id.startswith(MASKED):
        for text in filter(None, queries.get("fields", ())):
            unknown = method.unselectable(masks.parsed(text))
            if unknown is not None:
                raise masks.malformed(unknown)


def _refuse(request: Request) -> Response:
    raise not_implemented(request.method_id)
