"""The table of what can be rented, read once, and what one looks up in it: as it ships with the tool, or as it was read from Google."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

from outlast.catalog.model import Family, Gpu, MachineType, Offer, Tpu, fits
from outlast.google.endpoints import EMULATOR, STORAGE_EMULATOR
from outlast.pattern import pattern
from outlast.spec.user_dir import user_path

__all__ = ["Catalog", "Family", "Gpu", "MachineType", "Offer", "Tpu", "catalog", "fits", "refreshed_path", "shipped"]

PATH = Path(__file__).with_name("table.json")
FORMAT = 1
STALE_DAYS = 30
"""Spot prices change at most once a day, and by then they have: older ones are said to be old."""

_CUSTOM = pattern(r"(?:(?P<family>[a-z0-9]+)-)?custom-(?P<cpus>[0-9]{1,4})-(?P<mb>[0-9]{1,8})(?P<extended>-ext)?")


class Catalog:
    def __init__(self, document: Mapping[str, Any], *, problem: str = "") -> None:
        self.dated: str = document["dated"]
        self.refreshed: bool = bool(document.get("refreshed"))
        """It was read from Google, and not shipped."""

        self.problem = problem
        """Why this is not the table that was read from Google; empty: it is the one that there is."""

        self.regions: dict[str, tuple[str, ...]] = {
            region: _zones(region, letters) for region, letters in document["zones"].items()
        }
        self.families = {name: self._family(name, one) for name, one in document["families"].items()}
        self.gpus = {name: self._gpu(name, one) for name, one in document["gpus"].items()}
        self.tpus = {name: _tpu(name, one) for name, one in document["tpus"].items()}
        self.disk_usd_per_gb_hour: dict[str, float] = document["disks"]
        self.disks_of_regions: dict[str, dict[str, float]] = document.get("disks_of_regions", {})
        """The same, where it was read; elsewhere it is up to a third more."""

        self.images: dict[str, str] = document["images"]
        """Family -> the project that publishes it."""

        self.newest_images: dict[str, str] = document.get("newest_images", {})
        """Family -> the image that it meant when it was read."""

        self.history: dict[str, dict[str, list[Any]]] = document.get("history", {})
        """Zone -> machine type -> the share of Spot machines that were taken away, US dollars an hour, the day of both."""

        self.image: str = document["image"]
        """What a machine without GPUs boots, `PROJECT/FAMILY`."""

        self.address_usd: dict[str, float] = document["address"]
        self.ssd_usd_per_gb_hour: dict[str, float] = document["ssd"]

    def age_days(self, now: float) -> int:
        today = datetime.fromtimestamp(now, timezone.utc).date()
        return max(0, (today - date.fromisoformat(self.dated)).days)

    def machine(self, name: str) -> MachineType | None:
        """By its name; custom types by what their name says."""
        for family in self.families.values():
            if name in family.machines:
                return family.machines[name]
        custom = _CUSTOM.fullmatch(name)
        return self._custom(name, custom) if custom else None

    def machines(self) -> Iterator[MachineType]:
        for family in self.families.values():
            yield from family.machines.values()

    def gpu(self, name: str) -> Gpu | None:
        """By its name, in any case, or by the cloud's."""
        plain = name.lower().removeprefix("nvidia-").removeprefix("tesla-").replace("_", "-")
        for gpu in self.gpus.values():
            theirs = gpu.cloud_name.removeprefix("nvidia-").removeprefix("tesla-")
            if plain in (gpu.name.lower(), theirs) or plain == gpu.name.lower().replace("-", ""):
                return gpu
        return None

    def tpu(self, name: str) -> Tpu | None:
        """By its generation, `v5e`, in any case and also as `tpu-v5e`, or by the cloud's name."""
        plain = name.lower().replace("_", "-").removeprefix("tpu-")
        return next((one for one in self.tpus.values() if plain in (one.name, one.cloud_name)), None)

    def carriers(self, gpu: Gpu, count: int) -> list[MachineType]:
        """Machines that can have exactly so many of it."""
        if not gpu.attached_to:
            return [one for one in self.machines() if one.gpu == gpu.name and one.gpus == count]
        if count not in gpu.limits:
            return []
        return [one for one in self.families[gpu.attached_to].machines.values() if fits(one, gpu, count)]

    def counts(self, gpu: Gpu) -> list[int]:
        if gpu.attached_to:
            return sorted(gpu.limits)
        return sorted({one.gpus for one in self.machines() if one.gpu == gpu.name})

    def _custom(self, name: str, typed: re.Match[str]) -> MachineType | None:
        family = self.families.get(typed["family"] or "n1")
        cpus, memory_gb = int(typed["cpus"]), int(typed["mb"]) / 1024
        if family is None or family.custom_gb is None or cpus < 1 or int(typed["mb"]) % 256:
            return None
        least, most = family.custom_gb
        legal = least * cpus <= memory_gb and (typed["extended"] is not None or memory_gb <= most * cpus)
        return MachineType(name, family.name, cpus, memory_gb) if legal and (cpus == 1 or cpus % 2 == 0) else None

    def _family(self, name: str, one: Mapping[str, Any]) -> Family:
        machines = {machine.name: machine for machine in _machines(name, one)}
        cpus, gb = one["unit"]
        return Family(
            name=name,
            disks=tuple(one["disks"]),
            unit_cpus=cpus,
            unit_gb=gb,
            memory_share=one.get("memory_share", 0.35),
            machines=machines,
            offers=_offers(one["offers"]),
            current=one.get("current", False),
            architecture=one.get("architecture", "x86_64"),
            custom_gb=tuple(one["custom_gb"]) if "custom_gb" in one else None,
        )

    def _gpu(self, name: str, one: Mapping[str, Any]) -> Gpu:
        return Gpu(
            name=name,
            cloud_name=one["cloud_name"],
            memory_gb=one["memory_gb"],
            offers=_offers(one.get("offers", {})),
            attached_to=one.get("attached_to", ""),
            limits={int(count): (cpus, gb) for count, (cpus, gb) in one.get("limits", {}).items()},
            gone=one.get("gone", ""),
            note=one.get("note", ""),
            successor=one.get("successor", ""),
            image=one.get("image", ""),
        )


