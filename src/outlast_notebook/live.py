"""`job.wait()` in a notebook: one output that is kept fresh until the job has ended."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from outlast_notebook.summary import html_of, text_of

if TYPE_CHECKING:
    from outlast.jobs.api import JobHandle
    from outlast.results.status import Status


def in_notebook() -> bool:
    """A kernel that shows rich output runs this code; a terminal's IPython does not count."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def wait(handle: JobHandle) -> Status:
    """As `job.wait()` elsewhere. Interrupting the cell leaves the job as it is, and the output as it was last."""
    shown: Any = None

    def show(status: Status) -> None:
        nonlocal shown
        from IPython.display import display

        bundle = {"text/html": html_of(status, handle._drawn_metrics()), "text/plain": text_of(status)}
        if shown is None:
            shown = display(bundle, raw=True, display_id=True)
        else:
            shown.update(bundle, raw=True)

    status = handle.wait(on_status=show)
    show(status)
    return status
