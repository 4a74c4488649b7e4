"""Machines of a sweep that are not needed any more and may not leave their group: whoever looks, and may, sends them away.

They lack the right since an older `outlast init` gave their account none. They are paid for as long as they are there.
"""

from __future__ import annotations

from collections.abc import Collection

from outlast.dataclass import replace
from outlast.engines.engine import LaunchState
from outlast.engines.registry import DISMISSERS
from outlast.errors import OutlastError
from outlast.folder.bills import Bills
from outlast.folder.folder import Folder
from outlast.folder.records import LaunchRecord
from outlast.jobs.job import Job, as_launch
from outlast.jobs.roles import LEAVE_GROUP
from outlast.jobs.world import World
from outlast.spec.spec import Spec

GONE_SECONDS = 60.0
"""From the word to the end of its machine: a shutdown is given thirty."""


def dismiss_idle(world: World, job: Job, record: LaunchRecord, spec: Spec, state: LaunchState) -> LaunchState:
    """The state, with what has become of them. Who may not reads which right it takes."""
    send_away = DISMISSERS.get(record.engine)
    if not state.idle or send_away is None or world.dry:
        return state
    try:
        gone = send_away(as_launch(job, record, spec), world.environ, world.clock, state.idle)
    except OutlastError as error:
        return replace(state, why=f"{state.why}; nor may you send it away: {error.message}")
    _settle(job.folder, record, gone)
    machines = f"{len(gone):,} of its machines" if len(gone) > 1 else "one of its machines"
    said = f"{machines} had nothing to do and might not leave: sent away now; `outlast init` gives the right `{LEAVE_GROUP}`"
    return replace(state, why=said, idle=()) if gone else state


def _settle(folder: Folder, record: LaunchRecord, gone: Collection[str]) -> None:
    """Their bills end here. First the bills, then what says that they go on: a death in between counts too much, not too little."""
    bills, until = Bills(folder), folder.store.now() + GONE_SECONDS
    for bill in bills.of_launch(record.id):
        if bill.machine in gone:
            number = bill.machine.partition("-")[2]
            bills.write(f"{record.id}-{bill.worker}-{number}", replace(bill, until=max(bill.until, until)))
    for machine in gone:
        folder.store.delete(f"{folder.keys.boots(record.launch)}{machine}-spare")
