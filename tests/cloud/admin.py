"""Whoever sets a project up, in this process: init's own steps over a wire that counts requests, dies, and belongs to anybody."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random

from outlast.clock import SYSTEM
from outlast.google.connections import Connections
from outlast.google.endpoints import endpoints
from outlast.google.transport import Transport
from outlast.google.wire import Answer, Request
from outlast.jobs.init import Initializer
from outlast.jobs.init_bucket import choose_bucket
from outlast.jobs.init_file import file_step
from outlast.jobs.init_plan import Planner
from outlast.jobs.init_step import Setup
from outlast_emulator.testing import Running

EMAIL = "admin@example.com"
ROLE = "projects/emulated/roles/underTest"
READING = ("GET", "HEAD")


class Death(BaseException):
    """SIGKILL, as far as one thread can feel it: nothing after it is done."""


class QuickClock:
    """Waits are short: what is waited for is a server beside us."""

    def now(self) -> float:
        return SYSTEM.now()

    def monotonic(self) -> float:
        return SYSTEM.monotonic()

    def sleep(self, seconds: float) -> None:
        SYSTEM.sleep(min(seconds, 0.02))


class MortalWire:
    """Dies before or after the nth request that changes something."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._wire = Connections(environ)
        self.writes = 0
        self.dies_at = 0
        self.dies_after = False

    def send(self, request: Request, *, connect_seconds: float, stall_seconds: float) -> Answer:
        counted = request.method not in READING and not request.url.endswith(("/token", ":getIamPolicy"))
        self.writes += counted
        dies = counted and self.writes == self.dies_at
        if dies and not self.dies_after:
            raise Death
        answer = self._wire.send(request, connect_seconds=connect_seconds, stall_seconds=stall_seconds)
        if dies:
            raise Death
        return answer


class Admin:
    def __init__(self, emulator: Running, directory: Path, user_dir: Path) -> None:
        self.emulator = emulator
        self.directory = directory
        self.user_dir = user_dir
        self.environ = {"OUTLAST_EMULATOR": emulator.url, "HOME": str(directory)}
        """Without a login: the project's owner."""

        self.bucket = ""
        self.members: tuple[str, ...] = ()
        self.ssh = False

    def become(self, permissions: Iterable[str]) -> None:
        """From now on somebody with these permissions, and no other."""
        self.emulator.call("POST", "/_emulator/apis", {"enabled": ["iam.googleapis.com"]})
        body = {
            "roleId": "underTest",
            "role": {"title": "t", "includedPermissions": sorted(permissions), "stage": "GA"},
        }
        made = self.emulator.call("POST", "/v1/projects/emulated/roles", body)
        if made.status == 409:
            path = f"/v1/{ROLE}?updateMask=includedPermissions"
            made = self.emulator.call("PATCH", path, {"includedPermissions": sorted(permissions)})
        assert made.status == 200, made.body
        key = self.directory.parent / "admin.json"
        user = self.emulator.call("POST", "/_emulator/iam/users", {"email": EMAIL, "roles": [ROLE]})
        key.write_text(json.dumps(user.json()))
        self.environ = {**self.environ, "GOOGLE_APPLICATION_CREDENTIALS": str(key)}

    def initializer(self, wire: MortalWire | None = None, *, undo: bool = False) -> Initializer:
        """As the command makes it."""
        transport = self.transport(wire)
        bucket = choose_bucket(transport, "emulated", "us-central1", self.bucket, Random(1))
        setup = Setup("emulated", "us-central1", bucket, self.members, self.ssh)
        planner = Planner(setup, transport, QuickClock())
        file = file_step(setup, self.directory, self.user_dir)
        steps = [file, *planner.steps(all_roles=True)] if undo else [*planner.steps(), file]
        return Initializer(steps, transport, QuickClock())

    def transport(self, wire: MortalWire | None = None) -> Transport:
        used = wire or MortalWire(self.environ)
        return Transport(endpoints(self.environ), used, QuickClock(), Random(1), self.environ)

    def init(self, wire: MortalWire | None = None) -> list[str]:
        """What it made."""
        return [one.step.wanted for one in self.initializer(wire).make() if not one.there]

    def undo(self, wire: MortalWire | None = None) -> list[str]:
        return list(self.initializer(wire, undo=True).undo())

    def all_there(self) -> bool:
        return all(one.there for one in self.initializer().look())
