"""The study of a sweep that searches or ends cells early, on a machine: its adviser runs in the job's Python, or in this agent's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from outlast.agent.standing import AWAY
from outlast.agent.study import SearchStudy
from outlast.clock import SYSTEM
from outlast.errors import OutlastError
from outlast.folder.folder import Folder
from outlast.folder.records import LaunchRecord
from outlast.folder.sweep import SweepFolder
from outlast.host.machine_dir import MARK, Assignment
from outlast.machine.interpreter import Interpreter
from outlast.machine.study_process import Python, StudyProcess
from outlast.spec.spec import Spec

FindInterpreter = Callable[[], Interpreter]


def study_of(
    folder: Folder, spec: Spec, launch: LaunchRecord, told: Assignment, interpreter: FindInterpreter
) -> SearchStudy:
    assert spec.cells is not None and launch.cells is not None
    sweep = SweepFolder(folder)

    def find() -> Sequence[Python]:
        own = Python(sys.executable, {**os.environ, MARK: told.machine})
        if spec.container is not None:
            return [own]  # the job's is in its container, and this agent beside it
        return [*_of_job(interpreter, {**told.environ, **spec.env, MARK: told.machine}), own]

    cells = sweep.cells(spec.cells, launch.cells.grids)
    return SearchStudy(sweep, spec.cells, cells, launch.cells.turn, StudyProcess(find, SYSTEM), SYSTEM)


def _of_job(interpreter: FindInterpreter, environ: Mapping[str, str]) -> Iterator[Python]:
    """Where a job has an environment, Optuna was resolved into it."""
    try:
        found = interpreter()
        yield Python(found.python, {**environ, **found.env})
    except AWAY:
        raise
    except OutlastError:
        pass  # the cell that needs it ends with that error
