"""The training library's own `checkpoint.json`: without what differs from one life of a job to the next."""

from __future__ import annotations

import re
from typing import Any

from outlast.results.compare import json_value
from outlast.results.compare.source import Look, Source

NAME = "checkpoint.json"
_PASSING = ("attempt", "number", "created_at")
"""Who saved it, how many saves that was, and when: never the same after a kill."""

_FOLDER = re.compile(r"(^|/)(step-\d{12})\.\d+(?=/)")


def steady_path(path: str) -> str:
    """A step that was saved twice lies in `step-000000000120.2`: the same step, however often."""
    return _FOLDER.sub(r"\1\2", path)


def matches(source: Source) -> bool:
    return re.search(r"(^|/)step-\d{12}(\.\d+)?/checkpoint\.json$", source.name) is not None


def compare(reference: Source, other: Source, look: Look) -> str:
    left, right = (_steady(json_value.load(source)) for source in (reference, other))
    return json_value.compare_values(left, right, "", look)


def _steady(document: Any) -> Any:
    if not isinstance(document, dict):
        return document
    steady = {name: value for name, value in document.items() if name not in _PASSING}
    outputs = steady.get("outputs")
    if isinstance(outputs, list):
        # The outputs themselves are compared, each by its own rule: here it counts only that they are there.
        steady["outputs"] = sorted(str(output.get("path")) for output in outputs if isinstance(output, dict))
    return steady
