"""Google Cloud in a box: the state, the routes and the steps, joined into one function from request to answer."""

from __future__ import annotations

import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from outlast_emulator.chain import Step, joined
from outlast_emulator.clock import Clock
from outlast_emulator.compute import hosting
from outlast_emulator.compute.model import Compute
from outlast_emulator.control.faults import Faults
from outlast_emulator.control.ledger import Ledger
from outlast_emulator.control.record import RECORD, Record
from outlast_emulator.errors import ApiError, json_error
from outlast_emulator.iam.authority import Authority
from outlast_emulator.logging_api.entries import Entries
from outlast_emulator.project.enabled import EnabledApis
from outlast_emulator.project.operations import LongOperations
from outlast_emulator.project.secrets import Secrets
from outlast_emulator.registry.model import Registry
from outlast_emulator.registry.repositories import Repositories
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Router
from outlast_emulator.storage.lifecycle import Lifecycle
from outlast_emulator.storage.model import Storage
from outlast_emulator.switches import Switches
from outlast_emulator.vertex.model import Vertex
from outlast_emulator.wire.gate import Gate

PROJECT = "emulated"
PROJECT_NUMBER = 424242424242
LIFECYCLE_SECONDS = 10.0
"""Between two looks at the buckets' rules."""


class Emulator:
    """Everything that an API may need; each API gets the whole of it when it makes its routes (`apis.APIS`).

    `dispatch` may be called by any number of threads at once.
    """

    def __init__(self, data: Path, *, time_scale: float = 1.0) -> None:
        from outlast_emulator.apis import APIS, STEPS

        self.data = data
        self.clock = Clock(time_scale)
        self.switches = Switches()
        self.url = ""
        """`http://127.0.0.1:PORT`, once it is served."""
        self.listen: Callable[[socket.socket, Gate], Callable[[], None]] = _no_server
        """Serves one more socket: machines have their own. Set by the server."""
        self.faults = Faults(self.clock)
        self.record = Record(os.environ.get(RECORD, ""))
        self.authority = Authority(data / "iam", self.clock, self.switches)
        self.enabled = EnabledApis(data / "project", self.clock, self.switches)
        self.secrets = Secrets(data / "project", self.clock)
        self.storage = Storage(data / "storage", self.clock, self.switches)
        self.long_operations = LongOperations(data / "project")
        self.repositories = Repositories(data / "registry", self.switches)
        self.registry = Registry(data / "registry", self.clock)
        self.compute = Compute(data / "compute", self.clock, self.switches)
        hosting.connect(self)
        self.entries = Entries(data / "logging", self.clock)
        self.vertex = Vertex(self)
        self.lifecycle = Lifecycle(self.storage, data / "xml-uploads", self.clock)
        self.ledger = Ledger(self.storage, self.record, (self.compute.usage, self.vertex.usage))
        self.check_body: Callable[[str, dict[str, Any]], None] = _no_check
        """For a body that is not the whole of a request (the first part of a multipart upload): refused as Google refuses
        it. Set by the step that validates."""
        self.demand: Callable[..., None] = _no_demand
        """demand(request, permission, bucket, object): for what only an operation knows that it is needed. Set by the step that
        authorises."""
        self.router = Router()
        for make_routes in APIS:
            for route in make_routes(self):
                self.router.add(route)
        steps: list[Step] = [make_step(self) for make_step in STEPS]
        self._serve = joined(steps)
        self._closed = False
        self._lifecycle_at = self.clock.monotonic()

    @property
    def calm(self) -> bool:
        """Nothing is asked for that takes time: quick routes may run in the loop."""
        return self.faults.calm

    def find(self, request: Request) -> ApiError | None:
        """Sets the request's route; what is wrong with its path, if there is no such route."""
        try:
            if self.router.find(request) is not None:
                return None
        except ApiError as error:
            return error
        return ApiError(404, "notFound", "Not Found")

    def dispatch(self, request: Request) -> Response:
        """The answer; never an exception but `wire.bodies.BodyCut`, when there is nobody left to answer."""
        wrong = self.find(request) if request.route is None else None
        if wrong is not None:
            return json_error(wrong)
        assert request.route is not None
        try:
            return self._serve(request)
        except ApiError as error:
            return request.route.refusal(request, error)
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # the edge: one request
            if self._closed:
                raise ConnectionError("the emulator ended") from error
            sys.stderr.write(f"bug in `{request.method_id}`: {request.verb} {request.path}\n{traceback.format_exc()}")
            return request.route.refusal(request, ApiError(500, "backendError", "Backend Error"))

    def tick(self) -> None:
        """About once a second, from the server's loop."""
        self.compute.start()
        self.vertex.start()
        self.ledger.keep_changes()
        if self.clock.monotonic() - self._lifecycle_at > LIFECYCLE_SECONDS:
            self._lifecycle_at = self.clock.monotonic()
            threading.Thread(target=self._carry_out_lifecycle, daemon=True).start()

    def _carry_out_lifecycle(self) -> None:
        try:
            self.lifecycle.carry_out()
        except Exception:
            if not self._closed:
                raise

    def close(self) -> None:
        self._closed = True
        self.ledger.keep()
        self.record.close()
        self.vertex.close()
        self.entries.close()
        self.compute.close()
        self.registry.close()
        self.storage.close()


def _no_server(listener: socket.socket, gate: Gate) -> Callable[[], None]:
    """Before there is one: nobody answers."""
    return listener.close


def _no_demand(request: Request, permission: str, bucket: str = "", object_name: str = "") -> None:
    """Before there is a step that authorises."""


def _no_check(method_id: str, document: dict[str, Any]) -> None:
    """Before there is a step that validates."""
