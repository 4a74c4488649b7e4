"""Whoever wants to be told of a job's end, or of a stall, is told by the job's own machine: no laptop needed, at most once per event.

The event is claimed first, by a create-only record in the job's folder; then the command is started or the URL called; then what
became of that is written down. Who is killed in between has told nobody, or somebody: it is not done again. A failure is shown
and changes nothing about the job.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outlast.clock import SYSTEM
from outlast.dataclass import dataclass
from outlast.errors import KeyMissing, OutlastError
from outlast.folder.folder import Folder
from outlast.folder.records import Cause, Head, Notification, Notified
from outlast.host import secrets
from outlast.machine.post import post
from outlast.results.sweep import counts
from outlast.spec.notify import check_url, is_reference, is_url
from outlast.spec.spec import Spec

COMMAND_SECONDS_MAX = 20.0
ALL_SECONDS_MAX = 60.0
"""A machine is gone within two minutes of its job's end, whomever it has to tell."""


@dataclass(frozen=True)
class Notifier:
    folder: Folder
    spec: Spec
    launch_id: str
    machine: str
    user_dir: Path
    environ: Mapping[str, str]
    """The base of a command's environment: the shell's that submitted, without anything secret."""

    def tell_end(self) -> None:
        """After the final swap. A launch that did not end the job, or was ended by a command that found no machine, tells nobody."""
        try:
            head = self.folder.read_head().head
            if head.launch_id == self.launch_id and head.state.final:
                self._tell(f"end-{head.launch:06d}", "ended", head, head.state.value)
        except KeyMissing:
            return
        except OutlastError as error:
            sys.stderr.write(f"nobody was notified: {error.message}\n")

    def tell_stalls(self) -> None:
        """Before the next attempt: of those that were ended because nothing came from them any more."""
        head = self.folder.read_head().head
        for number, attempt in head.attempts.items():
            if attempt.cause is Cause.STALLED and attempt.launch == head.launch and head.launch_id == self.launch_id:
                self._tell(f"stalled-{int(number):06d}", "stalled", head, "stalled")

    def _tell(self, event: str, kind: str, head: Head, state: str) -> None:
        key = self.folder.keys.notification(event)
        if any(entry.key == key for entry in self.folder.store.list(key, limit=1)):
            return
        if not self.folder.create(key, Notification(event, self.folder.store.now(), self.machine)):
            return
        facts = {**facts_of(self.spec, head, kind, state, self.folder.url), **self._cells(head)}
        until = SYSTEM.monotonic() + ALL_SECONDS_MAX
        problems: dict[str, str] = {}
        for to in self.spec.notify:
            left = until - SYSTEM.monotonic()
            problems[to] = self._tell_one(to, facts, min(left, COMMAND_SECONDS_MAX)) if left > 0 else "no time was left"
        self.folder.create(
            self.folder.keys.notified(event), Notified(event, self.folder.store.now(), self.machine, problems)
        )

    def _cells(self, head: Head) -> dict[str, int]:
        """Of a sweep: how many there are, and what has become of them."""
        if self.spec.cells is None:
            return {}
        found = counts(self.folder, self.spec, self.folder.read_launch(head.launch), final=head.state.final)
        return {"cells": found.cells, "cells_done": found.done, "cells_failed": found.failed}

    def _tell_one(self, to: str, facts: Mapping[str, Any], seconds: float) -> str:
        """What went wrong; empty: nothing."""
        body = json.dumps(facts).encode()
        if is_reference(to):
            kept = secrets.read_launch(self.user_dir, self.launch_id)
            url = kept.notify.get(to, "") if kept is not None else ""
            try:
                check_url(url)
            except OutlastError:
                return "what it refers to is not on this machine any more"
            return post(url, body)
        if is_url(to):
            return post(to, body)
        return self._run(shlex.split(to), facts, body, seconds)

    def _run(self, argv: list[str], facts: Mapping[str, Any], body: bytes, seconds: float) -> str:
        told = {f"OUTLAST_{name.upper()}": "" if value is None else str(value) for name, value in facts.items()}
        directory = self.spec.provenance.directory
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=sys.stderr.fileno(),
                stderr=sys.stderr.fileno(),
                env={**self.environ, **told},
                cwd=directory if os.path.isdir(directory) else "/",
                start_new_session=True,
                preexec_fn=_as_from_a_shell,  # noqa: PLW1509  it takes no lock that a thread of the store might hold
            )
        except OSError as error:
            return f"it could not be started: {error.strerror}"
        try:
            process.communicate(body, timeout=max(0.1, seconds))
        except subprocess.TimeoutExpired:
            return f"it was ended after {seconds:.0f} s"
        finally:
            _end(process)
        return f"it ended with exit code {process.returncode}" if process.returncode else ""


def _as_from_a_shell() -> None:
    """An agent lets init decide when it is to leave; what it starts is to hear `timeout` and its like."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _end(process: subprocess.Popen[bytes]) -> None:
    """With all that it has started and that is still in its group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def facts_of(spec: Spec, head: Head, kind: str, state: str, folder: str) -> dict[str, Any]:
    """What is told: as variables `OUTLAST_<NAME>`, and as one JSON object."""
    attempt = head.attempts.get(str(head.attempt))
    steps = [head.best_step, attempt.step if attempt is not None and attempt.step is not None else -1]
    return {
        "event": kind,
        "job": spec.job,
        "name": spec.name,
        "state": state,
        "why": head.reason or (attempt.reason if attempt is not None and kind == "stalled" else "") or None,
        "exit_code": head.exit_code,
        "step": max(steps) if max(steps) >= 0 else None,
        "attempts": len(head.attempts),
        "preemptions": sum(1 for one in head.attempts.values() if one.cause is Cause.PREEMPTED),
        "submitted_at": spec.submitted_at,
        "ended_at": head.ended_at,
        "folder": folder,
    }
