"""Operations of the younger APIs that are done when they are answered, kept so that clients may ask for them again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from outlast_emulator.iam.state import State

KEPT_MAX = 1000


class LongOperations:
    """By name: `projects/P/locations/L/operations/ID`, of whichever API; on Google's hosts each has its own."""

    def __init__(self, directory: Path) -> None:
        self._state = State(directory, "operations.json", dict)

    def add(self, name: str, metadata: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
        """Both with their `@type`."""
        document = {"name": name, "done": True, "metadata": metadata, "response": response}
        with self._state.change() as kept:
            kept[_key(name)] = document
            for oldest in list(kept)[:-KEPT_MAX]:
                del kept[oldest]
        return document

    def find(self, location: str, number: str) -> dict[str, Any] | None:
        found = self._state.document.get(f"{location}/{number}")
        return dict(found) if found is not None else None


def _key(name: str) -> str:
    """A project has an id and a number: both ways lead to the same operation."""
    _, _, _, location, _, number = name.split("/")
    return f"{location}/{number}"
