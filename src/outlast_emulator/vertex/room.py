"""Quotas and capacity: whether a job may begin now, has to wait, or finds no machine."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import young
from outlast_emulator.vertex import shapes
from outlast_emulator.vertex.jobs import Job

if TYPE_CHECKING:
    from outlast_emulator.vertex.model import Vertex

LIMITS, RULES = "limits", "capacity"
LIMIT_DEFAULT = 2200.0
"""Of every metric until a test sets another: a new project has less."""
RULE_FIELDS = {"region": "*", "machine_type": "*", "strategy": "*"}


class Room:
    def __init__(self, vertex: Vertex) -> None:
        self._vertex = vertex

    # ------------------------------------------------------------------------------------------------------------ quotas

    def limits(self) -> dict[str, dict[str, float]]:
        """Region (`*`: every other) -> metric -> limit."""
        found: dict[str, dict[str, float]] = json.loads(self._vertex.database.note(LIMITS) or "{}")
        return found

    def set_limit(self, metric: str, limit: float | None, region: str) -> None:
        with self._vertex.database.write():
            limits = self.limits()
            if limit is None:
                limits.get(region, {}).pop(metric, None)
            else:
                limits.setdefault(region, {})[metric] = limit
            self._vertex.database.keep_note(LIMITS, json.dumps(limits))

    def limit(self, metric: str, region: str) -> float:
        limits = self.limits()
        return limits.get(region, {}).get(metric, limits.get("*", {}).get(metric, LIMIT_DEFAULT))

    def refuse_too_large(self, job: Job) -> None:
        """What would never fit is refused at once, as Google does."""
        over = [metric for metric, amount in needs(job).items() if amount > self.limit(metric, job.region)]
        if over:
            listed = ", ".join(f"aiplatform.googleapis.com/{metric}" for metric in over)
            raise young("RESOURCE_EXHAUSTED", f"The following quota metrics exceed quota limits: {listed}")

    def take_quota(self, job: Job) -> bool:
        """Whether it may begin; from then on it counts, until `release`."""
        with self._vertex.database.write():
            if job.state.get("holds"):
                return True
            for metric, amount in needs(job).items():
                used = sum(needs(one).get(metric, 0.0) for one in self._holding(job))
                if used + amount > self.limit(metric, job.region):
                    return False
            job.state["holds"] = True
            self._vertex.jobs.save(job)
            return True

    def _holding(self, but: Job) -> list[Job]:
        others = (one for one in self._vertex.jobs.all(but.region) if one.id != but.id)
        return [one for one in others if one.state.get("holds") and not one.is_over]

    # ---------------------------------------------------------------------------------------------------------- capacity

    def rules(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._vertex.database.note(RULES) or "[]")
        return found

    def set_rule(self, patterns: dict[str, str], replicas: int | None) -> None:
        """No more than so many replicas that fit; None takes it back. Without any pattern, None takes all back."""
        wanted = {**RULE_FIELDS, **patterns}
        with self._vertex.database.write():
            kept = [one for one in self.rules() if any(one[name] != wanted[name] for name in RULE_FIELDS)]
            if replicas is not None:
                kept.append({**wanted, "replicas": replicas})
            elif not patterns:
                kept = []
            self._vertex.database.keep_note(RULES, json.dumps(kept))

    def has_machines(self, job: Job) -> bool:
        for rule in self.rules():
            wanted = fitting(rule, job)
            running = (
                one for one in self._vertex.jobs.all(job.region) if one.id != job.id and one.state.get("machines")
            )
            if wanted and wanted + sum(fitting(rule, one) for one in running) > int(rule["replicas"]):
                return False
        return True


def needs(job: Job) -> dict[str, float]:
    found: dict[str, float] = {}
    for _, pool, count in job.pools:
        own = shapes.metrics(pool.get("machineSpec", {}), count, preemptible=job.strategy != "STANDARD")
        for metric, amount in own.items():
            found[metric] = found.get(metric, 0.0) + amount
    return found


def fitting(rule: dict[str, Any], job: Job) -> int:
    """How many of a job's replicas a rule is about."""
    if not fnmatchcase(job.region, rule["region"]) or rule["strategy"] not in ("*", job.strategy):
        return 0
    total = 0
    for _, pool, count in job.pools:
        machine = pool.get("machineSpec", {})
        named = (str(machine.get("machineType", "")), str(machine.get("acceleratorType", "")))
        if any(fnmatchcase(one, rule["machine_type"]) for one in named if one):
            total += count
    return total
