"""What every request to Compute Engine has: an id of its own, an answer that may be no such thing, and refusals in words."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from outlast.google.errors import MEMBER_HINT, ApiError, translated, unreachable
from outlast.google.wire import NoAnswer

T = TypeVar("T")
LOOK_HINT = "`outlast doctor --on compute` looks at project, region and rights, and says what is missing"


def request_id() -> str:
    """Of one request and its repetitions; what makes two calls one is the resource's name."""
    return str(uuid.uuid4())


def or_none(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except ApiError as error:
        if error.status == 404:
            return None
        raise


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Google's refusals, as a user can read them."""
    try:
        yield
    except ApiError as error:
        refused = translated(error, doing, granted=MEMBER_HINT)
        refused.hint = refused.hint or LOOK_HINT
        raise refused from error
    except NoAnswer as error:
        raise unreachable(error, doing) from error
