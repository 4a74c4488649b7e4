"""One of Google's younger APIs: JSON in, JSON out, lists in pages, policies that are read, changed and written back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from outlast.google.errors import ApiError
from outlast.google.transport import Transport
from outlast.google.wire import Answer, Request

Document = dict[str, Any]

POLICY_TRIES_MAX = 8
"""Somebody else may change a policy between our reading and our writing it, but not for ever."""


class JsonApi:
    """Every call raises `ApiError` or `NoAnswer` and nothing else of the network's."""

    def __init__(self, transport: Transport, base: str) -> None:
        self.transport = transport
        self._base = base
        self.date = ""
        """What time it was there at the last answer, as HTTP writes it."""

    def get(self, name: str, query: Mapping[str, Any] | None = None) -> Document:
        return self._call("GET", name, None, query)

    def post(
        self, name: str, body: Mapping[str, Any], query: Mapping[str, Any] | None = None, *, once: bool = False
    ) -> Document:
        return self._call("POST", name, body, query, once=once)

    def put(self, name: str, body: Mapping[str, Any]) -> Document:
        return self._call("PUT", name, body, None)

    def patch(self, name: str, body: Mapping[str, Any], query: Mapping[str, Any] | None = None) -> Document:
        return self._call("PATCH", name, body, query)

    def delete(self, name: str, query: Mapping[str, Any] | None = None) -> bool:
        """False: it was gone, maybe by an earlier try of this very call."""
        try:
            self._call("DELETE", name, None, query)
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def pages(self, name: str, items: str, query: Mapping[str, Any] | None = None) -> Iterator[Document]:
        token = ""
        while True:
            page = self.get(name, {**(query or {}), **({"pageToken": token} if token else {})})
            yield from page.get(items, [])
            token = str(page.get("nextPageToken", ""))
            if not token:
                return

    def find(self, name: str) -> Document | None:
        """None: there is none."""
        try:
            return self.get(name)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _call(
        self,
        verb: str,
        name: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, Any] | None,
        *,
        once: bool = False,
    ) -> Document:
        url = f"{self._base}/{quote(name, safe='/:@-_.~')}"
        if query:
            url = f"{url}?{urlencode(query, doseq=True)}"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", **({} if data is None else {"Content-Type": "application/json"})}
        answer = self.transport.call(Request(verb, url, headers, data), observe=self._note, once=once)
        try:
            document = json.loads(answer.body or b"{}")
        except (ValueError, RecursionError) as error:
            raise ApiError(answer) from error
        return document if isinstance(document, dict) else {}

    def _note(self, answer: Answer) -> None:
        self.date = answer.headers.get("date", self.date)


def api(transport: Transport, name: str) -> JsonApi:
    return JsonApi(transport, f"{transport.endpoints.api(name)}/v1")


def change_policy(
    read: Callable[[], Document], write: Callable[[Document], Document], role: str, member: str, *, bound: bool
) -> bool:
    """Gives the role to the member, or takes it; whether that changed anything. Everybody else's bindings stay."""
    for attempt in range(POLICY_TRIES_MAX):
        policy = read()
        if is_bound(policy, role, member) == bound:
            return attempt > 0
        try:
            write(_changed(policy, role, member, bound=bound))
            return True
        except ApiError as error:
            if error.status not in (409, 412) or attempt == POLICY_TRIES_MAX - 1:
                raise
    raise AssertionError("the last try raises")


def is_bound(policy: Mapping[str, Any], role: str, member: str) -> bool:
    return any(
        binding["role"] == role and not binding.get("condition") and member in binding.get("members", ())
        for binding in policy.get("bindings", ())
    )


def _changed(policy: Document, role: str, member: str, *, bound: bool) -> Document:
    bindings = [dict(one) for one in policy.get("bindings", ())]
    plain = [one for one in bindings if one["role"] == role and not one.get("condition")]
    if bound and not plain:
        bindings.append({"role": role, "members": [member]})
    elif bound:
        plain[0]["members"] = [*plain[0].get("members", ()), member]
    else:
        for one in plain:
            one["members"] = [other for other in one.get("members", ()) if other != member]
    return {**policy, "bindings": [one for one in bindings if one.get("members")]}
