"""What a planted bug is: a name, the rule that it breaks, and how it is put in and taken out again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from outlast.dataclass import dataclass
from outlast.testing.simulation.run import try_job, try_theme

ISSUE = "the issue's list"
GATHER = "model gather"
LIFE = "model life"
GARBAGE = "model gc"
MISC = "model misc"
FOUND = "found by the simulation"
REFERENCE = "reliability reference"
DIRECTORY = "model dirstore"


@dataclass(frozen=True)
class Planted:
    name: str
    rule: str
    source: str
    replacements: tuple[tuple[Any, str, Any], ...]
    """(owner, attribute, value) of what is replaced."""

    trial: Callable[[int], list[str]]
    """Runs the schedule of a seed; answers the promises that it broke."""

    def planted(self) -> AbstractContextManager[None]:
        return _replaced(self.replacements)


@contextmanager
def _replaced(replacements: tuple[tuple[Any, str, Any], ...]) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, attribute, value in replacements:
            if not hasattr(owner, attribute):
                raise AttributeError(f"{owner!r} has no `{attribute}`: what was planted there must be planted anew")
            if attribute in owner.__dict__:
                stack.callback(setattr, owner, attribute, owner.__dict__[attribute])
            else:
                stack.callback(delattr, owner, attribute)
            setattr(owner, attribute, value)
        yield


def plant(name: str, rule: str, source: str, *replacements: tuple[Any, str, Any], theme: str = "") -> Planted:
    """`theme`: where it must be caught, if it seldom matters elsewhere."""
    return Planted(name, rule, source, replacements, try_theme(theme) if theme else try_job)


def around(original: Callable[..., Any], wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls `wrapper` with the original in front of its arguments."""

    def replacement(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    return replacement
