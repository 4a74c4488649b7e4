"""What everything would have cost at Google: storage by time, operations by class, machines, disks and images by the hour.

Prices: Standard storage in a region of the United States, list price, as of 2026-08-21.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from outlast_emulator.control.record import Record
from outlast_emulator.storage.model import Storage

STORAGE_USD_PER_GB_MONTH = 0.020
CLASS_A_USD = 0.005 / 1000
CLASS_B_USD = 0.0004 / 1000
HOURS_PER_MONTH = 730.0
GB = 1_000_000_000

FREE = ("delete", "deleteMany", "abort", "batch", "cancel")
"""A batch costs what the calls in it cost."""
_CLASS_B = ("get", "getAcl", "getDefaultObjectAcl", "getIamPolicy", "testIamPermissions", "head")

NOTE = "ledger"


def operation_class(method_id: str) -> str:
    """`A` (writes and lists), `B` (reads), or "" (free, or not Cloud Storage's)."""
    if not method_id.startswith(("storage.", "xml.")) or method_id.rsplit(".", 1)[-1] in FREE:
        return ""
    return "B" if method_id.rsplit(".", 1)[-1] in _CLASS_B else "A"


class Usage(Protocol):
    """What somebody's things cost while they are there."""

    def alive(self) -> list[dict[str, Any]]: ...

    def usd_total(self) -> float: ...


class Ledger:
    """Totals survive a restart up to the last `keep`: a killed emulator forgets about a second."""

    def __init__(self, storage: Storage, record: Record, usages: Sequence[Usage]) -> None:
        self._usages = usages
        self._storage = storage
        self._record = record
        self._kept_calls = 0
        text = storage.database.note(NOTE)
        self._earlier: float = json.loads(text)["usd_total"] if text else 0.0

    def document(self) -> dict[str, Any]:
        alive = []
        for bucket, size in sorted(self._storage.usage.sizes().items()):
            location = next((it.fields.get("location", "") for it in self._storage.buckets.all(None, bucket)), "")
            rate = size / GB * STORAGE_USD_PER_GB_MONTH / HOURS_PER_MONTH
            alive.append({"kind": "storage.bucket", "name": bucket, "zone": location.lower(), "usd_per_hour": rate})
        for usage in self._usages:
            alive += usage.alive()
        total = self._earlier + self._since_start() + sum(usage.usd_total() for usage in self._usages)
        return {"alive": alive, "usd_per_hour": sum(entry["usd_per_hour"] for entry in alive), "usd_total": total}

    def operations(self) -> dict[str, Any]:
        counts = self._record.counted()
        classes = {"A": 0, "B": 0}
        for method_id, count in counts.items():
            kind = operation_class(method_id)
            if kind:
                classes[kind] += count
        return {"class_a": classes["A"], "class_b": classes["B"], "by_method": counts}

    def keep_changes(self) -> None:
        """`keep`, if there was a call since the last time."""
        calls = self._record.total()
        if calls != self._kept_calls:
            self._kept_calls = calls
            self.keep()

    def keep(self) -> None:
        self._storage.database.keep_note(NOTE, json.dumps({"usd_total": self._earlier + self._since_start()}))

    def _since_start(self) -> float:
        operations = self.operations()
        gb_months = self._storage.usage.byte_seconds() / GB / (HOURS_PER_MONTH * 3600)
        return (
            float(operations["class_a"] * CLASS_A_USD + operations["class_b"] * CLASS_B_USD)
            + gb_months * STORAGE_USD_PER_GB_MONTH
        )
