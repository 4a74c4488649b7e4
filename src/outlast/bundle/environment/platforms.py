"""Platforms for which packages can be resolved from another one, in each resolver's words."""

from __future__ import annotations

from collections.abc import Mapping

from outlast.dataclass import dataclass
from outlast.errors import UsageError


@dataclass(frozen=True)
class Platform:
    uv: str
    pip: tuple[str, ...]


def _linux(machine: str) -> Platform:
    """With a C library of 2018: what any image that one rents today has."""
    versions = ("_2_28", "_2_24", "_2_17", "2014", "2010", "1")
    tags = tuple(f"manylinux{version}_{machine}" for version in versions)
    return Platform(f"{machine}-manylinux_2_28", (*tags, f"linux_{machine}"))


PLATFORMS: Mapping[str, Platform] = {"linux-x86_64": _linux("x86_64"), "linux-aarch64": _linux("aarch64")}


def find_platform(name: str) -> Platform:
    if name not in PLATFORMS:
        legal = ", ".join(f"`{one}`" for one in PLATFORMS)
        raise UsageError(f"packages cannot be resolved for `{name}` from here", hint=f"they can for {legal}")
    return PLATFORMS[name]


def hint_for(foreign: Platform | None) -> str:
    """Where the declared packages cannot be resolved."""
    if foreign is None:
        return "mend the requirement that is named, or choose another Python by `--python VERSION`"
    return (
        "for a machine of another kind than this computer only wheels can be had: choose a version of what is named that has them, "
        "or ship its code with `--dir`"
    )
