"""A randomized search on all cores that outlasts its machine: what was scored stays scored."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass

import models
import numpy as np
from sklearn.model_selection import StratifiedKFold

import outlast

FOLDS = 3

Fit = tuple[int, int]
"""One piece of work: (candidate, fold)."""


@dataclass(frozen=True)
class Task:
    kind: str
    candidates: list[dict[str, float]]
    features: np.ndarray
    labels: np.ndarray

    def score(self, fit: Fit) -> float:
        """The accuracy on one fold of a model that has learned from the others."""
        candidate, fold = fit
        splits = StratifiedKFold(FOLDS, shuffle=True, random_state=models.SEED).split(self.features, self.labels)
        learn, check = list(splits)[fold]
        model = models.new_model(self.kind, self.candidates[candidate])
        model.fit(self.features[learn], self.labels[learn])
        return float(np.mean(model.predict(self.features[check]) == self.labels[check]))


def search(task: Task, workers: int) -> dict[int, float]:
    """Candidate -> mean accuracy, of all that were scored on every fold."""
    plan = [(candidate, fold) for candidate in range(len(task.candidates)) for fold in range(FOLDS)]
    state = outlast.State(scores={})
    with closing(scored(task, plan, state, workers)) as results:
        for step in outlast.steps(len(plan), state, save_steps=1):
            (candidate, fold), score = next(results)
            # In a fixed order, whichever core was faster: the checkpoint of a search is the same each time.
            state.scores = dict(sorted({**state.scores, f"{candidate:06d}.{fold}": score}.items()))
            found = means(state.scores)
            if candidate in found:
                outlast.log(accuracy=found[candidate], best=max(found.values()))
                print(f"candidate {candidate}: {found[candidate]:.4f} ({step + 1} of {len(plan)} fits)", flush=True)
    return means(state.scores)


def scored(task: Task, plan: list[Fit], state: outlast.State, workers: int) -> Iterator[tuple[Fit, float]]:
    """What is still to be fitted, in the order in which it is done. It begins with the first `next`: by then the state is restored."""
    left = [(candidate, fold) for candidate, fold in plan if f"{candidate:06d}.{fold}" not in state.scores]
    print(f"{len(plan) - len(left)} of {len(plan)} fits are done already, {workers} at a time", flush=True)
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=begin_worker, initargs=(task,)
    )
    try:
        fits = {pool.submit(fit_one, fit): fit for fit in left}
        for future in as_completed(fits):
            yield fits[future], future.result()
    except BrokenProcessPool as error:
        hint = "`--workers N` fits fewer at a time; what is scored is kept for a resume"
        raise SystemExit(f"error: a worker was killed, perhaps for want of memory\n\nhint: {hint}") from error
    finally:
        # Who is told to leave does not wait for fits that nobody will ask for.
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.kill()


def means(scores: Mapping[str, float]) -> dict[int, float]:
    folds: dict[int, list[float]] = {}
    for name, score in scores.items():
        folds.setdefault(int(name.partition(".")[0]), []).append(score)
    return {candidate: sum(found) / FOLDS for candidate, found in folds.items() if len(found) == FOLDS}


# ------------------------------------------------------------------------------------------------ in a worker process

_task: Task


def begin_worker(task: Task) -> None:
    global _task
    _task = task
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """A search that was killed leaves no process behind that waits for more."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def fit_one(fit: Fit) -> float:
    return _task.score(fit)
