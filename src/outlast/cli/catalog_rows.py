"""The catalog's rows as a terminal shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from outlast.cli.words import duration

Row = Mapping[str, Any]

COLUMNS: Mapping[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "gpus": (
        ("TYPE", "MEMORY", "COUNTS", "SPOT", "ON DEMAND", "EACH", "MACHINE", "REGION", "REGIONS"),
        (1, 3, 4, 5, 8),
    ),
    "places": (("REGION", "ZONES", "SPOT", "ON DEMAND", "EACH", "MACHINE"), (2, 3, 4)),
    "machines": (("MACHINE", "CPUS", "MEMORY", "GPUS", "SPOT", "ON DEMAND", "ZONES", "MET"), (1, 2, 4, 5)),
    "regions": (("REGION", "SPOT", "ON DEMAND", "MACHINE", "ZONES", "MET"), (1, 2)),
    "zones": (("ZONE", "MACHINE", "TAKEN AWAY", "MET"), (2,)),
    "images": (("FAMILY", "PROJECT", "BOOTS", "NEWEST"), ()),
}
"""Kind -> (its header, which columns are numbers)."""

COUNTS_SHOWN_MAX = 4


def cells(kind: str, row: Row) -> list[str]:
    return _CELLS[kind](row)


def _gpu(row: Row) -> list[str]:
    unit = " a chip" if row["kind"] == "tpu" else ""
    return [
        f"TPU {row['name']}" if row["kind"] == "tpu" else row["name"],
        f"{row['memory_gb']} GB",
        _counts(row["counts"]),
        _usd(row["usd_spot"], row),
        _usd(row["usd"], row),
        f"{_usd(row['usd_each_spot'], row)}{unit}",
        row["machine"],
        row["region"],
        str(row["regions"]),
    ]


def _place(row: Row) -> list[str]:
    return [
        row["region"],
        _letters(row["zones"]),
        _usd(row["usd_spot"], row),
        _usd(row["usd"], row),
        _usd(row["usd_each_spot"], row),
        row["machine"],
    ]


def _machine(row: Row) -> list[str]:
    return [
        row["name"],
        str(row["cpus"]),
        f"{row['memory_gb']:,.1f}".removesuffix(".0") + " GB",
        f"{row['gpus']} {row['gpu']}" if row["gpu"] else "",
        _usd(row["usd_spot"], row),
        _usd(row["usd"], row),
        _letters(row["zones"]),
        _met(row["met"]),
    ]


def _region(row: Row) -> list[str]:
    return [
        row["name"],
        _usd(row["usd_spot"], row),
        _usd(row["usd"], row),
        row["machine"],
        _letters(row["zones"]),
        _met(row["met"]),
    ]


def _zone(row: Row) -> list[str]:
    share = "" if row["preempted_share"] is None else f"{row['preempted_share']:.0%}"
    return [row["name"], row["machine"] or "-", share, _met(row["met"])]


def _image(row: Row) -> list[str]:
    boots = ["machines without GPUs" if one == "none" else one for one in row["boots"]]
    return [row["family"], row["project"], ", ".join(boots), row["newest"]]


_CELLS: Mapping[str, Callable[[Row], list[str]]] = {
    "gpus": _gpu,
    "places": _place,
    "machines": _machine,
    "regions": _region,
    "zones": _zone,
    "images": _image,
}


def _usd(usd: float | None, row: Row) -> str:
    return "-" if usd is None else f"{'~' if row['estimated'] else ''}{usd:,.3f}"


def _counts(counts: list[int]) -> str:
    """`1, 2, 4, 8`; of many `1, 4, 8, ... 256`."""
    if len(counts) <= COUNTS_SHOWN_MAX:
        return ", ".join(map(str, counts))
    return f"{', '.join(map(str, counts[: COUNTS_SHOWN_MAX - 1]))}, ... {counts[-1]}"


def _letters(zones: list[str]) -> str:
    return " ".join(zone.rpartition("-")[2] for zone in zones)


def _met(met: Row | None) -> str:
    """`2 stock-outs; 3 machines, 2 taken away, 5 h 20 min each`."""
    if met is None:
        return ""
    parts = []
    if met["stockouts"]:
        parts.append(f"{met['stockouts']} stock-out{'s' if met['stockouts'] > 1 else ''}")
    if met["machines"]:
        several = met["machines"] > 1
        taken = f", {met['taken']} taken away" if met["taken"] else ""
        lived = f"{duration(met['lived_seconds_mean'])}{' each' if several else ''}"
        parts.append(f"{met['machines']} machine{'s' if several else ''}{taken}, {lived}")
    if met["usd_per_hour"]:
        parts.append(f"at ${met['usd_per_hour']:.3f}")
    return "; ".join(parts)
