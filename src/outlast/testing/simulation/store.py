"""The store as one actor sees it: slow, and sometimes silent about what it has done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, TypeVar

from outlast.dataclass import dataclass
from outlast.errors import KeyMissing, PreconditionFailed, StoreFull, StoreUnavailable
from outlast.store.one_by_one import OneByOne
from outlast.store.store import CHUNK_BYTES, Entry, Stored
from outlast.testing.simulation.bucket import Bucket
from outlast.testing.simulation.clock import EPOCH
from outlast.testing.simulation.history import History
from outlast.testing.simulation.schedule import Schedule

T = TypeVar("T")

TIMEOUT_SECONDS = 20.0
"""After this long the client gives a request up; the request itself may still arrive."""

LATE_SECONDS_MAX = 120.0
TRIP_SECONDS = (0.005, 0.08)
REWRITE_SECONDS = 1.0

URL = "memory:simulation"


@dataclass
class Weather:
    """What the network does to requests at present; the chaos changes it, the end of the faults clears it."""

    error_chance: float = 0.0
    lost_chance: float = 0.0
    late_chance: float = 0.0
    slow_chance: float = 0.0
    down: bool = False
    full: bool = False

    def clear(self) -> None:
        self.error_chance = self.lost_chance = self.late_chance = self.slow_chance = 0.0
        self.down = self.full = False


@dataclass
class Cut:
    """Whether one machine's network is cut: nothing goes out, nothing comes back."""

    on: bool = False


class SimulatedStore(OneByOne):
    """One actor's client. Requests that were sent take effect even if their sender is dead or stopped by then."""

    url = URL

    def __init__(
        self,
        *,
        bucket: Bucket,
        schedule: Schedule,
        history: History,
        weather: Weather,
        cut: Cut,
        random: Random,
        name: str,
        poll_seconds: float,
        chunk_seconds: float,
    ) -> None:
        self._bucket = bucket
        self._schedule = schedule
        self._history = history
        self._weather = weather
        self._cut = cut
        self._random = random
        self._name = name
        self.poll_seconds = poll_seconds
        self.rewrite_seconds = REWRITE_SECONDS
        self._chunk_seconds = chunk_seconds
        self._lost: set[tuple[str, bytes]] = set()
        """Conditional writes of this actor that were done and whose answer was lost."""

        self._late: dict[str, Callable[[], None]] = {}
        """Conditional writes of this actor that are still on their way although it has given them up."""

    def get(self, key: str) -> Stored:
        return self._call("get", lambda: self._bucket.get(key))

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        sent_at = self._schedule.now

        def write() -> int:
            return self._bucket.put(key, data, if_generation, by=self._name, sent_at=sent_at)

        try:
            return self._call("put", write, (key, data) if if_generation is not None else None)
        except StoreUnavailable:
            self._history.unanswered.add((key, self._name))
            raise
        except PreconditionFailed:
            if (key, data) in self._lost:
                self._history.fault("412 after own lost answer", key)
            raise

    def list(self, prefix: str, *, after: str = "", limit: int | None = None) -> Iterator[Entry]:
        return iter(self._call("list", lambda: self._bucket.list(prefix, after, limit)))

    def delete(self, key: str, *, if_generation: int | None = None) -> None:
        sent_at = self._schedule.now
        self._call("delete", lambda: self._bucket.delete(key, if_generation, by=self._name, sent_at=sent_at))

    def purge(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._purge_one(key)

    def _purge_one(self, key: str) -> None:
        sent_at = self._schedule.now
        self._call("purge", lambda: self._bucket.purge([key], by=self._name, sent_at=sent_at))

    def upload(self, key: str, chunks: Iterable[bytes]) -> int:
        sent_at = self._schedule.now
        pieces: list[bytes] = []
        for chunk in chunks:
            pieces.append(chunk)
            self._schedule.sleep(self._random.uniform(0.01, self._chunk_seconds))
        data = b"".join(pieces)
        self._call("put", lambda: self._bucket.put(key, data, None, by=self._name, sent_at=sent_at, op="upload"))
        return len(data)

    def download(self, key: str) -> Iterator[bytes]:
        data = self._call("get", lambda: self._bucket.get(key)).data
        for start in range(0, max(len(data), 1), CHUNK_BYTES):
            yield data[start : start + CHUNK_BYTES]

    def now(self) -> float:
        return EPOCH + self._schedule.now

    def _call(self, op: str, effect: Callable[[], T], conditional: tuple[str, bytes] | None = None) -> T:
        """Sends, waits, answers. The effect comes as an event of its own: it does not need the caller to be alive."""
        self._may_be_refused(op)
        fate = self._fate(op, often=2 if conditional else 1)
        answer: list[Any] = []

        def carry_out() -> None:
            if not answer:
                answer.append(_outcome(effect))

        if conditional is not None:
            self._release_late(conditional[0], fate.there_seconds)
            if fate.late:
                self._late[conditional[0]] = carry_out
        self._schedule.after(fate.there_seconds, carry_out)
        self._schedule.sleep(TIMEOUT_SECONDS if fate.late else fate.there_seconds + fate.back_seconds)
        if fate.late or fate.lost or self._cut.on:
            self._history.fault("late write" if fate.late else "answer lost", op)
            if conditional is not None and answer and not isinstance(answer[0], Exception):
                self._lost.add(conditional)
            raise StoreUnavailable(f"no answer to {op}")
        if isinstance(answer[0], Exception):
            raise answer[0]
        outcome: T = answer[0]
        return outcome

    def _may_be_refused(self, op: str) -> None:
        weather, random = self._weather, self._random
        if self._cut.on or weather.down:
            self._schedule.sleep(random.uniform(0.5, TIMEOUT_SECONDS))
            raise StoreUnavailable(f"no answer to {op}")
        if weather.full and op == "put":
            self._schedule.sleep(random.uniform(*TRIP_SECONDS))
            self._history.fault("store full")
            raise StoreFull("no space left")
        if random.random() < weather.error_chance:
            self._schedule.sleep(random.uniform(*TRIP_SECONDS))
            self._history.fault("error before", op)
            raise StoreUnavailable(f"{op} was refused for now")

    def _fate(self, op: str, *, often: int) -> _Fate:
        """`often`: what matters most is a conditional write that was done and not answered; it meets that twice as often."""
        weather, random = self._weather, self._random
        there, back, dice = random.uniform(*TRIP_SECONDS), random.uniform(*TRIP_SECONDS), random.random()
        if dice < weather.slow_chance:
            self._history.fault("slow request", op)
            return _Fate(random.uniform(1.0, TIMEOUT_SECONDS - 1.0), back)
        dice -= weather.slow_chance
        if dice < often * weather.lost_chance:
            return _Fate(there, back, lost=True)
        dice -= often * weather.lost_chance
        if dice < often * weather.late_chance:
            return _Fate(random.uniform(TIMEOUT_SECONDS, LATE_SECONDS_MAX), back, late=True)
        return _Fate(there, back)

    def _release_late(self, key: str, seconds: float) -> None:
        """An earlier write of the same name that is still on its way often arrives just before the next one."""
        late = self._late.pop(key, None)
        if late is not None and self._random.random() < 0.5:
            self._schedule.after(self._random.uniform(0.0, seconds), late)


@dataclass(frozen=True, slots=True)
class _Fate:
    """What becomes of one request."""

    there_seconds: float
    back_seconds: float
    lost: bool = False
    late: bool = False


def _outcome(effect: Callable[[], T]) -> T | Exception:
    try:
        return effect()
    except (KeyMissing, PreconditionFailed) as answer:
        return answer
