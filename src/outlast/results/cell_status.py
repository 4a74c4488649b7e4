"""The status of one cell of a sweep: what its own records say, and whether its sweep still runs."""

from __future__ import annotations

from outlast.dataclass import replace
from outlast.folder.cell import CellFolder
from outlast.folder.publish import publish
from outlast.results.status import Status, status_of

MISSING = "missing"
"""Of a cell that had begun when its sweep ended, and has not ended itself."""


def cell_status(folder: CellFolder, sweep: Status) -> Status:
    """`sweep`: its own, looked at just now."""
    head = folder.existing_head().head
    spec = folder.read_spec()
    record = folder.read_launch(head.launch)
    if head.state.final:
        publish(folder, record.id, spec)
    own = head.launch == sweep.launch.launch
    status = status_of(
        spec,
        head,
        record,
        alive="running" if own and not sweep.final else "",
        why=sweep.why if not sweep.final else "",
        machines=sweep.machines if own else (),
        stopping=own and sweep.state == "stopping",
        beat=folder.read_beat(head.attempt) if head.attempt else None,
        now=sweep.now,
        folder_url=folder.url,
    )
    if not head.state.final and (sweep.final or not own):
        return replace(
            status,
            state=MISSING if sweep.final else "waiting",
            why=f"its sweep has {sweep.state}" if sweep.final else "for a worker of its sweep",
        )
    return status
