"""Google's refusals, translated at the border by one table.

    ApiError                         an answer that is no success, with Google's own words
        translated(...)  ->  Denied, NotFound, NoCapacity, StoreUnavailable, UsageError, StoreError

Only the status and the `reason` decide; the message is for people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from outlast.errors import Denied, NoCapacity, NotFound, OutlastError, StoreError, StoreUnavailable, UsageError
from outlast.google.wire import Answer, NoAnswer

RETRIED = frozenset({408, 429, 500, 502, 503, 504})
"""Passing troubles of the server, or of what stands between."""

UNTOUCHED = frozenset({429})
"""Of these: nothing was done."""

RATE_REASONS = frozenset({"rateLimitExceeded", "userRateLimitExceeded"})
"""A 403 for one of these is a 429 by another name."""

MESSAGE_CHARACTERS_MAX = 400

ERRORS: Mapping[int, type[OutlastError]] = {
    400: StoreError,
    401: Denied,
    403: Denied,
    404: NotFound,
    409: StoreUnavailable,
    411: StoreError,
    412: StoreUnavailable,
    413: StoreError,
    416: StoreError,
}
REASONS: Mapping[str, type[OutlastError]] = {
    "quotaExceeded": NoCapacity,
    "dailyLimitExceeded": NoCapacity,
}
HINTS: Mapping[str, str] = {
    "accountDisabled": "the project's billing is off: look at it in the Cloud console",
    "userProjectMissing": "the bucket's reader pays: `gcloud auth application-default set-quota-project PROJECT`",
    "userProjectAccountProblem": "the quota project's billing is off, or it is not yours to use",
    "UserProjectAccountProblem": "the quota project's billing is off, or it is not yours to use",
}

OFF_REASONS = frozenset({"SERVICE_DISABLED", "accessNotConfigured"})
OFF_HINT = "`outlast init` switches the API on"
USER_PROJECT_DENIED = "USER_PROJECT_DENIED"
USER_PROJECT_HINT = (
    "your login names a quota project that you may not use: `gcloud auth application-default set-quota-project PROJECT` names "
    "another, or whoever owns it types `outlast init --member YOU`"
)
MEMBER_HINT = "`outlast doctor --on compute` says what is missing; whoever owns the project grants it: `outlast init --member YOU`"


class ApiError(Exception):
    def __init__(self, answer: Answer) -> None:
        self.status = answer.status
        self.reason, self.message = _words(answer)
        self.metadata = _metadata(answer)
        """What else Google says about it in fields: the `permission` that is missing, the `service` that is off."""

        self.uncertain = answer.uncertain
        self.answer = answer
        super().__init__(f"{self.status} {self.reason}: {self.message}")


def passing(answer: Answer) -> bool:
    """Asking again may help."""
    if answer.status in RETRIED:
        return True
    return answer.status == 403 and _words(answer)[0] in RATE_REASONS


def untouched(answer: Answer) -> bool:
    """The server says that it has not done it."""
    return answer.status in UNTOUCHED or answer.status == 403


def is_off(error: ApiError) -> bool:
    """The API itself is not on in the project."""
    return error.status == 403 and (error.reason in OFF_REASONS or error.metadata.get("reason") in OFF_REASONS)


def translated(error: ApiError, doing: str, *, who: str = "", bucket: str = "", granted: str = "") -> OutlastError:
    """As a user can read it. `doing`: what was asked, with its values; `who`: the account that asked; `bucket`: of what; `granted`: how a
    right that is missing is granted, if it is none on a bucket."""
    kind = REASONS.get(error.reason) or ERRORS.get(error.status)
    if kind is None:
        kind = StoreUnavailable if error.status >= 500 or error.status in RETRIED else StoreError
    said = error.message or error.reason or "no reason was given"
    asker = f" as `{who}`" if who and kind is Denied else ""
    message = f"{doing}{asker}: {said} ({error.status})"
    if is_off(error):
        return kind(message, hint=OFF_HINT)
    if error.metadata.get("reason") == USER_PROJECT_DENIED:
        return kind(message, hint=USER_PROJECT_HINT)
    if kind is Denied and error.status == 403 and (granted or error.metadata.get("permission")):
        return kind(message, hint=granted or MEMBER_HINT)
    return kind(message, hint=HINTS.get(error.reason, _hint(kind, error.status, who, bucket)))


def unreachable(error: NoAnswer, doing: str) -> OutlastError:
    if error.trust:
        return UsageError(
            f"{doing}: {error.why}",
            hint="behind a proxy that opens TLS, set SSL_CERT_FILE to the file with its certificate",
        )
    return StoreUnavailable(
        f"{doing}: {error.why}", hint="look at the network, and at HTTPS_PROXY; what was begun goes on when it is back"
    )


def _hint(kind: type[OutlastError], status: int, who: str, bucket: str) -> str:
    if status == 401:
        return "`gcloud auth application-default login`"
    if kind is Denied:
        return (
            f"whoever owns the bucket grants it: `gcloud storage buckets add-iam-policy-binding gs://{bucket or 'BUCKET'} "
            f"--member={_member(who)} --role=roles/storage.objectUser`"
        )
    return ""


def _member(who: str) -> str:
    """As a policy names an account; what we call one without an address is for its owner to name."""
    if "@" not in who:
        return "user:YOU"
    return f"serviceAccount:{who}" if who.endswith(".gserviceaccount.com") else f"user:{who}"


def _words(answer: Answer) -> tuple[str, str]:
    """(reason, message) of Google's JSON error; of anything else, its first words."""
    try:
        document: Any = json.loads(answer.body)
        error = document["error"]
        if isinstance(error, str):  # the token endpoint's form
            return error, str(document.get("error_description", ""))[:MESSAGE_CHARACTERS_MAX]
        reasons = [one["reason"] for one in error.get("errors", []) if isinstance(one.get("reason"), str)]
        return (reasons[0] if reasons else str(error.get("status", ""))), str(error.get("message", ""))[
            :MESSAGE_CHARACTERS_MAX
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        text = answer.body[:MESSAGE_CHARACTERS_MAX].decode(errors="replace").strip()
        return "", "" if text.startswith("<") else text


def _metadata(answer: Answer) -> Mapping[str, str]:
    """Of the first detail that has any: only the younger APIs send them."""
    try:
        details = json.loads(answer.body)["error"]["details"]
        found = [one for one in details if isinstance(one.get("metadata"), dict)]
        return {"reason": str(found[0].get("reason", "")), **found[0]["metadata"]} if found else {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
