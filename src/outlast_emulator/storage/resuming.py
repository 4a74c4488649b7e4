"""What a PUT to a resumable session does: more bytes, the last of them, or a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast_emulator.errors import ApiError, invalid
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.storage import checks
from outlast_emulator.storage.resources import object_resource
from outlast_emulator.storage.uploads import ContentRange, Session, content_range

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


def resume(emulator: Emulator, session: Session, request: Request) -> Response:
    """The caller holds the session's lock."""
    if session.generation:
        return _ended(emulator, session)
    said = content_range(request.headers.get("content-range", "")) or ContentRange(0, None, request.body.length)
    total = said.total if said.total is not None else session.plan.total
    if said.total is not None and session.plan.total is not None and said.total != session.plan.total:
        raise invalid(f"Invalid request. The total is {said.total} bytes here and was {session.plan.total} before.")
    if said.start is not None:
        whole = _append(emulator, session, request, said, total)
        if not whole:
            return _incomplete(session)
        total = session.size if total is None and said.end is None else total
    if total is None or session.size != total:
        return _incomplete(session)
    return _complete(emulator, session, checks.claimed({"x-goog-hash": request.headers.get("x-goog-hash", "")}))


def _append(emulator: Emulator, session: Session, request: Request, said: ContentRange, total: int | None) -> bool:
    """False: less was kept than was sent, on purpose."""
    assert said.start is not None
    if said.start > session.size:
        raise ApiError(
            503,
            "backendError",
            f"Invalid request.  According to the Content-Range header, the upload offset is {said.start} byte(s), which "
            f"exceeds already uploaded size of {session.size} byte(s).",
        )
    expected = None if said.end is None else said.end - said.start
    if expected is not None and request.body.length not in (None, expected):
        raise _wrong_length(request.body.length or 0, expected, said)
    last = said.end is None or said.end == total
    if total is not None and session.plan.total is None and "content-range" in request.headers:
        emulator.storage.uploads.announce(session, total, keep=not last)
    multiple = max(1, emulator.switches.upload_persists_multiple)
    received = session.append(request.body, session.size - said.start, multiple, last=last)
    if getattr(request.body, "forgets", False):
        session.forget_from(session.size - session.size % multiple)
        return False
    if expected is not None and received != expected:
        raise _wrong_length(received, expected, said)
    if total is not None and session.size > total:
        session.forget_from(0)
        raise invalid(f"Invalid request. More than the announced {total} byte(s) were sent.")
    return True


def _complete(emulator: Emulator, session: Session, late: checks.Claims) -> Response:
    """`late`: what the last request says about the whole, for those who hash while they send."""
    storage, plan = emulator.storage, session.plan
    content = storage.uploads.restart(session)
    try:
        checks.check(content, plan.claims)
        checks.check(content, late)
    except ApiError:
        storage.contents.drop(content.id, False)
        storage.uploads.cancel(session)
        raise
    with (
        storage.database.write()
    ):  # whoever asks after a crash finds both, the object and the session's end, or neither
        stored = storage.objects.put(plan.bucket, plan.name, content, plan.fields, plan.conditions)
        storage.uploads.complete(session, stored.generation)
    storage.contents.drop(session.content_id, False)
    return answer(object_resource(stored, emulator.url))


def _ended(emulator: Emulator, session: Session) -> Response:
    """The answer was lost, or it is asked for again: the object, as long as it is that one."""
    stored = emulator.storage.objects.get(session.plan.bucket, session.plan.name, generation=session.generation)
    return answer(object_resource(stored, emulator.url))


def _incomplete(session: Session) -> Response:
    headers = {"x-guploader-uploadid": session.id, "content-type": "text/html; charset=UTF-8"}
    if session.size:
        headers["range"] = f"bytes=0-{session.size - 1}"
    return Response(308, b"", headers)


def _wrong_length(received: int, expected: int, said: ContentRange) -> ApiError:
    return invalid(
        f"Invalid request.  There were {received} byte(s) in the request body.  There should have been {expected} byte(s) "
        f"(starting at offset {said.start} and ending at offset {(said.end or 1) - 1}) according to the Content-Range header."
    )
