"""Requests to Google's APIs that arrive: with a token that lives, tried again when that may help, within limits."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from random import Random

from outlast.clock import Clock
from outlast.errors import OutlastError
from outlast.google.auth.credentials import Credentials, Token
from outlast.google.auth.find import find_credentials
from outlast.google.endpoints import Endpoints
from outlast.google.errors import ApiError, passing, translated, unreachable, untouched
from outlast.google.wire import Answer, NoAnswer, Request, Stream, Wire

CONNECT_SECONDS = 10.0
STALL_SECONDS = 20.0
"""A connection that stands still for so long is given up."""

RETRY_SECONDS = 30.0
"""For how long one call is tried: a burst of refusals passes; an outage is somebody's to decide about."""

UNSENT_SECONDS = 5.0
"""The same where nothing has left this machine: no network is soon known."""

FIRST_DELAY_SECONDS = 0.5
DELAY_SECONDS_MAX = 16.0
"""The longest wait before the second try, doubled before each further one up to the other."""

RENEW_SECONDS = 300.0
"""A token is renewed so long before its end, or at half its life if that is shorter."""

RENEW_AGAIN_SECONDS = 10.0
"""A token that could not be renewed and still lives is used on; the next try comes after so long."""

USER_AGENT = "outlast"


def _nothing_else(answer: Answer) -> bool:
    return False


def _unseen(answer: Answer) -> None:
    return


class Transport:
    def __init__(
        self,
        endpoints: Endpoints,
        wire: Wire,
        clock: Clock,
        random: Random,
        environ: Mapping[str, str],
        *,
        credentials: Credentials | None = None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self.endpoints = endpoints
        self._wire = wire
        self._clock = clock
        self._random = random
        self._environ = environ
        self._retry_seconds = retry_seconds
        self._given = credentials
        self._dated = ("", 0.0)
        self._begin()

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._renewing = threading.Lock()
        self._credentials = self._given
        self._token: Token | None = None
        self._renew_at = self._ends_at = 0.0

    @property
    def credentials(self) -> Credentials:
        """Looked for when they are first needed."""
        if self._credentials is None:
            self._credentials = find_credentials(self._environ, self.endpoints, self._wire, self._clock)
        return self._credentials

    def call(
        self,
        request: Request,
        *,
        accept: Callable[[Answer], bool] = _nothing_else,
        observe: Callable[[Answer], None] = _unseen,
        once: bool = False,
        stall_seconds: float | None = None,
    ) -> Answer:
        """The answer, if it is a success or `accept` takes it; else `ApiError`. `NoAnswer` when nobody answers in time.

        The same request may reach the server several times: whoever writes with a condition looks at `uncertain`.
        `observe` sees every answer, also those that lead to another try. `once`: the caller itself knows what to do after a
        failure. `stall_seconds`: of a call that is slow by nature.
        """
        uncertain = False
        tries = 0
        renewed = False
        began_at = self._clock.monotonic()
        while True:
            failed: Exception
            wait_least = 0.0
            limit = self._retry_seconds
            try:
                answer = self._wire.send(
                    Request(request.method, request.url, self._headers(request), request.body, request.place),
                    connect_seconds=CONNECT_SECONDS,
                    stall_seconds=stall_seconds or STALL_SECONDS,
                )
            except NoAnswer as error:
                uncertain = uncertain or error.sent
                limit = self._retry_seconds if error.sent else UNSENT_SECONDS
                if error.trust:
                    raise
                failed = error
            else:
                self._dated = (answer.headers.get("date", ""), self._clock.monotonic())
                observe(answer)
                if uncertain:
                    answer = replace(answer, uncertain=True)
                if 200 <= answer.status < 300 or accept(answer):
                    return answer
                failed = ApiError(answer)
                if answer.status == 401 and not renewed:
                    renewed = True
                    self._forget_token()
                    if not isinstance(request.body, Stream):  # which has been read
                        continue
                if not passing(answer):
                    raise failed
                uncertain = uncertain or not untouched(answer)
                wait_least = _retry_after(answer)
            left = began_at + limit - self._clock.monotonic()
            if once or left <= 0 or wait_least > left:
                raise failed
            self._clock.sleep(min(left, max(wait_least, self._delay(tries))))
            tries += 1

    def now(self) -> float:
        """The time there by the last answer, which is what its documents are dated by; before the first one, this machine's."""
        text, heard_at = self._dated
        date = read_date(text)
        return date + self._clock.monotonic() - heard_at if date else self._clock.now()

    def pause(self, tries: int) -> None:
        """Before one more try, of a caller that counts them itself."""
        self._clock.sleep(self._delay(tries))

    def _delay(self, tries: int) -> float:
        """Anything between nothing and the bound, so that those who failed together do not come back together."""
        return self._random.uniform(0.0, min(DELAY_SECONDS_MAX, FIRST_DELAY_SECONDS * 2**tries))

    def explain(self, error: ApiError | NoAnswer, doing: str, *, bucket: str = "") -> OutlastError:
        """A failed call as a user can read it."""
        if isinstance(error, NoAnswer):
            return unreachable(error, doing)
        who = self._credentials.account if self._credentials is not None else ""
        return translated(error, doing, who=who, bucket=bucket)

    def _headers(self, request: Request) -> dict[str, str]:
        headers = {"User-Agent": USER_AGENT, **request.headers}
        token = self._live_token()
        # A session's url was made by the server.
        if token and self.endpoints.takes_token(request.url):
            headers["Authorization"] = f"Bearer {token}"
            if self.credentials.quota_project:
                headers["x-goog-user-project"] = self.credentials.quota_project
        return headers

    def _live_token(self) -> str:
        if self._owner != os.getpid():
            self._begin()  # a lock that another thread held at the fork stays held for ever
        token = self._token
        if token is not None and self._clock.monotonic() < self._renew_at:
            return token.value
        with self._renewing:
            now = self._clock.monotonic()
            if self._token is None or now >= self._renew_at:
                try:
                    self._token = self.credentials.renew()
                    lives = self._token.lives_seconds
                    self._ends_at, self._renew_at = now + lives, now + lives - min(RENEW_SECONDS, lives / 2)
                except (NoAnswer, ApiError) as error:
                    if self._token is None or now >= self._ends_at:
                        raise NoAnswer(f"no new token: {error}", sent=False) from error
                    self._renew_at = now + RENEW_AGAIN_SECONDS
            return self._token.value

    def _forget_token(self) -> None:
        self._token = None


def _retry_after(answer: Answer) -> float:
    """Seconds that the server asks for: a number, or a date by its own clock."""
    text = answer.headers.get("retry-after", "").strip()
    if not text:
        return 0.0
    if text.isascii() and text.isdigit():
        return float(text)
    asked, now = read_date(text), read_date(answer.headers.get("date", ""))
    return max(0.0, asked - now) if asked and now else 0.0


@functools.lru_cache(maxsize=8)
def read_date(text: str) -> float:
    """An HTTP date in seconds since 1970; 0: it is none."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return 0.0
