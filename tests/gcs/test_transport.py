"""What becomes of one request: tokens, tries, limits. No network: the wire is in the test's hands."""

from __future__ import annotations

from random import Random

import pytest

from outlast.errors import Denied, StoreUnavailable, UsageError
from outlast.google.auth.credentials import Anonymous, Token
from outlast.google.endpoints import GOOGLE
from outlast.google.errors import ApiError
from outlast.google.transport import RETRY_SECONDS, UNSENT_SECONDS, Transport, read_date
from outlast.google.wire import NoAnswer, Request
from tests.gcs.wires import LOST, UNSENT, HandClock, Reply, ScriptedWire, ok, refused

ASKED = Request("GET", f"{GOOGLE.storage}/storage/v1/b/x")


class Numbered:
    """Tokens 1, 2, 3, each an hour long."""

    account, quota_project, project = "me@example.com", "", ""

    def __init__(self) -> None:
        self.count = 0
        self.failing: Exception | None = None

    def renew(self) -> Token:
        if self.failing is not None:
            raise self.failing
        self.count += 1
        return Token(f"token-{self.count}", 3600.0)


def transport_over(*replies: Reply, credentials: object = None) -> tuple[Transport, ScriptedWire, HandClock]:
    wire, clock = ScriptedWire(*replies), HandClock()
    made = credentials or Anonymous()
    return Transport(GOOGLE, wire, clock, Random(0), {}, credentials=made), wire, clock  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_passes_is_asked_for_again(status: int) -> None:
    transport, wire, clock = transport_over(refused(status), refused(status), ok())
    assert transport.call(ASKED).status == 200
    assert len(wire.requests) == 3
    assert len(clock.slept) == 2


def test_a_limit_of_rate_that_is_told_as_a_403_passes_too() -> None:
    transport, wire, _ = transport_over(refused(403, "rateLimitExceeded"), ok())
    assert transport.call(ASKED).status == 200
    assert len(wire.requests) == 2


@pytest.mark.parametrize("status", [400, 403, 404, 409, 412])
def test_what_does_not_pass_is_told_at_once(status: int) -> None:
    transport, wire, _ = transport_over(refused(status, "forbidden"))
    with pytest.raises(ApiError) as caught:
        transport.call(ASKED)
    assert (caught.value.status, caught.value.reason, len(wire.requests)) == (status, "forbidden", 1)


def test_waits_are_drawn_between_nothing_and_a_bound_that_doubles() -> None:
    transport, _, clock = transport_over(refused(503))
    with pytest.raises(ApiError):
        transport.call(ASKED)
    bounds = [0.5 * 2**number for number in range(len(clock.slept))]
    assert all(0 <= slept <= bound for slept, bound in zip(clock.slept, bounds, strict=True))
    assert len({round(slept / bound, 2) for slept, bound in zip(clock.slept, bounds, strict=True)}) > 2
    assert sum(clock.slept) <= RETRY_SECONDS + 1e-6


@pytest.mark.parametrize(("asked", "seconds"), [("7", 7.0), ("Sun, 15 Nov 2026 10:00:09 GMT", 9.0), ("soon", 0.0)])
def test_a_server_that_says_when_is_not_asked_before(asked: str, seconds: float) -> None:
    busy = refused(503, retry_after=asked, date="Sun, 15 Nov 2026 10:00:00 GMT")
    transport, _, clock = transport_over(busy, ok())
    transport.call(ASKED)
    assert clock.slept[0] >= seconds
    assert clock.slept[0] <= max(seconds, 0.5)


def test_what_time_it_is_there_is_what_the_last_answer_said() -> None:
    """A machine on which an image is made is no leak because this laptop's calendar is a day ahead."""
    transport, _, clock = transport_over(ok(date="Sun, 15 Nov 2026 10:00:00 GMT"))
    assert transport.now() == clock.now(), "nobody has answered yet"
    transport.call(ASKED)
    clock.wall += 86400
    clock.pass_by(7)
    assert transport.now() == read_date("Sun, 15 Nov 2026 10:00:07 GMT")


def test_a_server_that_asks_for_more_time_than_there_is_is_not_waited_for() -> None:
    transport, wire, clock = transport_over(refused(503, retry_after="3600"))
    with pytest.raises(ApiError):
        transport.call(ASKED)
    assert (len(wire.requests), clock.slept) == (1, [])


def test_no_network_is_known_sooner_than_a_server_that_is_silent() -> None:
    transport, _, clock = transport_over(UNSENT)
    with pytest.raises(NoAnswer):
        transport.call(ASKED)
    assert sum(clock.slept) <= UNSENT_SECONDS


