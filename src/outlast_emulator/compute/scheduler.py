"""What happens later: tasks in the database, carried out by one thread when they are due, found again after a restart.

A task is a name and arguments, never a function: the function stands in a table that is filled at every start
(`scheduler.on("instances.boot", boot)`). A task's row is removed when its function has returned, so a killed emulator
carries it out again: whatever it does must be right a second time.
"""

from __future__ import annotations

import json
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from outlast_emulator.clock import Clock
from outlast_emulator.compute.database import Database

LOOK_SECONDS_MAX = 0.5
"""Between two looks at the clock while something waits: a test may set the clock forward."""

Task = Callable[..., None]


class Scheduler:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._tasks: dict[str, tuple[Task, bool]] = {}
        self._changed = threading.Condition()
        self._changes = 0
        self._under_way: set[int] = set()
        self._thread: threading.Thread | None = None
        self._closed = False

    def on(self, name: str, task: Task, *, slow: bool = False) -> None:
        """`task(**arguments)` is what `name` means. `slow`: in a thread of its own, because it waits for something."""
        self._tasks[name] = (task, slow)

    def later(self, seconds: float, name: str, **arguments: Any) -> int:
        """In `seconds` of Google's time (`clock.scaled`). Within a transaction: only if that is committed."""
        return self.at(self._clock.now() + self._clock.scaled(seconds), name, **arguments)

    def at(self, due_at: float, name: str, **arguments: Any) -> int:
        """At a point in time of the emulator's clock, which is not scaled."""
        with self._database.write() as connection:
            cursor = connection.execute(
                "INSERT INTO tasks (due_at, name, arguments) VALUES (?, ?, ?)", (due_at, name, json.dumps(arguments))
            )
        self._tell()
        return int(cursor.lastrowid or 0)

    def cancel(self, task_id: int) -> None:
        """What was done or cancelled already is left alone."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM tasks WHERE id=?", (task_id,))

    def waiting(self) -> list[tuple[int, float, str, dict[str, Any]]]:
        """Number, due time, name and arguments of all that is still to do."""
        rows = self._database.rows("SELECT id, due_at, name, arguments FROM tasks ORDER BY due_at, id")
        return [(row[0], row[1], row[2], json.loads(row[3])) for row in rows]

    def start(self) -> None:
        """Nothing is carried out before: at a restart first everybody must have said what their tasks mean."""
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._run, name="compute-scheduler", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._closed = True
        self._tell()
        if self._thread is not None:
            self._thread.join(10)

    def _run(self) -> None:
        while not self._closed:
            seen = self._changes
            due = [task for task in self.waiting() if task[0] not in self._under_way]
            now = self._clock.now()
            ready = [task for task in due if task[1] <= now]
            for number, _, name, arguments in ready:
                if self._closed:
                    return
                self._begin(number, name, arguments)
            if not ready:
                with self._changed:
                    if not self._closed and seen == self._changes:
                        wait = min(LOOK_SECONDS_MAX, max(0.001, due[0][1] - now)) if due else LOOK_SECONDS_MAX
                        self._changed.wait(wait)

    def _begin(self, number: int, name: str, arguments: dict[str, Any]) -> None:
        if self._database.row("SELECT 1 FROM tasks WHERE id=?", (number,)) is None:
            return  # cancelled by one that was due just before
        task, slow = self._tasks[name]
        self._under_way.add(number)
        if slow:
            threading.Thread(target=self._do, args=(number, task, arguments), name=name, daemon=True).start()
        else:
            self._do(number, task, arguments)

    def _do(self, number: int, task: Task, arguments: dict[str, Any]) -> None:
        try:
            task(**arguments)
        except Exception:  # noqa: BLE001  the edge: one task. It is a bug of ours, said, and not repeated for ever.
            if self._closed:
                return
            sys.stderr.write(f"bug in a task of the emulator: {arguments}\n{traceback.format_exc()}")
        try:
            self.cancel(number)
        except Exception:
            if not self._closed:
                raise
        self._under_way.discard(number)
        self._tell()

    def _tell(self) -> None:
        with self._changed:
            self._changes += 1
            self._changed.notify_all()
