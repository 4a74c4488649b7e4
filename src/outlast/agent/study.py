"""Chooses a cell's parameters by what other cells have found, and ends those that do badly; all it knows is in the home.

Everything is read from the records whenever it is asked: several workers choose at once, and whoever is killed leaves nothing behind
that the next one would miss. Who advises is another process, which may die or hang: then parameters are random, and nothing is ended.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any, Protocol

from outlast.agent.child import Child
from outlast.agent.standing import AWAY
from outlast.agent.study_metrics import LoggedMetric
from outlast.agent.study_trials import COMPLETE, Trials, described, dimensions_of, params_of
from outlast.clock import Clock
from outlast.folder.cells import Cells
from outlast.folder.records import State
from outlast.folder.rungs import Points, Rungs, rung_of
from outlast.folder.sweep import SweepFolder
from outlast.folder.sweep_records import Row
from outlast.spec.spec import Sweep
from outlast.spec.sweep.goal import falls

STARTUP_TRIALS = 10
"""So many must have ended before anything can be learnt from them; until then trials are spread evenly."""

CHOOSE_SECONDS_MAX = 120.0
"""So long a machine waits for parameters."""

POLL_SECONDS = (0.002, 0.1)
LOOK_SECONDS = 1.0
LOOK_SECONDS_BILLED = 10.0
"""How often what a cell logs is looked at, and so how often it may write; longer where a write is billed."""

AGAIN_SECONDS = 5.0
AGAIN_SECONDS_BILLED = 60.0
"""How long to wait where there was nobody to compare a cell with."""

FIRST_RUNG_SHARE = 100
"""No cell is ended before this part of the steps that the longest one took."""

RUNG_FACTOR = 4
"""One rung is so many times as far as the one before: see study_program.py."""

COMPARED_MIN = 4
COMPARED_MAX = 500
"""With fewer cells nothing is ended; of more, the newest ones are compared."""

NAMES_TOLD_MAX = 5


class Adviser(Protocol):
    """Answers one question at a time, without making anybody wait."""

    def prepare(self) -> None:
        """Questions will come soon."""
        ...

    def ask(self, question: Mapping[str, Any]) -> None:
        """One that was asked before is forgotten."""
        ...

    def answer(self) -> Mapping[str, Any] | None:
        """None: not yet. Empty: there will be none, and `problem` says why."""
        ...

    @property
    def problem(self) -> str: ...

    def close(self) -> None: ...


class SearchStudy:
    def __init__(
        self, sweep: SweepFolder, asked: Sweep, cells: Cells, turn: int, adviser: Adviser, clock: Clock
    ) -> None:
        self.sweep = sweep
        self.asked = asked
        self.cells = cells
        self.turn = turn
        self.adviser = adviser
        self.clock = clock
        self._trials = Trials(sweep, turn)
        self._rungs = Rungs(sweep.store, sweep.folder.job, turn)
        self._words: list[str] = []
        self._told: set[str] = set()
        self._watch: _Watch | None = None
        self._first: int | None = None
        billed = sweep.store.write_seconds > 0
        self._look_seconds = LOOK_SECONDS_BILLED if billed else LOOK_SECONDS
        self._again_seconds = AGAIN_SECONDS_BILLED if billed else AGAIN_SECONDS

    @property
    def _direction(self) -> str:
        return "minimize" if falls(self.asked.metric, self.asked.goal) else "maximize"

    def close(self) -> None:
        self.adviser.close()

    # Choosing.

    def choose(self, cell: int) -> Mapping[str, Any]:
        space, index = self.cells.search_point(cell)
        rungs = self._rungs.read() if self.asked.early else {}
        trials = {number: one for number, one in self._trials.read().items() if number != cell}
        known = described(space, trials, self.sweep.rows(self.turn), rungs, self.asked.metric)
        done = sum(1 for one in known if one["state"] == COMPLETE)
        if done < STARTUP_TRIALS:
            if done >= STARTUP_TRIALS // 2:
                self.adviser.prepare()  # while cells run: no machine waits for its imports later
            return space.sobol(self.asked.seed, index)
        self.adviser.ask(
            {
                "want": "choose",
                "seed": Random(f"tpe {self.asked.seed} {cell}").getrandbits(32),
                "direction": self._direction,
                "dimensions": dimensions_of(space),
                "trials": known,
            }
        )
        values = self._wait().get("values")
        params = params_of(space, values) if isinstance(values, list) else None
        if params is None:
            problem = self.adviser.problem or "the answer made no sense"
            self._say_once("random", f"cell {cell} has random parameters: {problem}")
            return space.random(self.asked.seed, index)
        return params

    def _wait(self) -> Mapping[str, Any]:
        give_up_at = self.clock.monotonic() + CHOOSE_SECONDS_MAX
        seconds, seconds_max = POLL_SECONDS
        while (answer := self.adviser.answer()) is None:
            if self.clock.monotonic() >= give_up_at:
                return {}
            self.clock.sleep(seconds)
            seconds = min(seconds_max, seconds * 1.5)
        return answer

    # Ending early.

    def watch(self, cell: int, child: Child) -> str:
        for word in self._words:
            child.say(word)
        self._words.clear()
        if not self.asked.early:
            return ""
        watch = self._watch = self._watch_of(cell, child)
        if watch.asked_about:
            answer = self.adviser.answer()
            return self._judged(watch, answer) if answer is not None else ""
        now = self.clock.monotonic()
        if now < watch.look_at:
            return ""
        watch.look_at = now + self._look_seconds
        watch.look(child)
        try:
            self._ask_about(watch)
        except AWAY:
            pass  # what was measured is not lost: the next look tries again
        return ""

    def leave(self, cell: int, child: Child) -> None:
        """A short cell is measured here alone."""
        if not self.asked.early:
            return
        watch, self._watch = self._watch_of(cell, child), None
        watch.look(child)
        try:
            self._write(watch)
        except AWAY:
            pass  # others have one less to be compared with

    def _watch_of(self, cell: int, child: Child) -> _Watch:
        """A cell that this worker has lost and got back has another child."""
        known = self._watch
        if known is not None and known.cell == cell and known.child is child:
            return known
        return _Watch(cell, child, self.asked.metric)

    def _write(self, watch: _Watch) -> bool:
        """Whether there was anything new."""
        watch.new = {step: value for step, value in watch.new.items() if step >= (self._first or 1)}
        if not watch.new:
            return False
        self._rungs.add(watch.cell, watch.new)
        watch.known |= watch.new
        watch.since = min(watch.since or math.inf, *watch.new)
        watch.new = {}
        return True

    def _ask_about(self, watch: _Watch) -> None:
        """Writes what is new, then asks whether the cell is to go on; also when another machine has written it and died."""
        now = self.clock.monotonic()
        if not self._write(watch) and (watch.settled or now < watch.again_at):
            return
        watch.again_at = now + self._again_seconds
        rungs = self._rungs.read()
        watch.read = True
        watch.known = {**watch.known, **rungs.get(watch.cell, {})}
        rows = self.sweep.rows(self.turn)
        first = self._first = first_rung(rows, rungs)
        mine = _from(watch.known, first)
        others = {cell: points for cell in rungs if cell != watch.cell and (points := _from(rungs[cell], first))}
        if first is None or not mine or (len(others) + 1 < COMPARED_MIN and not math.isnan(mine[max(mine)])):
            return
        newest = sorted(others)[-COMPARED_MAX:]
        ended = {cell for cell, row in rows.items() if row.state == State.SUCCEEDED.value}
        watch.asked_about = watch.compared = True
        watch.others = len(newest)
        self.adviser.ask(
            {
                "want": "stop",
                "early": self.asked.early,
                "direction": self._direction,
                "first": first,
                "since": watch.since or max(mine) // RUNG_FACTOR + 1,
                "mine": sorted(mine.items()),
                "others": [{"points": sorted(others[one].items()), "ended": one in ended} for one in newest],
            }
        )

    def _judged(self, watch: _Watch, answer: Mapping[str, Any]) -> str:
        watch.asked_about = False
        if not answer:
            self._say_once("early", f"no cell is ended early for now: {self.adviser.problem}")
            return ""
        watch.since = None
        step = answer.get("worse_at", 0)
        if step not in watch.known:
            return ""
        value = watch.known[step]
        against = "not among the best of" if self.asked.early == "asha" else "worse than the median of"
        return f"`{self.asked.metric}` was {value:.6g} at step {step}, {against} {watch.others} other cells"

    # What there is to say.

    def ended(self, row: Row, params: Mapping[str, Any]) -> None:
        metric = self.asked.metric
        if row.state == State.SUCCEEDED.value and metric not in row.metrics:
            named = ", ".join(f"`{name}`" for name in sorted(row.metrics)[:NAMES_TOLD_MAX]) or "nothing"
            self._say_once(
                "metric", f"cell {row.cell} has logged no `{metric}`, by which the search goes; it has logged {named}"
            )

    def _say_once(self, kind: str, word: str) -> None:
        """In the log of the next cell that is looked at: what is told every time would be told a thousand times."""
        if kind not in self._told:
            self._told.add(kind)
            self._words.append(f"search: {word}")


class _Watch:
    """One cell while it runs here."""

    def __init__(self, cell: int, child: Child, metric: str) -> None:
        self.cell = cell
        self.child = child
        self.look_at = self.again_at = -math.inf
        self.known: dict[int, float] = {}
        """What is in the home."""

        self.new: dict[int, float] = {}
        self.since: float | None = None
        """The lowest rung that nobody has judged yet."""

        self.compared = False
        """It was asked about at least once."""

        self.read = False
        """What others have written about it is known."""

        self.asked_about = False
        self.others = 0
        self._logged = LoggedMetric(metric)

    @property
    def settled(self) -> bool:
        """There is nothing to ask before it comes further."""
        return self.since is None and (self.compared or (self.read and not self.known))

    def look(self, child: Child) -> None:
        """The first value at or after a rung is that rung's."""
        for step, value in self._logged.news(child):
            rung = rung_of(step)
            if rung and rung not in self.known and rung not in self.new:
                self.new[rung] = value


def first_rung(rows: Mapping[int, Row], rungs: Mapping[int, Points]) -> int | None:
    """Where cells are compared first; None: no cell has come to its end yet, and nobody knows how long one is."""
    whole = [row for row in rows.values() if row.state == State.SUCCEEDED.value]
    steps = [max(row.step or 0, max(rungs.get(row.cell, {}), default=0)) for row in whole]
    return rung_of(max(1, max(steps) // FIRST_RUNG_SHARE)) if any(steps) else None


def _from(points: Points, first: int | None) -> dict[int, float]:
    return {step: value for step, value in points.items() if first is not None and step >= first}
