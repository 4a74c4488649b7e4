"""The options of a command that takes a target which say what code, data and configuration it gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def data_options(callback: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            click.option(
                "--git", "git", metavar="URL[@REF]", help="Ship this commit instead of the directory that you stand in."
            ),
            click.option(
                "--dataset",
                "datasets",
                multiple=True,
                metavar="[NAME=]DATA",
                help="Data that it finds by OUTLAST_DATASET[_NAME]: a directory, a file, a URL, what was pushed; repeatable.",
            ),
            click.option(
                "--dataset-mode",
                "dataset_mode",
                type=click.Choice(["copy", "url"]),
                default="copy",
                help="Copy what a URL holds to the machine, or only tell the URL.",
            ),
            click.option(
                "--config",
                "-c",
                "config_files",
                multiple=True,
                metavar="FILE",
                help="Settings of its own (YAML, TOML, JSON), merged and given as OUTLAST_CONFIG; repeatable.",
            ),
            click.option(
                "--set", "config_values", multiple=True, metavar="A.B=C", help="One of these settings; repeatable."
            ),
            click.option(
                "--link",
                "links",
                multiple=True,
                metavar="PATH",
                help="See this directory of this machine in the working directory, without a copy; repeatable.",
            ),
        )
    ):
        callback = option(callback)
    return callback


def data_asked(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a request that these options fill."""
    return {
        "git": given.get("git") or "",
        "datasets": tuple(given.get("datasets", ())),
        "dataset_mode": given.get("dataset_mode") or "copy",
        "config_files": tuple(given.get("config_files", ())),
        "config_values": tuple(given.get("config_values", ())),
        "links": tuple(given.get("links", ())),
    }
