"""The program that advises a search: it runs in the job's own Python, which has Optuna, and knows nothing but what each question says.

One line of JSON is one question, and is answered by one line. Nothing is kept from one question to the next: whoever asks has it all
from the home. It needs the standard library and Optuna alone, and ends when nobody asks any more.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Mapping
from typing import Any, TextIO

REDUCTION = 4
"""At each rung about one of so many goes on."""

STARTUP_CELLS = 5
"""So many must have come to their end before a median says anything."""


def main() -> int:
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what a library prints is no answer
    if sys.path and not sys.path[0]:
        del sys.path[0]  # whatever lies in the working directory is not meant
    try:
        import optuna
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises, it is told
        _put(answers, {"missing": f"{type(error).__name__}: {error}"})
        return 1
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    _put(answers, {"ready": optuna.__version__})
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = choose(question) if question["want"] == "choose" else stop(question)
        except Exception as error:  # noqa: BLE001 - the edge of a process: told, and the next question is answered
            answer = {"problem": f"{type(error).__name__}: {error}"}
        _put(answers, {"id": question["id"], **answer})
    return 0


def _put(answers: TextIO, answer: Mapping[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def choose(question: Mapping[str, Any]) -> dict[str, Any]:
    """The next trial's values, by those that have ended and, lest it be the same as theirs, those that run."""
    import optuna

    names = [str(number) for number in range(len(question["dimensions"]))]
    space = dict(zip(names, map(_distribution, question["dimensions"]), strict=True))
    sampler = optuna.samplers.TPESampler(
        seed=question["seed"], n_startup_trials=0, multivariate=True, constant_liar=True
    )
    study = optuna.create_study(direction=question["direction"], sampler=sampler)
    states = optuna.trial.TrialState
    by_word = {"complete": states.COMPLETE, "pruned": states.PRUNED, "running": states.RUNNING}
    for trial in question["trials"]:
        state = by_word[trial["state"]]
        study.add_trial(
            optuna.trial.create_trial(
                state=state,
                value=trial["value"] if state == states.COMPLETE else None,
                params=dict(zip(names, trial["values"], strict=True)),
                distributions=space,
                intermediate_values={trial["step"]: trial["value"]} if state == states.PRUNED else None,
            )
        )
    params = study.ask(fixed_distributions=space).params
    return {"values": [params[name] for name in names]}


def _distribution(dimension: Mapping[str, Any]) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if dimension["kind"] == "choice":
        return CategoricalDistribution(range(dimension["count"]))
    if dimension["kind"] == "int":
        return IntDistribution(int(dimension["low"]), int(dimension["high"]))
    return FloatDistribution(dimension["low"], dimension["high"], log=dimension["kind"] == "log")


def stop(question: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a cell that runs is to be ended, by what all of them measured at the same steps."""
    import optuna

    first = question["first"]
    pruner: Any
    if question["early"] == "asha":
        pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=first, reduction_factor=REDUCTION)
    else:
        pruner = optuna.pruners.MedianPruner(n_startup_trials=STARTUP_CELLS, n_warmup_steps=first)
    study = optuna.create_study(
        direction=question["direction"], sampler=optuna.samplers.RandomSampler(seed=0), pruner=pruner
    )
    for other in question["others"]:
        trial = _replayed(study, other["points"])
        if other["ended"]:
            study.tell(trial, other["points"][-1][1])
    trial = study.ask()
    worse_at = None
    for step, value in question["mine"]:
        trial.report(value, step)
        if trial.should_prune() and step >= question["since"]:
            worse_at = step
    return {"worse_at": worse_at}


def _replayed(study: Any, points: list[tuple[int, float]]) -> Any:
    """As it went: the pruner notes by itself which rungs the trial has come by."""
    trial = study.ask()
    for step, value in points:
        trial.report(value, step)
        trial.should_prune()
    return trial


if __name__ == "__main__":
    sys.exit(main())
