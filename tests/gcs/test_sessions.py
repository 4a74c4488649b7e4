"""Sessions of uploads: one that has all its bytes is ended, one that is given up is told so."""

from __future__ import annotations

import pytest

from outlast.google.endpoints import GOOGLE
from outlast.google.errors import ApiError
from outlast.google.storage import StorageClient
from outlast.google.wire import Answer
from outlast.store import gcs_uploads
from outlast.store.gcs_uploads import upload_stream
from tests.gcs.test_transport import transport_over
from tests.gcs.wires import ok, refused

SESSION = f"{GOOGLE.storage}/upload/storage/v1/b/x/o?upload_id=1"


@pytest.mark.parametrize("status", [404, 410, 499])
def test_a_session_that_is_gone_has_been_cancelled(status: int) -> None:
    """499 is what Google answers to a session that it has just cancelled."""
    transport, wire, _ = transport_over(Answer(status, {}, b""))
    StorageClient(transport, "x").cancel(SESSION)
    assert [(request.method, request.url) for request in wire.requests] == [("DELETE", SESSION)]


def test_a_session_that_may_not_be_cancelled_is_told() -> None:
    transport, _, _ = transport_over(refused(403, "forbidden"))
    with pytest.raises(ApiError) as caught:
        StorageClient(transport, "x").cancel(SESSION)
    assert caught.value.status == 403


def test_a_session_that_has_every_byte_and_is_not_ended_yet_is_asked_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gcs_uploads, "PIECE_BYTES", 4)
    ended = ok(b'{"generation": "7", "size": "6"}')
    transport, wire, _ = transport_over(ok(location=SESSION), received(4), received(6), ended)
    client = StorageClient(transport, "x")
    assert upload_stream(client, "part", [b"abcdef"], if_generation=None, op="") == (6, 7)
    said = [request.headers["Content-Range"] for request in wire.requests[1:]]
    assert said == ["bytes 0-3/*", "bytes 4-5/6", "bytes */6"]


def received(count: int) -> Answer:
    """So many bytes are there, and more may come."""
    return Answer(308, {"range": f"bytes=0-{count - 1}"}, b"")
