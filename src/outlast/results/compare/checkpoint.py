"""The training library's own records in a checkpoint: without what differs from one life of a job to the next."""

from __future__ import annotations

import re
from typing import Any

from outlast.pattern import pattern
from outlast.results.compare import json_value
from outlast.results.compare.source import Look, Source

_PASSING = ("attempt", "number", "created_at", "seconds", "files", "metrics")
"""Who saved it, how many saves that was, when, and how long it took: never the same after a kill. Its files are compared by
themselves. What a script logs may be its speed; what it has learned is in its state."""

_GLOBAL = "global"
"""A global generator that nobody seeds is another one in every process; one that is used shows in everything it decides."""

_FOLDER = pattern(r"(^|/)(step-\d{12})\.\d+(?=/)")


def steady_path(path: str) -> str:
    """A step that was saved twice lies in `step-000000000120.2`: the same step, however often."""
    return _FOLDER.sub(r"\1\2", path)


def is_record(source: Source) -> bool:
    return _named("checkpoint", source)


def is_generators(source: Source) -> bool:
    return _named("generators", source)


def compare_records(reference: Source, other: Source, look: Look) -> str:
    left, right = (_steady(json_value.load(source)) for source in (reference, other))
    return json_value.compare_values(left, right, "", look)


def compare_generators(reference: Source, other: Source, look: Look) -> str:
    left, right = (_without_global(json_value.load(source)) for source in (reference, other))
    return json_value.compare_values(left, right, "", look)


def _named(name: str, source: Source) -> bool:
    """Also of another rank, and of a loop that ended before this one."""
    return re.search(rf"(^|/)step-\d{{12}}(\.\d+)?/(rank-\d+/)?(ended/\d+/)?{name}\.json$", source.name) is not None


def _without_global(document: Any) -> Any:
    if isinstance(document, list):
        return [_without_global(item) for item in document]
    if not isinstance(document, dict):
        return document
    return {name: _without_global(item) for name, item in document.items() if name != _GLOBAL}


def _steady(document: Any) -> Any:
    if not isinstance(document, dict):
        return document
    steady = {name: value for name, value in document.items() if name not in _PASSING}
    outputs = steady.get("outputs")
    if isinstance(outputs, list):
        # The outputs themselves are compared, each by its own rule: here it counts only that they are there.
        steady["outputs"] = sorted(str(output.get("path")) for output in outputs if isinstance(output, dict))
    return steady
