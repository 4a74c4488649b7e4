"""An upload that is given up: its session is told so, and one that is gone already is as good."""

from __future__ import annotations

import pytest

from outlast.google.endpoints import GOOGLE
from outlast.google.errors import ApiError
from outlast.google.storage import StorageClient
from outlast.google.wire import Answer
from tests.gcs.test_transport import transport_over
from tests.gcs.wires import refused

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
