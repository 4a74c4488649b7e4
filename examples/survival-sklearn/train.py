"""A linear model learns from a file that is never in memory as a whole, a few people at a time, and outlasts its machine.

What has to come back after a kill: the place in the file, the weights and their averages, how far the learning rate has
come down, and the generator that shuffles each handful of people.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier

import outlast

NUMBERS = {"age": (0, 5), "education": (4, 1), "gain": (10, 2500), "loss": (11, 500), "hours": (12, 5)}
"""name -> column, and the width of the steps into which its values are sorted."""

WORDS = {"work": 1, "marital": 5, "occupation": 6, "relationship": 7, "race": 8, "sex": 9, "country": 13}
CLASSES = np.array([0, 1])
HASHER = FeatureHasher(1 << 14, input_type="string")

Batch = tuple[Any, np.ndarray]
"""Features, as a sparse matrix, and labels."""


class People:
    """A census file, so many people at a time; iterated over once for each epoch."""

    def __init__(self, path: Path, batch_size: int) -> None:
        self.path = path
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[Batch]:
        people: list[list[str]] = []
        with open(self.path, newline="") as file:
            for row in csv.reader(file, skipinitialspace=True):
                if len(row) == 15:  # the file of the test begins with a remark and ends with an empty line
                    people.append(row)
                if len(people) == self.batch_size:
                    yield encode(people)
                    people = []
        if people:
            yield encode(people)


def encode(people: list[list[str]]) -> Batch:
    features = HASHER.transform([list(facts(row)) for row in people])
    return features, np.array([row[14].startswith(">50K") for row in people], dtype=int)


def facts(row: list[str]) -> Iterator[str]:
    """Words as they are, numbers by the step that they fall into, and what somebody works at together with their schooling."""
    for name, column in WORDS.items():
        yield f"{name}={row[column]}"
    for name, (column, width) in NUMBERS.items():
        yield f"{name}={int(row[column]) // width}"
    yield f"both={row[4]}/{row[6]}"


def learned(model: SGDClassifier) -> dict[str, Any]:
    """Everything that is not a parameter: weights, averages, the count of steps that the learning rate depends on."""
    kept = set(vars(model)) - set(model.get_params()) - {"_loss_function_"}  # which is made anew by each call
    return {name: vars(model)[name] for name in sorted(kept)}


def accuracy(model: SGDClassifier, path: Path) -> float:
    right = [model.predict(features) == labels for features, labels in People(path, 4096)]
    return float(np.mean(np.concatenate(right)))


@outlast.main
def main(mode: str = "train", epochs: int = 4, batch_size: int = 128, alpha: float = 1e-5) -> None:
    """Predict income from census data, which `--dataset` names: a directory with adult.data and adult.test."""
    data = outlast.dataset()
    np.random.seed(7)  # the model shuffles by the global generator, which is saved and restored without being named
    model = SGDClassifier(loss="log_loss", alpha=alpha, average=True)
    state = outlast.State(
        model=outlast.via(model, learned, lambda model, saved: vars(model).update(saved)), right=0, seen=0
    )
    if mode == "evaluate":
        trained = outlast.latest_checkpoint()
        if trained is None:
            raise SystemExit("error: there is no checkpoint to evaluate\n\nhint: `outlast evaluate JOB`")
        trained.restore(state)
        outlast.log(accuracy=accuracy(model, data / "adult.test"))
        return
    people = People(data / "adult.data", batch_size)
    for step, (features, labels) in outlast.batches(people, epochs=epochs, state=state, save_steps=50):
        if step:  # each person is guessed at before the model learns from them
            state.right += int(np.sum(model.predict(features) == labels))
            state.seen += len(labels)
        model.partial_fit(features, labels, classes=CLASSES)
        if step % 100 == 0 and step:
            outlast.log(guessed=state.right / state.seen)
            print(f"step {step:4d}: {state.right / state.seen:.4f} of {state.seen} guessed right", flush=True)

    # Not as a pickle: that also tells in which order the object's attributes came to be, which a resume changes.
    np.savez(outlast.output_dir() / "model.npz", coef=model.coef_, intercept=model.intercept_)
    print(f"accuracy: {accuracy(model, data / 'adult.test'):.4f}", flush=True)


if __name__ == "__main__":
    main()
