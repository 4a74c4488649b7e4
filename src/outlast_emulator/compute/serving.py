"""What all of Compute Engine's methods share: paths from the discovery document, lists, and changes that are operations."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from outlast_emulator.compute import filters, links, places
from outlast_emulator.compute.failures import Failure
from outlast_emulator.compute.images import PUBLIC_PROJECTS
from outlast_emulator.compute.model import Compute
from outlast_emulator.compute.resources import Resource, missing
from outlast_emulator.discovery.document import load
from outlast_emulator.errors import invalid
from outlast_emulator.iam.state import PROJECT
from outlast_emulator.request import Request, decoded
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route
from outlast_emulator.storage import masks

Document = dict[str, Any]
PAGE_MAX = 500


def served(table: Mapping[str, Operation], *, slow: Iterable[str] = (), compute: Compute | None = None) -> list[Route]:
    """Routes for methods by their ids (`instances.get`): verb and path stand in the discovery document.

    With `compute`, a DELETE that is repeated with its `requestId` finds its operation, also when its target is gone.
    """
    methods = load("compute.v1").methods
    waiting = set(slow)
    found = []
    for name, operation in table.items():
        method = methods[f"compute.{name}"]
        if compute is not None and method.verb == "DELETE":
            operation = _repeatable(compute, operation)
        call = _in_project(_partial(operation))
        found.append(Route(method.id, method.verb, method.paths[0], call, quick=name not in waiting))
    return found


def _in_project(operation: Operation) -> Operation:
    """A project may be called by its number; one that is not there is not found."""

    def call(request: Request) -> Response:
        project = links.project_name(request.params["project"])
        if project != PROJECT and project not in PUBLIC_PROJECTS:
            raise missing(f"projects/{project}")
        request.params["project"] = project
        return operation(request)

    return call


def _repeatable(compute: Compute, operation: Operation) -> Operation:
    def call(request: Request) -> Response:
        if request.query("requestId"):
            _, _, rest = request.path.removeprefix("/compute/v1/projects/").partition("/")
            project, request_id = request.params["project"], request.query("requestId")
            path = "/".join(("projects", project, *map(decoded, rest.split("/"))))
            earlier = compute.operations.earlier(project, request_id, request.method_id, path)
            if earlier is not None:
                return answer(earlier.document)
        return operation(request)

    return call


def _partial(operation: Operation) -> Operation:
    """With `fields` only a part of the answer is sent."""

    def call(request: Request) -> Response:
        response = operation(request)
        wanted = request.query("fields") or request.query("$fields")
        if wanted and isinstance(response.document, dict):
            response.document = masks.cut(response.document, wanted)
        return response

    return call


def scope_of(request: Request) -> str:
    """Of the request's path; 400 for a zone or region that Google has not."""
    if "zone" in request.params:
        return links.zone_scope(places.check_zone(request.params["zone"]))
    if "region" in request.params:
        return links.region_scope(places.check_region(request.params["region"]))
    return links.GLOBAL


def change(
    compute: Compute,
    request: Request,
    kind: str,
    target: links.Link | Resource,
    act: Callable[[], Resource | None],
    *,
    scope: str = "",
) -> Response:
    """A change as an operation: `act` makes it, or returns an operation of its own that something else ends.

    A `requestId` that was used before gets the first operation again. A `Failure` is the operation's error, or an HTTP
    answer where the switches say so. All of it is one transaction.
    """
    path = target.path
    request_id = request.query("requestId")
    project = target.project
    with compute.database.write():
        earlier = compute.operations.earlier(project, request_id, request.method_id, path)
        if earlier is not None:
            return answer(earlier.document)
        try:
            operation = act()
        except Failure as failure:
            if at_once(compute, failure):
                raise failure.refusal() from failure
            operation = compute.operations.begin(kind, target, user=request.principal, scope=scope)
            compute.operations.end_later(compute.switches.operation_seconds, operation, failure)
        if operation is None:
            operation = compute.operations.begin(kind, target, user=request.principal, scope=scope)
            compute.operations.end_later(compute.switches.operation_seconds, operation)
        compute.operations.remember(request_id, request.method_id, path, operation)
    return answer(operation.document)


