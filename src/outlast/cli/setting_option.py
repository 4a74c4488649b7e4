"""An option whose value may also come from a variable or a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from outlast.cli.options import Value


def setting_option(name: str, metavar: str, text: str, *, several: bool = False) -> Callable[[Any], Any]:
    """Its values are those that a file may have."""

    def read(value: str) -> Any:
        from outlast.spec.settings import BY_NAME

        return BY_NAME[name].read(value)

    return click.option(
        f"--{name}",
        name.replace("-", "_"),
        type=Value(name, read, "legal"),
        metavar=metavar,
        multiple=several,
        help=text,
    )
