"""The way of a request through the emulator: steps around an operation, outermost first.

A step gets the request (route found, body not read yet) and the next one; it may answer itself, raise `ApiError`, or look at
what comes back. The order is an argument: a fault hits before anybody is asked for a permission, as a broken front end
does; a caller without permission learns nothing about the request's faults; and only what may be done is validated.

    record -> faults -> inflate -> authorize -> enabled -> validate -> operation
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Operation

Step = Callable[[Request, Operation], Response]


def joined(steps: Sequence[Step]) -> Operation:
    """One function that goes through all steps and ends in the route's operation."""
    following: Operation = _operation
    for step in reversed(steps):
        following = _bound(step, following)
    return following


def _operation(request: Request) -> Response:
    assert request.route is not None
    return request.route.operation(request)


def _bound(step: Step, following: Operation) -> Operation:
    def call(request: Request) -> Response:
        return step(request, following)

    return call
