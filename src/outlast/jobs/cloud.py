"""Google as this user has set it up: which project, region and bucket, and a way there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outlast.dataclass import dataclass
from outlast.google.auth.find import KEY
from outlast.google.buckets import REGION_DEFAULT
from outlast.google.connect import connect
from outlast.google.project import project_of
from outlast.google.transport import Transport
from outlast.jobs.world import World
from outlast.spec.load import Settings, home_of, load

NETWORK_DEFAULT = "default"


@dataclass(frozen=True)
class Cloud:
    transport: Transport
    project: str
    region: str
    """The first, where several are tried."""

    bucket: str
    """Of the home; empty: the home is in no bucket, or none was named."""

    network: str
    external_ip: bool
    """Machines have an address of their own."""


def settings_of(world: World, flags: Mapping[str, Any]) -> Settings:
    return load(flags, world.environ, Path.cwd(), world.user_dir / "config.toml")


def cloud_of(world: World, flags: Mapping[str, Any]) -> Cloud:
    """`flags`: what the command line gives of project, region, bucket, network; the rest is as for `run`."""
    settings = settings_of(world, flags)
    environ = dict(world.environ)
    if settings["cloud-key"]:
        environ[KEY] = os.path.abspath(os.path.expanduser(settings["cloud-key"]))
    transport = connect(environ)
    home = home_of(settings) or ""
    region = settings["region"] or environ.get("REGION", "") or REGION_DEFAULT
    return Cloud(
        transport=transport,
        project=project_of(settings["project"], environ, transport),
        region=region.split(",")[0],
        bucket=home.removeprefix("gs://").partition("/")[0] if home.startswith("gs://") else "",
        network=_last(settings["network"]) or NETWORK_DEFAULT,
        external_ip=bool(settings["external-ip"]),
    )


def _last(name: str) -> str:
    """Of a network that is given by its path."""
    return name.rpartition("/")[2]
