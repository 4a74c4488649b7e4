"""A container's life in a service that runs it for us: `python -m outlast.machine.contained`, told by the variable `OUTLAST_TOLD`.

As a rented machine's (see `rented`), but for this: nothing but the service restarts the container, and only so often. So a machine that
ends here without being taken away is followed by the next one in the same container. The exit code tells the service what to do:

    0     the launch is over, or goes on elsewhere
    else  it is restarted
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from random import SystemRandom
from typing import TypeVar

from outlast.agent.agent_process import EXIT_AGENT_SPARE
from outlast.clock import SYSTEM
from outlast.dataclass import replace
from outlast.engines.vertex.told import STOPPED, VARIABLE, Told, claim_name, rank_in
from outlast.errors import Denied, KeyMissing, NotFound, OutlastError, PreconditionFailed, StoreUnavailable
from outlast.google.auth.metadata import HOST
from outlast.host import files, system
from outlast.machine.rented import EXIT_AGAIN, EXIT_DONE, EXIT_FAILED, EXIT_SPARE, LOG_BYTES_TOLD, Life
from outlast.spec.record import decode
from outlast.store.registry import open_store
from outlast.store.store import Store

BOOTS_MAX = 3
"""So many in a row that do not come up end the launch."""

BASE = "OUTLAST_BASE"
BASE_DEFAULT = "/var/lib/outlast"
PAUSE_SECONDS = 1.0
AWAY_SECONDS_MAX = 600.0
"""Rights take minutes to arrive, and a home may be away for a while."""

AWAY_PAUSE_SECONDS = (0.5, 10.0)
STRAYS_SECONDS_MAX = 30.0
POOL = "workerpool"
OURS = (VARIABLE, BASE, "OUTLAST_PAUSE_SECONDS")
"""Of the container's environment, what is not the trainer's business."""

T = TypeVar("T")


def main(environ: Mapping[str, str] = os.environ) -> int:
    os.umask(0o077)
    try:
        told = decode(Told, environ[VARIABLE].encode(), VARIABLE)
        if told.environ:  # an emulator's: it knows who this is by its metadata server alone
            os.environ.update({"GCE_METADATA_HOST": HOST, **os.environ, **told.environ})
        return Container(told, place(told, environ), Path(environ.get(BASE) or BASE_DEFAULT)).live()
    except OutlastError as error:
        _say(f"error: {error.message}")
        return EXIT_FAILED


def place(told: Told, environ: Mapping[str, str]) -> int:
    """The rank, by what the service says of this replica."""
    try:
        task = json.loads(environ.get("CLUSTER_SPEC") or "{}").get("task", {})
        pool = int(str(task.get("type", f"{POOL}0")).removeprefix(POOL))
        return rank_in(told, pool, int(task.get("index", 0)))
    except (ValueError, TypeError, AttributeError):
        return told.rank


class Container:
    def __init__(self, told: Told, rank: int, base: Path) -> None:
        self.told = told
        self.rank = rank
        self.base = base
        self.random = SystemRandom()
        self.taken = False
        """A notice has come: the service wants this container back."""

    def live(self) -> int:
        signal.signal(signal.SIGTERM, self._on_term)
        self.base.mkdir(mode=0o700, parents=True, exist_ok=True)
        system.become_subreaper()
        store = self._patiently_open()
        while not self.taken:
            number = self._begin(store)
            if number is None:
                return EXIT_DONE
            life = self._life(number)
            code = life.live()
            signal.signal(signal.SIGTERM, self._on_term)
            if code == EXIT_DONE:
                return EXIT_DONE
            _end_strays()
            if code == EXIT_FAILED and self._give_up(store, number, life.last_words()):
                return EXIT_DONE
            SYSTEM.sleep(PAUSE_SECONDS * self.random.random())
        return EXIT_AGAIN

    def _life(self, number: int) -> InContainer:
        if self.told.slots == 1:
            return ContainedLife(self, number)
        from outlast.machine.contained_shared import ContainedSharedLife

        return ContainedSharedLife(self, number)

    def _on_term(self, *_: object) -> None:
        self.taken = True

    # The home.

    def _patiently_open(self) -> Store:
        return self._patiently(lambda: open_store(self.told.home))

    def _begin(self, store: Store) -> int | None:
        """Counts a boot; None: there is nothing to do here."""
        return self._patiently(lambda: self._counted(store))

    def _counted(self, store: Store) -> int | None:
        if SYSTEM.now() >= self.told.deadline_at or self._is_there(store, STOPPED):
            return None
        if self._claim(store) != self.told.claim:
            return None  # another custom job has taken this one's place
        number = 1 + max((boot for boot, _ in self._boots(store)), default=0)
        while True:
            try:
                store.put(f"{self.told.boots}{self.rank}-{number}", b"", if_generation=0)
            except PreconditionFailed:
                number += 1
            else:
                return number

    def _claim(self, store: Store) -> str:
        try:
            return store.get(f"{self.told.boots}{claim_name(self.told.rank)}").data.decode(errors="replace")
        except KeyMissing:
            return ""

    def _is_there(self, store: Store, name: str) -> bool:
        key = f"{self.told.boots}{name}"
        return any(entry.key == key for entry in store.list(key, limit=1))

    def _boots(self, store: Store) -> list[tuple[int, bool]]:
        """(number, whether its agent came up) of this rank's, by what is in the home."""
        prefix = f"{self.told.boots}{self.rank}-"
        words = [entry.key.removeprefix(prefix).partition("-") for entry in store.list(prefix)]
        up = {int(number) for number, _, rest in words if rest == "up" and number.isdigit()}
        return [(int(number), int(number) in up) for number, _, rest in words if number.isdigit() and not rest]

    def _give_up(self, store: Store, number: int, why: str) -> bool:
        """After three boots in a row that did not come up."""

        def look() -> bool:
            self._create(store, f"{self.rank}-{number}-log", why)
            last = sorted(self._boots(store))[-BOOTS_MAX:]
            if len(last) < BOOTS_MAX or any(up for _, up in last):
                return False
            self._create(store, "failed", why)
            return True

        _say(why)
        return self._patiently(look)

    def _create(self, store: Store, name: str, text: str) -> None:
        try:
            store.put(f"{self.told.boots}{name}", text.encode(errors="replace"), if_generation=0)
        except PreconditionFailed:
            return

    def _patiently(self, ask: Callable[[], T]) -> T:
        """A home that is away, or that does not know this container's account yet, is no failed boot."""
        wait, wait_max = AWAY_PAUSE_SECONDS
        give_up_at = SYSTEM.monotonic() + AWAY_SECONDS_MAX
        while True:
            try:
                return ask()
            except (StoreUnavailable, Denied, NotFound) as error:
                _say(f"the home cannot be read: {error.message}")
                if SYSTEM.monotonic() >= give_up_at or SYSTEM.now() >= self.told.deadline_at or self.taken:
                    raise
            SYSTEM.sleep(wait)
            wait = min(wait_max, wait * 2)


