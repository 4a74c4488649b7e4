"""The options that say which machine is rented, where, and for how much."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from outlast.cli.setting_option import setting_option

SETTINGS = (
    "region",
    "machine-type",
    "zone",
    "exclude-zone",
    "spot",
    "disk-gb",
    "disk-type",
    "image",
    "service-account",
    "network",
    "external-ip",
    "max-cost",
    "linger",
)
OF_RENTED_ONLY = tuple(name for name in SETTINGS if name not in ("region", "max-cost"))
"""Mean nothing to an engine that has its machines: such an engine refuses them. A bucket has a region too, and what costs nothing
stays below any sum."""


def rent_options(callback: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            setting_option(
                "region",
                "REGION",
                "Where machines and bucket are, `us-central1` if not said; several are tried in order, but for stock-outs.",
                several=True,
            ),
            setting_option("zone", "ZONE", "Rent in this zone only; repeatable.", several=True),
            setting_option("exclude-zone", "ZONE", "Never rent in this zone; repeatable.", several=True),
            setting_option("machine-type", "TYPE", "The machine to rent; chosen by `--cpus` and `--gpus` if not said."),
            click.option(
                "--spot/--on-demand",
                "spot",
                default=None,
                help="Rent what may be taken away, for far less, or not; Spot if not said.",
            ),
            setting_option("disk-gb", "GB", "The size of the machine's disk; 50, or what the image needs."),
            setting_option("disk-type", "TYPE", "Its kind: what suits the machine if not said."),
            setting_option("image", "IMAGE", "What it boots: a family, an image, or `PROJECT/FAMILY`."),
            setting_option("service-account", "EMAIL", "Who the machine is; `outlast-runner` if not said."),
            setting_option("network", "NETWORK", "The network that it is in; `default` if not said."),
            click.option(
                "--external-ip/--no-external-ip",
                "external_ip",
                default=None,
                help="Give it an address of its own, or none; one if not said.",
            ),
            setting_option("max-cost", "USD", "The most that the job may cost, all its machines and disks together."),
            setting_option("linger", "DURATION", "How long the machine stays after the job's end; not at all."),
            click.option("--force", is_flag=True, help="Rent what the catalog does not know, or advises against."),
        )
    ):
        callback = option(callback)
    return callback


def rent_flags(given: Mapping[str, Any]) -> dict[str, Any]:
    """As `load` takes them: what was not given is None."""
    flags = {name: given.get(name.replace("-", "_")) for name in SETTINGS}
    regions = flags["region"] or ()
    flags["region"] = ",".join(dict.fromkeys(",".join(regions).split(","))) if regions else None
    for name in ("zone", "exclude-zone"):
        zones = dict.fromkeys(zone for several in flags[name] or () for zone in several)
        flags[name] = tuple(zones) or None
    return flags


def rent_asked(settings: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that these options fill."""
    return {
        "region": settings["region"],
        "machine_type": settings["machine-type"],
        "zones": settings["zone"],
        "exclude_zones": settings["exclude-zone"],
        "spot": settings["spot"],
        "disk_gb": settings["disk-gb"],
        "disk_type": settings["disk-type"],
        "image": settings["image"],
        "service_account": settings["service-account"],
        "network": settings["network"],
        "external_ip": settings["external-ip"],
        "linger_seconds": settings["linger"],
        "max_cost_usd": settings["max-cost"],
        "force": bool(given.get("force")),
        "said": said(given),
    }


def said(given: Mapping[str, Any]) -> tuple[str, ...]:
    names = [name for name in OF_RENTED_ONLY if given.get(name.replace("-", "_")) not in (None, ())]
    words = {"spot": "--spot" if given.get("spot") else "--on-demand"}
    words["external-ip"] = "--external-ip" if given.get("external_ip") else "--no-external-ip"
    return tuple([words.get(name, f"--{name}") for name in names] + ["--force"] * bool(given.get("force")))


ASKED_NAMES = {
    "zone": "zones",
    "exclude-zone": "exclude_zones",
    "linger": "linger_seconds",
    "max-cost": "max_cost_usd",
}
"""Settings whose field of a request has another name."""


def rent_changes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was typed, by the names of a request's fields: what `resume` changes."""
    flags = rent_flags(given) | {name: given.get(name) for name in ("project", "cpus", "gpus")}
    changes = {ASKED_NAMES.get(name, name.replace("-", "_")): value for name, value in flags.items()}
    changes = {name: value for name, value in changes.items() if value is not None}
    if given.get("force"):
        changes["force"] = True
    typed = said(given)
    return {**changes, "said": typed} if typed else changes
