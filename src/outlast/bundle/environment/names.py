"""Names of projects and of wheels."""

from __future__ import annotations

import re

from outlast.pattern import pattern

_WHEEL_NAME = pattern(r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl", re.DOTALL)


def name_and_version(wheel: str) -> tuple[str, str]:
    """From the file's name, the project's name in its normal form; ValueError if it is no wheel's."""
    found = _WHEEL_NAME.fullmatch(wheel)
    if found is None or "/" in wheel or not wheel.isprintable():
        raise ValueError(wheel)
    return normal(found["name"]), found["version"]


def normal(name: str) -> str:
    """As projects are compared: `Foo.bar_baz` is `foo-bar-baz`."""
    return re.sub(r"[-_.]+", "-", name).lower()
