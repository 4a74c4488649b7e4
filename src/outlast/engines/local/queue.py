"""Launches that wait for slots, in the order in which they came."""

from __future__ import annotations

import heapq

from outlast.engines.local.layout import Order

NOTES_SPARE_MAX = 1000


class Queue:
    def __init__(self) -> None:
        self._orders: dict[str, Order] = {}
        self._ends: list[tuple[float, str]] = []
        """When whom to give up; most of those that are noted here have long begun."""

    def __len__(self) -> int:
        return len(self._orders)

    def __contains__(self, launch_id: str) -> bool:
        return launch_id in self._orders

    def first(self) -> Order | None:
        return next(iter(self._orders.values()), None)

    def push(self, order: Order, give_up_at: float) -> None:
        self._orders[order.launch.id] = order
        heapq.heappush(self._ends, (give_up_at, order.launch.id))
        if len(self._ends) > 2 * len(self._orders) + NOTES_SPARE_MAX:
            self._ends = [end for end in self._ends if end[1] in self._orders]
            heapq.heapify(self._ends)

    def remove(self, launch_id: str) -> bool:
        """False: it does not wait here."""
        return self._orders.pop(launch_id, None) is not None

    def expired(self, now: float) -> list[str]:
        """Takes out those whose time is over."""
        found: list[str] = []
        while self._ends and self._ends[0][0] <= now:
            _, launch_id = heapq.heappop(self._ends)
            if self.remove(launch_id):
                found.append(launch_id)
        return found

    def seconds_to_next(self, now: float) -> float | None:
        return self._ends[0][0] - now if self._ends else None


def first_come(order: Order) -> tuple[float, str]:
    """By the moment of `start`: the file system's own times are too coarse to tell two of them apart."""
    return order.started_at, order.launch.id
