"""Which operation a request is for: verb and path template -> route."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from outlast_emulator.errors import ApiError, json_error
from outlast_emulator.request import Request, decoded
from outlast_emulator.response import Response

Operation = Callable[[Request], Response]


PATHS_KEPT = 256
PATH_CHARACTERS_KEPT = 200
"""Where a bucket's objects are sent to is one path, again and again; an object's own is seldom asked for twice."""


@dataclass(frozen=True)
class Route:
    """One way to one operation.

    `template` is a path such as `/storage/v1/b/{bucket}/o/{object}`: `{name}` takes one segment (an encoded slash is part of
    it), `{name...}` at the end takes all that is left, slashes included, `{name}:verb` a segment that ends in `:verb`. Literal
    segments win over names.
    """

    method_id: str
    """As in the discovery document: `storage.objects.insert`."""
    verb: str
    template: str
    operation: Operation
    quick: bool = True
    """Done in well under a millisecond and without waiting: may run in the loop that serves every connection. Long lists,
    copies of contents and everything that waits must not be quick."""
    refine: Callable[[Request], str] | None = None
    """A better `method_id`, where the path alone does not say (the XML API's `?uploads`, `?uploadId=`)."""
    slow: frozenset[str] = frozenset()
    """Of the better names, those that are not quick all the same."""
    render: Callable[[ApiError], Response] = json_error
    render_media: Callable[[ApiError], Response] | None = None
    """For those who asked for bytes, where they are told otherwise than all the rest."""
    public: bool = False
    """Needs no permission: control surface, tokens."""

    def refusal(self, request: Request, error: ApiError) -> Response:
        if self.render_media is not None and request.wants_media:
            return self.render_media(error)
        return self.render(error)


_Place = tuple[Route, tuple[str, ...]]
"""A route and the names in its template."""


@dataclass
class _Node:
    literals: dict[str, _Node] = field(default_factory=dict)
    named: _Node | None = None
    verbed: dict[str, _Node] = field(default_factory=dict)
    """By the verb behind a name: `{account}:setIamPolicy`."""
    rest: dict[str, _Place] = field(default_factory=dict)
    verbs: dict[str, _Place] = field(default_factory=dict)


class Router:
    def __init__(self, routes: Iterable[Route] = ()) -> None:
        self._root = _Node()
        self.routes: list[Route] = []
        self._kept_place = lru_cache(PATHS_KEPT)(self._place)
        for route in routes:
            self.add(route)

    def add(self, route: Route) -> None:
        names: list[str] = []
        node = self._root
        for segment in route.template.strip("/").split("/"):
            if segment.endswith("...}"):
                names.append(segment[1:-4])
                _put(node.rest, route, names)
                break
            if segment.startswith("{"):
                name, _, verb = segment[1:].partition("}")
                names.append(name)
                if verb:
                    node = node.verbed.setdefault(verb, _Node())
                else:
                    node.named = node.named or _Node()
                    node = node.named
            else:
                node = node.literals.setdefault(segment, _Node())
        else:
            _put(node.verbs, route, names)
        self.routes.append(route)
        self._kept_place.cache_clear()

    def find(self, request: Request) -> Route | None:
        """The route, with the request's `route`, `params` and `method_id` set; None: no such path, or not by this verb."""
        look = self._kept_place if len(request.path) <= PATH_CHARACTERS_KEPT else self._place
        found = look(request.verb, request.path)
        if found is None:
            return None
        route, params = found
        request.params = params.copy()
        request.route = route
        request.method_id = route.refine(request) if route.refine else route.method_id
        return route

    def _place(self, verb: str, path: str) -> tuple[Route, dict[str, str]] | None:
        found = _walk(self._root, path[1:].split("/"), 0, verb)
        if found is None:
            return None
        (route, names), values = found
        return route, {name: decoded(value) for name, value in zip(names, values, strict=True)}


def _put(place: dict[str, _Place], route: Route, names: list[str]) -> None:
    if route.verb in place:
        raise ValueError(f"{route.verb} {route.template} is taken by `{place[route.verb][0].method_id}`")
    place[route.verb] = (route, tuple(names))


def _by_verb(place: dict[str, _Place], verb: str) -> _Place | None:
    """HEAD is GET without a body, unless an API has a HEAD of its own."""
    return place.get(verb) or (place.get("GET") if verb == "HEAD" else None)


def _walk(node: _Node, segments: list[str], at: int, verb: str) -> tuple[_Place, list[str]] | None:
    if at == len(segments):
        found = _by_verb(node.verbs, verb)
        return (found, []) if found else None
    literal = node.literals.get(segments[at])
    if literal is not None:
        deeper = _walk(literal, segments, at + 1, verb)
        if deeper is not None:
            return deeper
    if node.verbed:
        name, colon, called = segments[at].rpartition(":")
        after = node.verbed.get(f":{called}") if colon and name else None
        deeper = _walk(after, segments, at + 1, verb) if after is not None else None
        if deeper is not None:
            deeper[1].insert(0, name)
            return deeper
    if node.named is not None and segments[at]:
        deeper = _walk(node.named, segments, at + 1, verb)
        if deeper is not None:
            deeper[1].insert(0, segments[at])
            return deeper
    left = "/".join(segments[at:])
    if not left:  # a slash at the end of a path means nothing, unless it is part of an object's name
        found = _by_verb(node.verbs, verb)
        return (found, []) if found else None
    rest = _by_verb(node.rest, verb)
    return (rest, [left]) if rest else None