def at_once(compute: Compute, failure: Failure) -> bool:
    if failure.code == "QUOTA_EXCEEDED":
        return compute.switches.quota_refused_at_once
    return compute.switches.stockout_refused_at_once


# ------------------------------------------------------------------------------------------------------------------ lists


def list_page(
    request: Request, kind: str, path: str, documents: Iterable[Document], *, items: str = "items", **more: Any
) -> Response:
    """`{"kind": kind, "items": [...]}`: filtered, ordered and cut as the query says. `path`: `projects/P/zones/Z/instances`."""
    page, token = paged(request, list(documents))
    shown: Document = {"kind": kind, "id": path, "selfLink": links.url(path), **more}
    if page:
        shown[items] = page
    if token:
        shown["nextPageToken"] = token
    return answer(shown)


def aggregated(
    request: Request,
    kind: str,
    project: str,
    name: str,
    scopes: Iterable[str],
    resources: Iterable[tuple[str, Document]],
) -> Response:
    """`resources`: scope and document of each. A scope without any carries Google's warning."""
    page, token = _page(request, list(resources), lambda placed: placed[1])
    found: dict[str, Document] = {}
    for scope, document in page:
        found.setdefault(scope, {}).setdefault(name, []).append(document)
    for scope in scopes:
        if scope not in found:
            found[scope] = {"warning": _no_results(scope)}
    path = f"projects/{project}/aggregated/{name}"
    shown: Document = {"kind": kind, "id": path, "selfLink": links.url(path), "items": found}
    if token:
        shown["nextPageToken"] = token
    return answer(shown)


Entry = TypeVar("Entry")


def paged(request: Request, documents: list[Document]) -> tuple[list[Document], str]:
    """One page, and the token of the next."""
    return _page(request, documents, lambda document: document)


def _page(request: Request, entries: list[Entry], document_of: Callable[[Entry], Document]) -> tuple[list[Entry], str]:
    limit = request.number("maxResults")
    limit = PAGE_MAX if limit is None else limit
    if not 0 <= limit <= PAGE_MAX:
        raise invalid(
            f"Invalid value for field 'maxResults': '{limit}'. Value must be between 0 and {PAGE_MAX}",
            location="maxResults",
        )
    found = entries
    if request.query("filter"):
        test = filters.compiled(request.query("filter"))
        found = [entry for entry in entries if test(document_of(entry))]
    _order(found, request.query("orderBy"), document_of)
    start = _start(request.query("pageToken"))
    page = found[start : start + (limit or PAGE_MAX)]
    end = start + len(page)
    token = base64.urlsafe_b64encode(f"{end}".encode()).decode() if end < len(found) else ""
    return page, token


def _order(entries: list[Entry], order: str, document_of: Callable[[Entry], Document]) -> None:
    if not order:
        return
    field, _, direction = order.strip().partition(" ")
    if field not in ("name", "creationTimestamp", "id") or direction not in ("", "desc", "asc"):
        raise invalid(f"Invalid value for field 'orderBy': '{order}'. Invalid ordering.")
    entries.sort(key=lambda entry: str(document_of(entry).get(field, "")), reverse=direction == "desc")


def _start(token: str) -> int:
    if not token:
        return 0
    try:
        return max(0, int(base64.urlsafe_b64decode(token.encode())))
    except (ValueError, binascii.Error) as error:
        raise invalid(f"Invalid value for field 'pageToken': '{token}'.", location="pageToken") from error


def _no_results(scope: str) -> Document:
    return {
        "code": "NO_RESULTS_ON_PAGE",
        "message": f"There are no results for scope '{scope}' on this page.",
        "data": [{"key": "scope", "value": scope}],
    }
