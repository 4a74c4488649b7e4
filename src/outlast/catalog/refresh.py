"""Google's own lists, read and kept: types of machines and accelerators, prices, how Spot machines have fared, newest images."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from outlast.catalog.answers import by_price, by_price_of
from outlast.catalog.choose import CPUS_DEFAULT, offered_zones
from outlast.catalog.compose import compose
from outlast.catalog.model import Gpu, MachineType
from outlast.catalog.skus import COMPUTE_SERVICE, TPU_SERVICE, read_prices
from outlast.catalog.table import PATH, Catalog, refreshed_path
from outlast.dataclass import dataclass
from outlast.errors import Denied, OutlastError
from outlast.google.compute import ComputeClient
from outlast.google.compute_offers import OffersClient
from outlast.google.errors import ApiError, is_off
from outlast.google.transport import Transport
from outlast.google.wire import NoAnswer
from outlast.spec.plain_file import write_private
from outlast.spec.progress import OnProgress, silent

PROGRESS_ROWS = 1000
HISTORY_ZONES_MAX = 8
"""Machines are looked up one by one and zone by zone: so many zones of a refresh."""


@dataclass(frozen=True)
class Refreshed:
    path: Path
    catalog: Catalog
    notes: tuple[str, ...]


def refresh(
    transport: Transport,
    project: str,
    environ: Mapping[str, str],
    now: float,
    *,
    regions: tuple[str, ...],
    gpu: str = "",
    on_progress: OnProgress = silent,
) -> Refreshed:
    """All types and prices; how Spot machines have fared in `regions`, of one GPU only if it is named. An error changes nothing."""
    client = OffersClient(transport, project)
    machines = _read(transport, "types of machines", client.types("machineTypes"), on_progress)
    accelerators = _read(transport, "types of accelerators", client.types("acceleratorTypes"), on_progress)
    rows = _read(transport, "prices", client.skus(COMPUTE_SERVICE), on_progress)
    rows += _read(transport, "prices of TPUs", client.skus(TPU_SERVICE), on_progress)
    dated = datetime.fromtimestamp(now, timezone.utc).date().isoformat()
    composed = compose(json.loads(PATH.read_text()), machines, accelerators, read_prices(rows), dated)
    document, notes = composed.document, []
    if not document["families"]:
        raise OutlastError(
            f"Google's lists name no machine with a price: {len(machines):,} types, {len(rows):,} prices"
        )
    if composed.unknown:
        notes.append(f"not known to this version of outlast: {', '.join(sorted(composed.unknown))}")
    if composed.unpriced:
        notes.append(f"in some regions without a price, and left out there: {', '.join(sorted(composed.unpriced))}")
    path = refreshed_path(environ)
    known = Catalog(document)
    document["history"] = _history_before(path)
    try:
        for zone, machine, told in _histories(client, known, regions, gpu):
            document["history"].setdefault(zone, {})[machine] = [*told, dated]
    except (ApiError, NoAnswer) as error:
        notes.append(
            f"how Spot machines have fared is not known: {transport.explain(error, 'capacity history').message}"
        )
    document["newest_images"], refused = _newest_images(transport, known)
    notes += refused
    _keep(path, document)
    return Refreshed(path, Catalog(document), tuple(notes))


def _read(
    transport: Transport, what: str, rows: Iterator[dict[str, Any]], on_progress: OnProgress
) -> list[dict[str, Any]]:
    found = []
    try:
        for row in rows:
            found.append(row)
            if len(found) % PROGRESS_ROWS == 0:
                on_progress(f"reading {what}", len(found), 0, "rows")
    except (ApiError, NoAnswer) as error:
        told = transport.explain(error, f"reading {what}")
        told.state = "the catalog is as it was"
        if isinstance(error, ApiError) and error.status == 403 and not is_off(error):
            told.hint = told.hint or "`roles/compute.viewer` lets you read what there is to rent"
        raise told from error
    return found


def _history_before(path: Path) -> dict[str, Any]:
    """Of zones that nobody asks about now."""
    try:
        kept = json.loads(path.read_text()).get("history", {})
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _histories(
    client: OffersClient, known: Catalog, regions: tuple[str, ...], gpu: str
) -> Iterator[tuple[str, str, tuple[float | None, float | None]]]:
    """(zone, machine, (share of machines that were taken away, US dollars an hour as Spot))."""
    zones_left = HISTORY_ZONES_MAX
    for region in regions:
        asked = set()
        for machine, attached, count in _examples(known, region, gpu):
            zones = offered_zones(known, machine, attached, region, spot=True) or ()
            for zone in zones:
                if zone not in asked and zones_left <= 0:
                    continue
                zones_left -= zone not in asked
                asked.add(zone)
                gpus = [(attached.cloud_name, count)] if attached is not None and not machine.gpu else []
                yield zone, machine.name, _told(client.capacity_history(region, zone, machine.name, gpus))


def _examples(known: Catalog, region: str, gpu: str) -> Iterator[tuple[MachineType, Gpu | None, int]]:
    """What a job rents who asks for nothing, and the cheapest machine with each GPU."""
    if not gpu:
        plain = [one for one in known.machines() if known.families[one.family].current and one.cpus == CPUS_DEFAULT]
        for _, machine in by_price(known, [one for one in plain if "-standard-" in one.name], region, spot=True)[:1]:
            yield machine, None, 0
    for one in known.gpus.values():
        if one.gone or region not in one.offers or (gpu and one.name != gpu):
            continue
        count = min(known.counts(one), default=0)
        for _, machine in by_price_of(known, one, count, region, spot=True)[:1]:
            yield machine, one, count


def _told(history: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """The newest of each; None: it is not told."""
    rates, prices = history.get("preemptionHistory") or [], history.get("priceHistory") or []
    newest = max(rates, key=_ends, default=None)
    price = max(prices, key=_ends, default=None)
    rate = None if newest is None else float(newest.get("preemptionRate", 0.0))
    if price is None:
        return rate, None
    money = price.get("listPrice", {})
    return rate, int(money.get("units") or 0) + float(money.get("nanos") or 0) / 1e9


def _ends(record: Mapping[str, Any]) -> str:
    return str(record.get("interval", {}).get("endTime", ""))


def _newest_images(transport: Transport, known: Catalog) -> tuple[dict[str, str], list[str]]:
    newest, refused = {}, []
    for family, project in known.images.items():
        try:
            newest[family] = str(ComputeClient(transport, project).get_image_of_family(family).get("name", ""))
        except (ApiError, NoAnswer) as error:
            told = transport.explain(error, f"image family `{project}/{family}`")
            refused.append(f"image family `{project}/{family}` was not found: {told.message}")
    return newest, refused


def _keep(path: Path, document: Mapping[str, Any]) -> None:
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(temporary, json.dumps(document, separators=(",", ":")))
        temporary.replace(path)
    except OSError as error:
        raise Denied(f"`{path}` cannot be written: {error.strerror}", hint=f"`ls -ld {path.parent}`") from error
