"""Under which heading an option stands on the help page of a command that has too many for one list."""

from __future__ import annotations

from collections.abc import Sequence

import click

OPTIONS_MAX = 25
"""So many are one list."""

HEADINGS = {
    "Where it runs, and what keeps it": ("on", "cpus", "gpus", "home", "bucket"),
    "Code, data and settings": (
        "dirs",
        "git",
        "datasets",
        "dataset_mode",
        "links",
        "config_files",
        "config_values",
        "env",
        "env_plain",
        "secrets",
    ),
    "Python and packages": ("python", "requirements", "extras", "setup"),
    "A script that does not use the library": ("checkpoint_dir", "output_dir", "resume_args"),
    "Limits": ("max_run", "max_cost", "retries", "stall"),
    "Sweeps": (
        "sweep",
        "search",
        "trials",
        "metric",
        "goal",
        "early",
        "seed",
        "parallel",
        "cells_per_machine",
        "rerun",
        "yes",
    ),
    "Rented machines": (
        "project",
        "cloud_key",
        "region",
        "zone",
        "exclude_zone",
        "machine_type",
        "spot",
        "disk_gb",
        "disk_type",
        "image",
        "service_account",
        "network",
        "external_ip",
        "linger",
        "force",
    ),
    "Vertex AI": (
        "tpu_spec",
        "nogpu",
        "flex_start",
        "tensorboard",
        "scale_tier",
        "master_type",
        "worker_type",
        "worker_count",
        "parameter_server_type",
        "parameter_server_count",
    ),
    "Container images": (
        "container",
        "container_args",
        "base_image",
        "dockerfile",
        "apt",
        "conda",
        "registry",
        "no_cache",
        "image_tag",
    ),
}
"""Heading -> names of parameters, in the order in which they are shown."""


def sections(options: Sequence[click.Option]) -> dict[str, list[click.Option]]:
    """Heading -> options: first what is this command's own, then the others as above."""
    by_name = {option.name: option for option in options}
    found: dict[str, list[click.Option]] = {"Options": []}
    for heading, names in HEADINGS.items():
        if heading != "Sweeps" or "sweep" in by_name:  # without sweeps, a seed is another thing's
            found[heading] = [by_name.pop(name) for name in names if name in by_name]
    found["Options"] = list(by_name.values())
    return {heading: options for heading, options in found.items() if options}
