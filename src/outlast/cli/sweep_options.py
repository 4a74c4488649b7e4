"""The options of `outlast run` that make a sweep of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from outlast.cli.options import whole

OLDER_NAMES = {"experiment-config": "sweep"}

SWEEP_ONLY = ("search", "trials", "metric", "goal", "early", "seed", "parallel", "cells_per_machine", "rerun")
"""They mean nothing for one training."""


def sweep_options(callback: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            click.option(
                "--sweep",
                metavar="FILE|stdin",
                help="Run every combination of the values in it, as one thing: a sweep.",
            ),
            click.option("--xgroup", metavar="NAME", hidden=True, help="A sweep's name, as an older tool wanted it."),
            click.option(
                "--search",
                type=click.Choice(["random", "sobol", "tpe"]),
                help="With --sweep: choose --trials cells from its ranges, instead of all combinations.",
            ),
            click.option("--trials", type=whole(1), metavar="N", help="How many cells a search has."),
            click.option("--metric", metavar="NAME", help="What a sweep is about, as the script logs it."),
            click.option(
                "--goal",
                type=click.Choice(["min", "max"]),
                help="Whether less or more of it is better; by its name if not said.",
            ),
            click.option(
                "--early",
                type=click.Choice(["asha", "median"]),
                help="End cells early that do worse than others at the same step.",
            ),
            click.option("--seed", type=whole(0), metavar="N", help="Of a search: another one tries other cells."),
            click.option(
                "--parallel",
                type=whole(1),
                metavar="N",
                help="How many machines a sweep has; what there is room for if not said.",
            ),
            click.option(
                "--cells-per-machine",
                type=whole(1, 64),
                metavar="K",
                help="How many cells share a rented machine; 1 if not said.",
            ),
            click.option(
                "--rerun",
                type=click.Choice(["failed", "all", "none"]),
                help="A sweep that is there already: which of its cells to begin again, beside those that are missing.",
            ),
            click.option("--yes", is_flag=True, help="Do not ask before a large sweep is begun."),
        )
    ):
        callback = option(callback)
    return callback
