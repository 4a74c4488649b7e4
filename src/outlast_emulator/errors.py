"""What a request is refused with: Google's statuses, reasons and words.

An operation raises `ApiError`; its route renders it (as JSON here, as XML in the XML API). Nothing else may escape from an
operation: what does is answered 500 and printed, since it is a bug of the emulator.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from outlast_emulator.response import Response


class ApiError(Exception):
    """A refusal. `reason` is the word that clients decide by (`conditionNotMet`, `notFound`, `rateLimitExceeded`...)."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        location: str = "",
        location_type: str = "",
        domain: str = "global",
        headers: dict[str, str] | None = None,
        grpc_status: str = "",
        details: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.location = location
        self.location_type = location_type
        self.domain = domain
        self.headers = headers or {}
        self.undocumented = False
        """The discovery documents do not know what was asked."""
        self.grpc_status = grpc_status
        """The APIs that are younger than Cloud Storage also name one: `NOT_FOUND`, `INVALID_ARGUMENT`..."""
        self.details = details
        """Not None: the envelope of those APIs, which has details (`young` makes it) and no list of errors."""


def json_error(error: ApiError) -> Response:
    """Google's envelope: `{"error": {"code", "message", "errors": [{"message", "domain", "reason", ...}]}}`."""
    if error.status == 304:
        return Response(304, headers=dict(error.headers))
    first: dict[str, Any] = {"message": error.message, "domain": error.domain, "reason": error.reason}
    if error.location:
        first["locationType"] = error.location_type
        first["location"] = error.location
    document: dict[str, Any] = {"code": error.status, "message": error.message}
    if error.details is None:
        document["errors"] = [first]
    if error.grpc_status:
        document["status"] = error.grpc_status
    if error.details:
        document["details"] = list(error.details)
    body = json.dumps({"error": document}, indent=2).encode()
    return Response(error.status, body, {"content-type": "application/json; charset=UTF-8", **error.headers})


ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
GRPC_STATUSES = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "UNAVAILABLE": 503,
}


def young(status: str, message: str, *, reason: str = "", domain: str = "", **metadata: str) -> ApiError:
    """A refusal as the APIs word it that came after Cloud Storage and Compute Engine: `NOT_FOUND`, with details."""
    info = {"@type": ERROR_INFO, "reason": reason, "domain": domain or "googleapis.com", "metadata": metadata}
    return ApiError(
        GRPC_STATUSES[status], reason or status, message, grpc_status=status, details=[info] if reason else []
    )


def invalid(message: str, *, reason: str = "invalid", location: str = "", location_type: str = "parameter") -> ApiError:
    return ApiError(400, reason, message, location=location, location_type=location_type if location else "")


def required(parameter: str) -> ApiError:
    return ApiError(400, "required", f"Required parameter: {parameter}", location=parameter, location_type="parameter")


def not_found(what: str) -> ApiError:
    return ApiError(404, "notFound", what)


def condition_not_met(header: str = "If-Match") -> ApiError:
    return ApiError(
        412,
        "conditionNotMet",
        "At least one of the pre-conditions you specified did not hold.",
        location=header,
        location_type="header",
    )


def not_implemented(method_id: str) -> ApiError:
    """What the emulator does not know it says, with the method's name: never a plausible guess."""
    return ApiError(501, "notImplemented", f"The emulator does not implement `{method_id}`.")
