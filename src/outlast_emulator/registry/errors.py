"""Refusals as registries word them: `{"errors": [{"code", "message", "detail"}]}`."""

from __future__ import annotations

from outlast_emulator.errors import ApiError, json_error
from outlast_emulator.response import Response, answer

CODES = {
    "BLOB_UNKNOWN": 404,
    "BLOB_UPLOAD_INVALID": 400,
    "BLOB_UPLOAD_UNKNOWN": 404,
    "DIGEST_INVALID": 400,
    "MANIFEST_BLOB_UNKNOWN": 404,
    "MANIFEST_INVALID": 400,
    "MANIFEST_UNKNOWN": 404,
    "NAME_INVALID": 400,
    "NAME_UNKNOWN": 404,
    "SIZE_INVALID": 416,
    "UNSUPPORTED": 405,
}
BY_STATUS = {401: "UNAUTHORIZED", 403: "DENIED", 404: "NAME_UNKNOWN", 429: "TOOMANYREQUESTS"}
"""Of refusals that came before the registry was asked: logins, permissions, faults."""


class RegistryError(ApiError):
    def __init__(self, code: str, message: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(CODES[code], code, message, headers=headers)


def rendered(error: ApiError, challenge: str) -> Response:
    """`challenge`: where tokens are to be had, said to whoever has none."""
    if error.status >= 500:
        return json_error(error)
    code = error.reason if isinstance(error, RegistryError) else BY_STATUS.get(error.status, "UNSUPPORTED")
    headers = {**error.headers, **({"www-authenticate": challenge} if error.status == 401 else {})}
    document = {"errors": [{"code": code, "message": error.message, "detail": {}}]}
    return answer(document, error.status, headers)
