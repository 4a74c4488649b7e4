"""Who earns more than 50,000 dollars? A search over many models, trained on a large machine and evaluated on a small one."""

from __future__ import annotations

import io
import os
from typing import Any, Literal

import adult
import joblib
import models
import numpy as np
import search
import storage

import outlast

MODEL = "census.model"


@outlast.main
def main(
    mode: str = "train",
    census_data_path: str = "",
    model_output_path: str = "",
    cv_iterations: int = 1,
    model: Literal["xgboost", "sklearn"] = "xgboost",
    rows: int = 0,
    workers: int = 0,
) -> None:
    """Predict income from census data.

    --census-data-path: the directory or gs:// URL of adult.data and adult.test; the job's dataset if not said.
    --model-output-path: where the model goes, or comes from: a file or a gs:// URL; the job's outputs if not said.
    --cv-iterations: how many candidates the randomized search tries, each on three folds.
    --model: whose gradient-boosted trees.
    --rows: learn from the first so many people only, to try things out; 0: all.
    --workers: how many models are fitted at a time; 0: as many as there are cores.
    """
    data = census_data_path or str(outlast.dataset())
    if mode == "evaluate":
        evaluate(data, model_output_path or trained_model())
        return
    if cv_iterations < 1:
        raise SystemExit(f"error: --cv-iterations {cv_iterations}: it must be 1 or more")
    people = adult.read_people(data, adult.TRAIN, rows)
    encoder = adult.new_encoder(people)
    task = search.Task(model, models.candidates(model, cv_iterations), adult.encode(people, encoder), people.rich)
    found = search.search(task, workers or joblib.cpu_count())
    if not found:
        raise SystemExit("error: no candidate was scored on every fold")
    best = max(found, key=lambda candidate: (found[candidate], -candidate))
    print(f"best of {len(found)}: candidate {best}, {found[best]:.4f} in cross-validation", flush=True)
    classifier = models.new_model(model, task.candidates[best]).fit(task.features, task.labels)
    trained = {"preprocessor": encoder, "classifier": classifier, "parameters": task.candidates[best]}
    for place in places(model_output_path):
        storage.write(place, packed(trained))
    report(trained, data, model_output_path or MODEL)


def evaluate(data: str, place: str) -> None:
    """On people that the model has never seen. A model is a pickle: load only those that you, or somebody you trust, trained."""
    report(joblib.load(io.BytesIO(storage.read(place))), data, place)


def report(trained: dict[str, Any], data: str, place: str) -> None:
    people = adult.read_people(data, adult.TEST)
    guessed = trained["classifier"].predict(adult.encode(people, trained["preprocessor"]))
    accuracy = float(np.mean(guessed == people.rich))
    outlast.log(test_accuracy=accuracy)
    parameters = ", ".join(f"{name}={value:.4g}" for name, value in trained["parameters"].items())
    print(f"accuracy: {accuracy:.4f}\nparameters: {parameters}\nmodel: {place}", flush=True)


def places(asked: str) -> list[str]:
    """In a job the model is among its outputs too, so that it comes back whatever happens to the machine."""
    own = [] if asked and "OUTLAST_JOB" not in os.environ else [str(outlast.output_dir() / MODEL)]
    return [*own, asked] if asked else own


def trained_model() -> str:
    """`outlast evaluate` says where the trained job's outputs are."""
    return storage.join(os.environ.get("OUTLAST_TRAINED_OUTPUT_DIR") or str(outlast.output_dir()), MODEL)


def packed(trained: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    joblib.dump(trained, file)
    return file.getvalue()


if __name__ == "__main__":
    main()
