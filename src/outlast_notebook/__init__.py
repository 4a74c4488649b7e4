"""A job in a notebook: a summary that `job` shows, and that `job.wait()` keeps fresh until it ends.

Nothing need be imported: `outlast` finds this package when a notebook asks for it. IPython is the notebook's own; without it, nothing here
is used.
"""

from __future__ import annotations

from outlast_notebook.live import in_notebook, wait
from outlast_notebook.summary import html_of, mimebundle

__all__ = ["html_of", "in_notebook", "mimebundle", "wait"]
