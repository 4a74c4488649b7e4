"""The simulation's bucket behind Cloud Storage's JSON API: the real store and transport of every actor, on virtual time.

What a network does to requests is the simulation's own weather (lost, late, slow, refused, cut off); what a server answers is
here, no more of it than outlast asks for. Whatever else it is asked is an error of the test.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from email.utils import formatdate
from random import Random
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from outlast.clock import Clock
from outlast.errors import KeyMissing, PreconditionFailed, StoreFull, StoreUnavailable
from outlast.google.auth.credentials import Anonymous
from outlast.google.endpoints import Endpoints
from outlast.google.transport import Transport
from outlast.google.wire import Answer, NoAnswer, Request
from outlast.store.crew_ahead import nothing
from outlast.store.gcs import GcsStore
from outlast.store.store import Store
from outlast.testing.simulation.clock import EPOCH
from outlast.testing.simulation.store import Cut, SimulatedStore
from outlast.testing.simulation.world import World

T = TypeVar("T")

NAME = "simulated"
BASE = "http://127.0.0.1:1"
OBJECTS = f"/storage/v1/b/{NAME}/o"
UPLOADS = f"/upload/storage/v1/b/{NAME}/o"
LIST_MAX = 7
"""Far below the real one, so that lists have pages."""


class Inline:
    """A crew of one: an actor of the simulation has no threads of its own."""

    def each(self, calls: Iterable[Callable[[], object]], between: Callable[[], None], ended: Any = None) -> None:
        for call in calls:
            call()
            between()
        between()

    def ahead(
        self, calls: Iterable[Callable[[], T]], following: Callable[[T], Iterable[Callable[[], T]]] = nothing, **_: Any
    ) -> Iterator[T]:
        for call in calls:
            answer = call()
            yield answer
            for further in following(answer):
                yield further()


class Ops(dict[str, tuple[int, str]]):
    """Key -> (generation, whose write it was): the metadata of objects that were written with a condition."""


class SimulatedWire(SimulatedStore):
    """One actor's network. It is a store only to have the simulation's weather."""

    ops: Ops

    def send(self, request: Request, *, connect_seconds: float, stall_seconds: float) -> Answer:
        url = urlsplit(request.url)
        query = dict(parse_qsl(url.query))
        sent_at = self._schedule.now
        op, conditional, effect = self._effect(request, url.path, query, sent_at)
        try:
            return self._call(op, effect, conditional)
        except KeyMissing:
            return self._refusal(404, "notFound")
        except PreconditionFailed:
            if conditional in self._lost:
                self._history.fault("412 after own lost answer", conditional[0] if conditional else "")
            return self._refusal(412, "conditionNotMet")
        except StoreFull:
            return self._refusal(503, "backendError")
        except StoreUnavailable as error:
            if conditional is not None or op == "put":
                self._history.unanswered.add((self._named(request, url.path), self._name))
            raise NoAnswer(str(error), sent=True) from error

    def _effect(
        self, request: Request, path: str, query: dict[str, str], sent_at: float
    ) -> tuple[str, tuple[str, bytes] | None, Callable[[], Answer]]:
        condition = int(query["ifGenerationMatch"]) if "ifGenerationMatch" in query else None
        if request.method == "POST" and path == UPLOADS and query["uploadType"] == "multipart":
            described, data = _parts(request)
            sure = (described["name"], data) if condition is not None else None
            return "put", sure, lambda: self._insert(described, data, condition, sent_at)
        if request.method == "GET" and path == OBJECTS:
            return "list", None, lambda: self._page(query)
        key = unquote(path.removeprefix(f"{OBJECTS}/"))
        assert path.startswith(f"{OBJECTS}/"), request
        if request.method == "GET" and query.get("alt") == "media":
            return "get", None, lambda: self._media(key, request.headers.get("Range", ""), query.get("generation"))
        if request.method == "GET":
            return "get", None, lambda: self._json(self._described(key))
        assert request.method == "DELETE", request
        return "delete", None, lambda: self._deleted(key, condition, sent_at)

    def _named(self, request: Request, path: str) -> str:
        return str(_parts(request)[0]["name"]) if path == UPLOADS else unquote(path.removeprefix(f"{OBJECTS}/"))

    # What the server does, at the moment when a request reaches it.

    def _insert(self, described: dict[str, Any], data: bytes, condition: int | None, sent_at: float) -> Answer:
        key = described["name"]
        assert described["md5Hash"] == _md5(data)
        if condition is None and (key, self._name) in self._history.unanswered and self._bucket.peek(key) == data:
            return self._json(self._described(key))  # what an answer was lost for is written once more: the same bytes
        # The history knows uploads, which have no condition, and puts, which have one.
        op = "upload" if condition is None else "put"
        generation = self._bucket.put(key, data, condition, by=self._name, sent_at=sent_at, op=op)
        self.ops[key] = (generation, (described.get("metadata") or {}).get("outlast-op", ""))
        return self._json(self._described(key))

    def _described(self, key: str) -> dict[str, Any]:
        stored = self._bucket.get(key)
        generation, op = self.ops.get(key, (0, ""))
        metadata = {"metadata": {"outlast-op": op}} if op and generation == stored.generation else {}
        size = str(len(stored.data))
        return {"generation": str(stored.generation), "size": size, "md5Hash": _md5(stored.data), **metadata}

    def _media(self, key: str, span: str, generation: str | None) -> Answer:
        stored = self._bucket.get(key)
        if generation is not None and int(generation) != stored.generation:
            raise KeyMissing(key)
        headers = {
            **self._headers(),
            "x-goog-generation": str(stored.generation),
            "x-goog-hash": f"md5={_md5(stored.data)}",
        }
        if not span:
            return Answer(200, headers, stored.data)
        first, _, last = span.removeprefix("bytes=").partition("-")
        if int(first) >= len(stored.data):
            return Answer(416, headers, b"")
        part = stored.data[int(first) : int(last) + 1 if last else None]
        place = f"bytes {first}-{int(first) + len(part) - 1}/{len(stored.data)}"
        return Answer(206, {**headers, "content-range": place}, part)

    def _page(self, query: dict[str, str]) -> Answer:
        start = query.get("pageToken") or query.get("startOffset", "")
        most = min(int(query["maxResults"]), LIST_MAX)
        found = [one for one in self._bucket.list(query.get("prefix", ""), "", None) if one.key >= start]
        items = [{"name": one.key, "generation": str(one.generation), "size": str(one.bytes)} for one in found[:most]]
        rest = {"nextPageToken": found[most].key} if len(found) > most else {}
        return self._json({"items": items, **rest})

    def _deleted(self, key: str, condition: int | None, sent_at: float) -> Answer:
        self._bucket.get(key)
        op = "purge" if condition is None else "delete"
        self._bucket.delete(key, condition, by=self._name, sent_at=sent_at, op=op)
        return Answer(204, self._headers(), b"")

    def _refusal(self, status: int, reason: str) -> Answer:
        body = {"error": {"code": status, "message": reason, "errors": [{"reason": reason}]}}
        return Answer(status, self._headers(), json.dumps(body).encode())

    def _json(self, document: dict[str, Any]) -> Answer:
        return Answer(200, self._headers(), json.dumps(document).encode())

    def _headers(self) -> dict[str, str]:
        return {"date": formatdate(EPOCH + self._schedule.now, usegmt=True)}


class CloudWorld(World):
    """Every actor has the store that a home at `gs://` has."""

    def open_store(self, who: str, random: Random, clock: Clock, cut: Cut) -> Store:
        wire = SimulatedWire(
            bucket=self.bucket,
            schedule=self.schedule,
            history=self.history,
            weather=self.weather,
            cut=cut,
            random=random,
            name=who,
            poll_seconds=GcsStore.poll_seconds,
            chunk_seconds=self.options.chunk_seconds,
        )
        wire.ops = self.__dict__.setdefault("ops", Ops())
        endpoints = Endpoints(storage=BASE, compute=BASE, tokens=f"{BASE}/token", emulated=True)
        transport = Transport(endpoints, wire, clock, random, {}, credentials=Anonymous())
        store = GcsStore(transport, NAME, clock=clock)
        store._crew = Inline()  # type: ignore[assignment]
        return store


def _parts(request: Request) -> tuple[dict[str, Any], bytes]:
    body = request.body if isinstance(request.body, bytes) else b"".join(request.body or ())
    boundary = request.headers["Content-Type"].partition("boundary=")[2].encode()
    _, described, content, end = body.split(b"--" + boundary)
    assert end == b"--\r\n"
    document: dict[str, Any] = json.loads(described.partition(b"\r\n\r\n")[2])
    return document, content.partition(b"\r\n\r\n")[2][: -len(b"\r\n")]


def _md5(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
