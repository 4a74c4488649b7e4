"""A registry's client: the part of the OCI distribution API that pushing and pulling needs."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

from outlast.clock import SYSTEM, Clock
from outlast.container.logins import AccessToken, Login, login_for, may_be_told
from outlast.container.reference import registry_url
from outlast.errors import Damaged, Denied, NotFound, OutlastError, Unreachable
from outlast.google.wire import Answer, Body, NoAnswer, Request, Stream, Wire
from outlast.pattern import pattern

TRIES = 4
FIRST_DELAY_SECONDS = 0.3
CONNECT_SECONDS = 10.0
STALL_SECONDS = 60.0
PIECE_BYTES = 16 << 20
"""A blob is read in pieces of this size: one that breaks off is asked for again, and nothing larger is ever in memory."""

SMALL_BYTES_MAX = 8 << 20
"""Manifests and configurations are smaller."""

LOGIN_SECONDS = 1800.0
"""Google's live for an hour: half of that one is good for what is begun now."""

REDIRECTS_MAX = 4
PASSING = (408, 425, 429, 500, 502, 503, 504)
ACCEPT = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_CHALLENGE = pattern(r'(\w+)="([^"]*)"')


class BlobsMissing(Exception):
    """The registry lacks what a manifest names."""


class Registry:
    """`host` as in an image's name. Without TLS on this computer alone. `token`: gives Google's access token where one is needed.

    May be used by several threads.
    """

    def __init__(
        self,
        host: str,
        token: AccessToken | None = None,
        *,
        environ: Mapping[str, str] = os.environ,
        wire: Wire | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self.host = host
        self.url = registry_url(host)
        self._token = token
        self._environ = environ
        self._wire = wire
        self._wires: dict[str, Wire] = {}
        self._clock = clock
        self._login: Login | None = None
        self._asked_login_at = float("-inf")
        self._authorization: dict[str, str] = {}
        """By scope."""

    # Manifests.

    def manifest_digest(self, path: str, wanted: str) -> str:
        """Of what has this tag or digest; empty if there is none."""
        answer = self._call("HEAD", f"/v2/{path}/manifests/{wanted}", path, headers={"Accept": ACCEPT})
        if answer.status == 404:
            return ""
        self._expect(answer, (200,), f"image `{self.host}/{path}` at `{wanted}`")
        return answer.headers.get("docker-content-digest", "") or (wanted if wanted.startswith("sha256:") else "")

    def is_there(self, path: str, wanted: str) -> bool:
        answer = self._call("HEAD", f"/v2/{path}/manifests/{wanted}", path, headers={"Accept": ACCEPT})
        if answer.status != 404:
            self._expect(answer, (200,), f"image `{self.host}/{path}` at `{wanted}`")
        return answer.status == 200

    def get_manifest(self, path: str, wanted: str) -> tuple[bytes, str]:
        """(its bytes, its media type). `NotFound`."""
        answer = self._call("GET", f"/v2/{path}/manifests/{wanted}", path, headers={"Accept": ACCEPT})
        named = f"image `{self.host}/{path}{'@' if wanted.startswith('sha256:') else ':'}{wanted}`"
        if answer.status == 404:
            raise NotFound(f"there is no {named}", hint="look at its name, and at the registry that it is in")
        self._expect(answer, (200,), named)
        data = bytes(answer.body)
        if wanted.startswith("sha256:") and digest_of(data) != wanted:
            raise Damaged(f"the {named} is not what its digest says")
        return data, answer.headers.get("content-type", "").partition(";")[0].strip()

    def put_manifest(self, path: str, wanted: str, data: bytes, media_type: str) -> None:
        """`BlobsMissing` if the registry has not got all that it names."""
        answer = self._call(
            "PUT", f"/v2/{path}/manifests/{wanted}", path, body=data, headers={"Content-Type": media_type}, push=True
        )
        if answer.status in (400, 404) and "BLOB_UNKNOWN" in _codes(answer):
            raise BlobsMissing
        self._expect(answer, (200, 201, 202), f"image `{self.host}/{path}`")

    # Blobs.

    def has_blob(self, path: str, digest: str) -> bool:
        answer = self._call("HEAD", f"/v2/{path}/blobs/{digest}", path)
        if answer.status == 404:
            return False
        self._expect(answer, (200, 307), f"blob `{digest}` of `{self.host}/{path}`")
        return True

    def get_blob(self, path: str, digest: str) -> bytes:
        """A small one, checked."""
        data = b"".join(self.blob_chunks(path, digest, SMALL_BYTES_MAX, exact=False))
        if digest_of(data) != digest:
            raise Damaged(f"blob `{digest}` of `{self.host}/{path}` is not what its digest says")
        return data

    def blob_chunks(self, path: str, digest: str, size: int, *, exact: bool = True) -> Iterator[bytes]:
        """The blob in pieces, each asked for again if it breaks off; checked at its end."""
        seen = hashlib.sha256()
        at = 0
        while at < size:
            last = min(size, at + PIECE_BYTES) - 1
            answer = self._follow(f"/v2/{path}/blobs/{digest}", path, {"Range": f"bytes={at}-{last}"})
            self._expect(answer, (200, 206), f"blob `{digest}` of `{self.host}/{path}`")
            # One that knows no ranges gives all of it, each time.
            piece = bytes(answer.body if answer.status == 206 else answer.body[at : last + 1])
            if not piece:
                break
            seen.update(piece)
            yield piece
            at += len(piece)
            if not exact and len(piece) < last + 1 - (at - len(piece)):
                break
        if exact and (at != size or f"sha256:{seen.hexdigest()}" != digest):
            raise Damaged(f"blob `{digest}` of `{self.host}/{path}` is not what its digest says")

    def mount(self, path: str, digest: str, source: str) -> bool:
        """Whether the registry took it over from another repository of its own."""
        query = urlencode({"mount": digest, "from": source})
        answer = self._call("POST", f"/v2/{path}/blobs/uploads/?{query}", path, body=b"", push=True, also=source)
        if answer.status == 202:  # it did not, and has begun an upload instead
            self.cancel_upload(path, _location(self.url, answer))
        return answer.status == 201

    def begin_upload(self, path: str) -> str:
        """Where the registry wants a blob to be sent."""
        answer = self._call("POST", f"/v2/{path}/blobs/uploads/", path, body=b"", push=True)
        self._expect(answer, (202,), f"`{self.host}/{path}`")
        return _location(self.url, answer)

    def cancel_upload(self, path: str, location: str) -> None:
        self._call("DELETE", location, path, push=True)

    def put_blob(
        self, path: str, digest: str, size: int, chunks: Callable[[], Iterable[bytes]], begun: str = ""
    ) -> None:
        """Begun again from the start if it breaks off. `begun`: by `begin_upload`, a moment ago."""
        for attempt in range(TRIES):
            passing = (401, *PASSING, 404) if begun else (401, *PASSING)  # it may have been forgotten meanwhile
            location = begun or self.begin_upload(path)
            begun = ""
            location += ("&" if urlsplit(location).query else "?") + urlencode({"digest": digest})
            headers = {"Content-Type": "application/octet-stream"}
            try:
                answer = self._send("PUT", location, path, Stream(size, chunks()), headers, push=True)
            except NoAnswer as error:
                if attempt + 1 == TRIES:
                    raise self._unreachable(error) from error
            else:
                if answer.status not in passing or attempt + 1 == TRIES:
                    self._expect(answer, (201,), f"blob `{digest}` of `{self.host}/{path}`")
                    return
                self._forget_login()  # it may have grown old while the last one was sent
            self._clock.sleep(FIRST_DELAY_SECONDS * 2**attempt)

    # Requests.

    def _call(
        self,
        method: str,
        target: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        push: bool = False,
        also: str = "",
    ) -> Answer:
        """Tried again where that may help; the answer whatever it says otherwise."""
        for attempt in range(TRIES):
            try:
                answer = self._send(method, target, path, body, headers or {}, push=push, also=also)
            except NoAnswer as error:
                if error.trust or attempt + 1 == TRIES:
                    raise self._unreachable(error) from error
            else:
                if answer.status not in PASSING or attempt + 1 == TRIES:
                    return answer
            self._clock.sleep(FIRST_DELAY_SECONDS * 2**attempt)
        raise AssertionError("the last try returns or raises")

    def _send(
        self,
        method: str,
        target: str,
        path: str,
        body: Body | None,
        headers: Mapping[str, str],
        *,
        push: bool,
        also: str = "",
    ) -> Answer:
        """One exchange, or two if the registry asks who we are."""
        scope = f"repository:{path}:{'pull,push' if push else 'pull'}"
        scopes = (scope, f"repository:{also}:pull") if also else (scope,)
        key = " ".join(scopes)
        url = urljoin(self.url, target)
        ours = url.startswith(f"{self.url}/")
        known = self._authorization.get(key, "") if ours else ""
        answer = self._exchange(method, url, body, headers, known)
        if answer.status != 401 or not ours or isinstance(body, Stream):
            return answer
        if known:  # it has grown old: Google's live for an hour, and a push may take longer
            self._forget_login()
        self._authorization[key] = self._authorize(answer, scopes)
        return self._exchange(method, url, body, headers, self._authorization[key])

    def _exchange(
        self, method: str, url: str, body: Body | None, headers: Mapping[str, str], authorization: str
    ) -> Answer:
        scheme = url.partition(":")[0]
        wire = self._wire or self._wires.get(scheme)
        if wire is None:
            wire = self._wires.setdefault(scheme, wire_for(url, self._environ))
        sent = {"User-Agent": "outlast", **headers, **({"Authorization": authorization} if authorization else {})}
        request = Request(method, url, sent, body)
        return wire.send(request, connect_seconds=CONNECT_SECONDS, stall_seconds=STALL_SECONDS)

    def _follow(self, target: str, path: str, headers: Mapping[str, str]) -> Answer:
        """A blob may lie elsewhere: whoever keeps it there is not told who we are."""
        answer = self._call("GET", target, path, headers=headers)
        at = urljoin(self.url, target)
        for _ in range(REDIRECTS_MAX):
            if answer.status not in (301, 302, 303, 307, 308) or "location" not in answer.headers:
                return answer
            at = urljoin(at, answer.headers["location"])
            answer = self._call("GET", at, path, headers=headers)
        return answer

    def _authorize(self, refused: Answer, scopes: tuple[str, ...]) -> str:
        """The header that the registry's challenge asks for."""
        if self._clock.monotonic() - self._asked_login_at > LOGIN_SECONDS:
            self._asked_login_at = self._clock.monotonic()
            self._login = login_for(self.host, self._environ, self._token)
        basic = "Basic " + base64.b64encode(":".join(self._login).encode()).decode() if self._login else ""
        challenge = refused.headers.get("www-authenticate", "")
        said = dict(_CHALLENGE.findall(challenge))
        if not challenge.lower().startswith("bearer") or "realm" not in said:
            if not basic:
                raise self._denied("it asks for a login, and there is none")
            return basic
        if not may_be_told(self.url, said["realm"]):
            raise self._denied(f"it sends logins to `{said['realm'][:200]}`, without TLS")
        query = [("service", said["service"])] if "service" in said else []
        query += [("scope", scope) for scope in scopes]
        url = f"{said['realm']}{'&' if '?' in said['realm'] else '?'}{urlencode(query, quote_via=quote)}"
        answer = self._exchange("GET", url, None, {}, basic)
        try:
            document = json.loads(bytes(answer.body)) if answer.status == 200 else {}
        except ValueError:
            document = {}
        token = document.get("token") or document.get("access_token") if isinstance(document, dict) else None
        if not isinstance(token, str):
            raise self._denied(f"its login answered {answer.status}")
        return f"Bearer {token}"

    def _forget_login(self) -> None:
        self._authorization.clear()
        self._asked_login_at = float("-inf")

    def _expect(self, answer: Answer, statuses: tuple[int, ...], what: str) -> None:
        if answer.status in statuses:
            return
        if answer.status in (401, 403):
            raise self._denied(f"{what}: it answered {answer.status}{_said(answer)}")
        if answer.status == 404:
            raise NotFound(
                f"`{self.host}` does not have {what}{_said(answer)}",
                hint="look at the name; a repository of Google's must be there before it is pushed to: `outlast init`",
            )
        raise OutlastError(f"`{self.host}` answered {answer.status} to {what}{_said(answer)}")

    def _denied(self, why: str) -> Denied:
        login = "`gcloud auth application-default login`" if self._is_google() else f"`podman login {self.host}`"
        return Denied(
            f"registry `{self.host}`: {why}", hint=f"{login}, or ask for the right to read and write images there"
        )

    def _is_google(self) -> bool:
        from outlast.container.logins import is_google

        return is_google(self.host)

    def _unreachable(self, error: NoAnswer) -> Unreachable:
        return Unreachable(
            f"registry `{self.host}` does not answer: {error.why}", hint="look at its name and the network"
        )


def wire_for(url: str, environ: Mapping[str, str]) -> Wire:
    if url.startswith("http:"):
        from outlast.container.loopback import Loopback

        return Loopback()
    from outlast.google.connections import Connections

    return Connections(environ)


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _location(url: str, answer: Answer) -> str:
    return urljoin(f"{url}/", answer.headers.get("location", ""))


def _errors(answer: Answer) -> list[dict[str, Any]]:
    try:
        found = json.loads(bytes(answer.body)).get("errors")
    except (ValueError, AttributeError):
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _codes(answer: Answer) -> str:
    return " ".join(str(one.get("code", "")) for one in _errors(answer))


def _said(answer: Answer) -> str:
    words = "; ".join(str(one.get("message") or one.get("code") or "") for one in _errors(answer))
    return f": {words[:300]}" if words else ""