def test_an_answer_after_a_lost_one_says_that_the_outcome_was_uncertain() -> None:
    for before, uncertain in ((LOST, True), (UNSENT, False), (refused(503), True), (refused(429), False)):
        transport, _, _ = transport_over(before, refused(412))
        with pytest.raises(ApiError) as caught:
            transport.call(ASKED)
        assert caught.value.uncertain is uncertain


def test_a_certificate_that_is_not_trusted_is_not_tried_again() -> None:
    transport, wire, _ = transport_over(NoAnswer("self-signed certificate", sent=False, trust=True))
    with pytest.raises(NoAnswer) as caught:
        transport.call(ASKED)
    assert len(wire.requests) == 1
    told = transport.explain(caught.value, "cannot read `x`")
    assert isinstance(told, UsageError) and "SSL_CERT_FILE" in told.hint


def test_a_token_is_renewed_before_its_end_and_not_sooner() -> None:
    credentials = Numbered()
    transport, wire, clock = transport_over(ok(), credentials=credentials)
    sent = []
    for _ in range(8):
        transport.call(ASKED)
        sent.append(wire.requests[-1].headers["Authorization"])
        clock.pass_by(1000.0)
    assert sent == [f"Bearer token-{number}" for number in (1, 1, 1, 1, 2, 2, 2, 2)]


def test_a_token_that_cannot_be_renewed_is_used_while_it_lives() -> None:
    credentials = Numbered()
    transport, wire, clock = transport_over(ok(), credentials=credentials)
    transport.call(ASKED)
    credentials.failing = LOST
    clock.pass_by(3400.0)
    transport.call(ASKED)
    assert wire.requests[-1].headers["Authorization"] == "Bearer token-1"
    clock.pass_by(300.0)
    with pytest.raises(NoAnswer):
        transport.call(ASKED)


def test_a_token_endpoint_that_is_away_for_a_moment_is_asked_again() -> None:
    credentials = Numbered()
    credentials.failing = ApiError(refused(503))
    transport, _, clock = transport_over(ok(), credentials=credentials)
    waited = clock.sleep

    def heal(seconds: float) -> None:
        waited(seconds)
        credentials.failing = None

    clock.sleep = heal  # type: ignore[method-assign]
    assert transport.call(ASKED).status == 200


def test_a_401_is_answered_once_with_a_new_token() -> None:
    credentials = Numbered()
    transport, wire, clock = transport_over(refused(401), ok(), credentials=credentials)
    assert transport.call(ASKED).status == 200
    assert [request.headers["Authorization"] for request in wire.requests] == ["Bearer token-1", "Bearer token-2"]
    assert clock.slept == []
    transport, wire, _ = transport_over(refused(401), credentials=credentials)
    with pytest.raises(ApiError) as caught:
        transport.call(ASKED)
    assert len(wire.requests) == 2
    told = transport.explain(caught.value, "cannot read `x`")
    assert isinstance(told, Denied) and "gcloud auth application-default login" in told.hint


def test_a_token_is_shown_to_nobody_but_the_api() -> None:
    transport, wire, _ = transport_over(ok(), credentials=Numbered())
    transport.call(Request("PUT", "https://storage.googleapis.com.example.com/upload"))
    transport.call(Request("PUT", "http://storage.googleapis.com/upload"))
    assert not any("Authorization" in request.headers for request in wire.requests)


def test_the_quota_project_is_named() -> None:
    credentials = Numbered()
    credentials.quota_project = "paying"
    transport, wire, _ = transport_over(ok(), credentials=credentials)
    transport.call(ASKED)
    assert wire.requests[0].headers["x-goog-user-project"] == "paying"


def test_a_refusal_names_the_account_and_the_permission_that_it_lacks() -> None:
    transport, _, _ = transport_over(refused(403, "forbidden"), credentials=Numbered())
    with pytest.raises(ApiError) as caught:
        transport.call(ASKED)
    told = transport.explain(caught.value, "cannot read `gs://b/k`")
    assert isinstance(told, Denied)
    assert told.message == "cannot read `gs://b/k` as `me@example.com`: no (403)"


def test_every_status_that_is_no_success_becomes_an_error_that_a_user_can_see() -> None:
    transport, _, _ = transport_over(ok())
    for status in range(300, 600):
        error = transport.explain(ApiError(refused(status)), "cannot do it")
        assert str(status) in error.message
        if status >= 500:
            assert isinstance(error, StoreUnavailable)
