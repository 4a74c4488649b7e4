"""Refusals of the XML API: `<Error><Code>...</Code><Message>...</Message></Error>`."""

from __future__ import annotations

from xml.sax.saxutils import escape

from outlast_emulator.errors import ApiError, json_error
from outlast_emulator.response import Response

XML_TYPE = "application/xml; charset=UTF-8"


class XmlError(ApiError):
    """A refusal with a code that status and reason alone do not tell."""

    def __init__(self, status: int, code: str, message: str, details: str = "") -> None:
        super().__init__(status, code, message)
        self.code = code
        self.note = details


class NoSuchPath(ApiError):
    """Below a path that belongs to another API: answered as that one would."""


_BY_REASON = {
    "notFound": ("NoSuchKey", "The specified key does not exist."),
    "conditionNotMet": ("PreconditionFailed", "At least one of the pre-conditions you specified did not hold."),
    "forbidden": ("AccessDenied", "Access denied."),
    "required": ("AuthenticationRequired", "Authentication required."),
    "authError": ("AuthenticationRequired", "Authentication required."),
    "rateLimitExceeded": ("SlowDown", "Please reduce your request rate."),
    "requestedRangeNotSatisfiable": ("InvalidRange", "The requested range cannot be satisfied."),
    "conflict": ("Conflict", ""),
    "notImplemented": ("NotImplemented", ""),
    "uploadTooLarge": ("EntityTooLarge", ""),
    "backendError": ("InternalError", "We encountered an internal error. Please try again."),
}
_BY_STATUS = {400: "InvalidArgument", 408: "RequestTimeout", 500: "InternalError", 503: "ServiceUnavailable"}


def xml_error(error: ApiError) -> Response:
    if isinstance(error, NoSuchPath):
        return json_error(error)
    if error.status == 304:
        return Response(304, headers=dict(error.headers))
    code, message, details = code_and_message(error)
    inside = f"<Code>{escape(code)}</Code><Message>{escape(_legal(message))}</Message>"
    if details:
        inside += f"<Details>{escape(_legal(details))}</Details>"
    text = f"<?xml version='1.0' encoding='UTF-8'?><Error>{inside}</Error>"
    return Response(error.status, text.encode("utf-8", "replace"), {**error.headers, "content-type": XML_TYPE})


def code_and_message(error: ApiError) -> tuple[str, str, str]:
    """And details."""
    if isinstance(error, XmlError):
        return error.code, error.message, error.note
    code, message = _BY_REASON.get(error.reason, (_BY_STATUS.get(error.status, error.reason), ""))
    details = error.message if message and message != error.message else ""
    return code, message or error.message, details


def _legal(text: str) -> str:
    """XML has no control characters; a name that holds some is told without them."""
    return "".join(letter if letter >= " " or letter in "\t\n\r" else "?" for letter in text)


def no_such_upload() -> XmlError:
    return XmlError(404, "NoSuchUpload", "The requested upload was not found.")
