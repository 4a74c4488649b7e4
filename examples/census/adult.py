"""The census data: fourteen facts about a person of 1994, and whether they earned more than 50,000 dollars a year."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np
import storage
from sklearn.preprocessing import OrdinalEncoder

TRAIN, TEST = "adult.data", "adult.test"
COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
)  # fmt: skip
WORDS = tuple(
    COLUMNS.index(name)
    for name in (
        "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
    )
)  # fmt: skip
"""The columns that hold words; the others hold numbers."""

RICH = ">50K"


@dataclass(frozen=True)
class People:
    facts: np.ndarray
    """Text, as it stands in the file: one row for each person, one column for each fact."""

    rich: np.ndarray


def read_people(place: str, name: str, rows: int = 0) -> People:
    """Of a directory or `gs://` URL; `rows`: only so many of the first ones, 0: all."""
    url = storage.join(place, name)
    people = []
    for line, row in enumerate(csv.reader(io.StringIO(storage.read(url).decode()), skipinitialspace=True), start=1):
        if not row or row[0].startswith("|"):  # adult.test begins with a remark
            continue
        if len(row) != len(COLUMNS) + 1:
            raise SystemExit(f"error: `{url}` has {len(row)} columns in line {line}, not {len(COLUMNS) + 1}")
        people.append(row)
        if len(people) == rows:
            break
    if not people:
        raise SystemExit(f"error: `{url}` holds nobody")
    table = np.array(people, dtype=object)
    labels = np.array([label.rstrip(".") == RICH for label in table[:, -1]])  # adult.test ends them with a dot
    return People(table[:, :-1], labels.astype(np.int8))


def new_encoder(people: People) -> OrdinalEncoder:
    """Words become numbers; a word that nobody had in training becomes -1."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, dtype=np.float32)
    return encoder.fit(people.facts[:, WORDS])


def encode(people: People, encoder: OrdinalEncoder) -> np.ndarray:
    table = np.empty(people.facts.shape, dtype=np.float32)
    numbers = [column for column in range(len(COLUMNS)) if column not in WORDS]
    table[:, numbers] = people.facts[:, numbers].astype(np.float32)
    table[:, WORDS] = encoder.transform(people.facts[:, WORDS])
    return table