class InContainer(Life):
    """What is different about a machine's life, or a worker's, in a container."""

    container: Container

    def move_in(self, container: Container) -> None:
        self.container = container
        self.assignment = replace(self.assignment, environ=_environ(container.told, self.assignment.environ))

    def _born_at(self) -> float | None:
        return None  # whoever has started the container is no part of it

    def _start_watcher(self) -> subprocess.Popen[bytes] | None:
        return None  # the service sends a signal, and nothing else tells of it

    def _taken_away(self) -> None:
        self.container.taken = True
        super()._taken_away()

    def _left(self) -> int:
        """One that has nothing left to do ends its own custom job alone."""
        code = super()._left()
        return EXIT_DONE if code == EXIT_SPARE else code

    def _up_word(self) -> bytes:
        """Which custom job it came up in."""
        return self.container.told.claim.encode()

    def say_spare(self) -> None:
        """In the home, before its process ends: its custom job ends later."""
        key = f"{self.told.boots}{self.rank}-{self.assignment.boot}-spare"
        try:
            open_store(self.told.home).put(key, b"", if_generation=0)
        except (PreconditionFailed, OutlastError):
            pass  # it is only for whoever looks at this very moment

    def last_words(self) -> str:
        return files.read_end(self.paths.log, LOG_BYTES_TOLD).decode(errors="replace").strip() or "it left no word"


class ContainedLife(InContainer):
    """One machine's life in the container."""

    def __init__(self, container: Container, number: int) -> None:
        super().__init__(container.told, container.base, container.rank, number)
        self.move_in(container)

    def _agent(self) -> Callable[[str], int]:
        run = super()._agent()

        def lived(directory: str) -> int:
            code = run(directory)
            if code == EXIT_AGENT_SPARE:
                self.say_spare()
            return code

        return lived


def _environ(told: Told, environ: Mapping[str, str]) -> dict[str, str]:
    """Where workers meet is where the service has put the first one; what it says itself of that is passed on as it is."""
    own = {name: value for name, value in environ.items() if name not in OURS}
    if sum(told.pools) == 1:
        return own
    try:
        first = json.loads(own.get("CLUSTER_SPEC") or "{}")["cluster"][f"{POOL}0"][0]
        host, _, port = str(first).partition(":")
    except (ValueError, KeyError, IndexError, TypeError):
        return own
    return {"MASTER_ADDR": host, **({"MASTER_PORT": port} if port else {}), **own}


def _end_strays() -> None:
    """What a machine that died has left running, level by level: orphans are ours, and the next machine must not meet them."""
    give_up_at = SYSTEM.monotonic() + STRAYS_SECONDS_MAX
    while (left := system.children(os.getpid())) and SYSTEM.monotonic() < give_up_at:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                continue


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