def _machines(family: str, one: Mapping[str, Any]) -> Iterable[MachineType]:
    elsewhere = {
        machine: {region: _zones(region, letters) for region, letters in zones.items()}
        for machine, zones in one.get("machine_zones", {}).items()
    }
    for shape, (gb, sizes) in one.get("shapes", {}).items():
        for cpus in sizes:
            machine = f"{family}-{shape}-{cpus}"
            yield MachineType(machine, family, cpus, cpus * gb, zones=elsewhere.get(machine))
    for machine, (cpus, gb, *rest) in one.get("machines", {}).items():
        gpus, ssd_gb = (*rest, 0, 0)[:2]
        yield MachineType(
            machine,
            family,
            cpus,
            gb,
            gpu=one.get("gpu", "") if gpus else "",
            gpus=gpus,
            ssd_gb=ssd_gb,
            spot_only=machine in one.get("spot_only", ()),
            billed_cpus=one.get("billed_cpus", {}).get(machine, 0.0),
            zones=elsewhere.get(machine),
        )


def _tpu(name: str, one: Mapping[str, Any]) -> Tpu:
    return Tpu(
        name, one["cloud_name"], one["memory_gb"], tuple(one["counts"]), _offers(one["offers"]), one.get("cores", 1)
    )


def _zones(region: str, letters: str) -> tuple[str, ...]:
    """`abf`, or `a,ai1b` where one has a longer name."""
    names = filter(None, letters.split(",")) if "," in letters else letters
    return tuple(f"{region}-{name}" for name in names)


def _offers(table: Mapping[str, str]) -> dict[str, Offer]:
    """`us-central1`: `abcf .363 .077`: zones, US dollars an hour, and as Spot; `-`: not as Spot.

    Then `~` for an estimate, or the parts of both prices that are paid for memory.
    """
    offers = {}
    for region, line in table.items():
        letters, usd, usd_spot, *more = line.split()
        shares = [float(one) for one in more if one != "~"]
        offers[region] = Offer(
            _zones(region, letters),
            float(usd),
            None if usd_spot == "-" else float(usd_spot),
            "~" in more,
            *(shares if len(shares) == 2 else ()),
        )
    return offers


def refreshed_path(environ: Mapping[str, str]) -> Path:
    """What an emulator says of prices is nobody's but the emulator's."""
    emulated = environ.get(EMULATOR) or environ.get(STORAGE_EMULATOR)
    return user_path(environ) / "catalog" / ("emulated.json" if emulated else "google.json")


def catalog(environ: Mapping[str, str] = os.environ) -> Catalog:
    """The table that was read from Google, if there is one and it is newer; else the one that ships."""
    path = refreshed_path(environ)
    try:
        status = path.stat()
    except OSError:
        return shipped()
    return _refreshed(path, status.st_mtime_ns, status.st_size)


@functools.cache
def shipped() -> Catalog:
    return Catalog(json.loads(PATH.read_text()))


@functools.lru_cache(4)
def _refreshed(path: Path, changed_ns: int, size: int) -> Catalog:
    """A file that is damaged, or another version's, is as good as none: prices are looked up anew."""
    try:
        document = json.loads(path.read_text())
        if document["format"] != FORMAT:
            raise ValueError(f"it has format {document['format']}")
        found = Catalog(document)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return Catalog(
            json.loads(PATH.read_text()), problem=f"`{path}` cannot be used: {error or type(error).__name__}"
        )
    return found if found.dated >= shipped().dated else shipped()
