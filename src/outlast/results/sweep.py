"""A sweep's cells as a person asks for them: how many are done, what came of each, which is best."""

from __future__ import annotations

from dataclasses import dataclass

from outlast.folder.folder import Folder
from outlast.folder.records import LaunchRecord
from outlast.folder.sweep import GOOD, Progress, SweepFolder, read_progress
from outlast.spec.spec import Spec


@dataclass(frozen=True)
class Counts:
    cells: int
    done: int
    failed: int
    running: int

    @property
    def waiting(self) -> int:
        return self.cells - self.done - self.failed - self.running

    def document(self) -> dict[str, int]:
        return {
            "cells": self.cells,
            "done": self.done,
            "failed": self.failed,
            "running": self.running,
            "waiting": self.waiting,
        }


def counts(folder: Folder, spec: Spec, record: LaunchRecord) -> Counts:
    assert spec.cells is not None and record.cells is not None
    sweep = SweepFolder(folder)
    total = sum(grid.cells for grid in sweep.grids()[: record.cells.grids])
    return counted(read_progress(sweep, record, total))


def cells_that_run(folder: Folder, record: LaunchRecord) -> list[int]:
    """Or were begun, by machines that are dead by now."""
    return read_progress(SweepFolder(folder), record, 0).unfinished()


def counted(progress: Progress) -> Counts:
    running = progress.unfinished()
    ended = [row for cell, row in progress.rows.items() if cell not in running]
    good = sum(1 for row in ended if row.state in GOOD)
    return Counts(progress.cells, good, len(ended) - good, len(running))


def counts_words(found: Counts) -> str:
    words = [f"{found.done:,} of {found.cells:,} cells done"]
    if found.failed:
        words.append(f"{found.failed:,} failed")
    if found.running:
        words.append(f"{found.running:,} running")
    return ", ".join(words)
