"""A virtual clock and the actors that live by it: exactly one runs at a time, and chance decides which one is next.

An actor is a greenlet, so that the real, blocking code of an agent or a command can be put aside in the middle of any call.
A killed actor is simply never resumed: none of its `finally` blocks runs, as with SIGKILL.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from random import Random
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet


class Actor:
    """One process: an agent on a machine, or a command on a laptop."""

    __slots__ = ("dead", "ended", "error", "fiber", "name", "owed", "paused", "result", "token")

    def __init__(self, name: str) -> None:
        self.name = name
        self.fiber: Any = None
        self.token = 0
        """Counts its sleeps, so that a wake-up meant for an earlier one is not taken for this one's."""

        self.paused = False
        self.owed = False
        """Its sleep ended while it was paused."""

        self.dead = False
        self.ended = False
        self.result: Any = None
        self.error: BaseException | None = None

    @property
    def alive(self) -> bool:
        return not (self.dead or self.ended)


class Schedule:
    def __init__(self, random: Random, now: float = 0.0) -> None:
        self.now = now
        self.random = random
        self.events = 0
        self._queue: list[tuple[float, float, int, Callable[[], None]]] = []
        self._count = 0
        self._hub: Any = None
        self._actors: list[Actor] = []
        self._current: Actor | None = None
        self.closed = False

    @property
    def current(self) -> Actor | None:
        return self._current

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Calls it then, between two steps of actors; what falls together comes in random order."""
        self._count += 1
        heapq.heappush(self._queue, (max(when, self.now), self.random.random(), self._count, call))

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        self.at(self.now + seconds, call)

    def spawn(self, name: str, body: Callable[[], Any], ended: Callable[[Actor], None] | None = None) -> Actor:
        actor = Actor(name)

        def run() -> None:
            try:
                actor.result = body()
            except GreenletExit:
                return
            except BaseException as error:  # noqa: BLE001  the edge of a simulated process: whoever started it judges
                actor.error = error
            actor.ended = True
            if ended is not None and not self.closed:
                ended(actor)

        actor.fiber = greenlet(run)
        self._actors.append(actor)
        self.after(0.0, lambda: self._resume(actor, actor.token))
        return actor

    def sleep(self, seconds: float) -> None:
        """Called by an actor: others run until then."""
        actor = self._current
        if self.closed or actor is None:
            raise GreenletExit
        token = actor.token = actor.token + 1
        self.after(max(seconds, 0.0), lambda: self._resume(actor, token))
        self._hub.switch()
        if self.closed:
            raise GreenletExit

    def wake(self, actor: Actor, token: int | None = None) -> None:
        """Ends the actor's sleep now instead of later."""
        self._resume(actor, actor.token if token is None else token)

    def kill(self, actor: Actor) -> None:
        actor.dead = True

    def pause(self, actor: Actor) -> None:
        actor.paused = True

    def unpause(self, actor: Actor) -> None:
        actor.paused = False
        if actor.owed:
            actor.owed = False
            token = actor.token
            self.after(0.0, lambda: self._resume(actor, token))

    def _resume(self, actor: Actor, token: int) -> None:
        if actor.dead or actor.ended or token != actor.token:
            return
        if actor.paused:
            actor.owed = True
            return
        self._current = actor
        actor.fiber.switch()
        self._current = None

    def run(self, until: float, done: Callable[[], bool]) -> None:
        """Until that time, or until `done` after some event."""
        self._hub = getcurrent()
        queue = self._queue
        while queue and not done():
            when = queue[0][0]
            if when > until:
                self.now = until
                return
            call = heapq.heappop(queue)[3]
            self.now = when
            self.events += 1
            call()

    def close(self) -> None:
        """Unwinds every fiber that is left; nothing that they do on the way out reaches the world any more."""
        self.closed = True
        self._hub = getcurrent()
        self._queue.clear()
        for actor in self._actors:
            fiber, actor.fiber = actor.fiber, None
            if fiber is not None and not fiber.dead and fiber:
                fiber.throw(GreenletExit)
        self._actors.clear()
