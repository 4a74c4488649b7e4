"""docs/home-format.md is the code in words: every key and every field is in it."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re

import pytest

from outlast.folder import layout, records, sweep_records, zone_records
from outlast.spec import spec
from outlast.spec.record import FORMAT
from tests.project.project_files import ROOT

PAGE = (ROOT / "docs" / "home-format.md").read_text()
LITERALS = set(re.findall(r"`([^`\n]+)`", PAGE))

STORED = [value for value in vars(records).values() if dataclasses.is_dataclass(value)]
STORED += [value for value in vars(spec).values() if dataclasses.is_dataclass(value)]
STORED += [value for value in vars(zone_records).values() if dataclasses.is_dataclass(value)]
STORED += [value for value in vars(sweep_records).values() if dataclasses.is_dataclass(value)]
PARSERS = ("index_parts", "cell_id", "cell_parts", "claim_parts", "worker_of", "_turn", "job", "dataclass")
CLOSED_SETS = [records.State, records.Cause, spec.TargetKind]


def key_names() -> list[str]:
    functions = [name for name, value in vars(layout).items() if inspect.isfunction(value)]
    methods = [name for name in vars(layout.JobKeys) if not name.startswith("_")]
    methods += [name for name in vars(layout.SweepKeys) if not name.startswith("_")]
    return [name for name in {*functions, *methods} if name not in PARSERS]


@pytest.mark.parametrize("name", sorted(key_names()))
def test_every_key_is_in_the_document(name: str) -> None:
    assert name in LITERALS


@pytest.mark.parametrize("record", STORED, ids=lambda record: record.__name__)
def test_every_field_of_a_record_is_in_the_document(record: type) -> None:
    assert [field.name for field in dataclasses.fields(record) if field.name not in LITERALS] == []


@pytest.mark.parametrize("closed_set", CLOSED_SETS, ids=lambda closed_set: closed_set.__name__)
def test_every_word_that_stands_in_a_record_is_in_the_document(closed_set: type[enum.Enum]) -> None:
    assert [member.value for member in closed_set if member.value not in LITERALS] == []


def test_the_keys_look_as_the_document_says() -> None:
    keys = layout.JobKeys("j")
    made = {
        "launches/<launch>.json": keys.launch(2),
        "attempts/<attempt>/workers/<rank>.json": keys.worker(3, 0),
        "attempts/<attempt>/exits/<rank>.json": keys.exit(3, 0),
        "attempts/<attempt>/beat.json": keys.beat(3),
        "attempts/<attempt>/parts/<nonce>/<number>": keys.part(3, "ab", 1),
        "attempts/<attempt>/<stream>/<rank>/<offset>": keys.segment(3, "log", 0, 99),
        "attempts/<attempt>/<stream>/<rank>.tail": keys.tail(3, "metrics", 0),
        "checkpoints/<name>.json": keys.manifest("000003-000001-abcdef01"),
        "requests/<launch>-<kind>-<nonce>.json": keys.request(2, "stop", "ab"),
        "requests/bell": keys.bell,
        "outputs/<path>": keys.output("a/b.txt"),
        "pins/<nonce>.json": keys.pin("ab"),
    }
    for shape, key in made.items():
        assert shape in LITERALS
        pattern = re.sub(r"<path>", ".+", re.sub(r"<(?!path>)[a-z ]+>", "[^/]+", shape))
        assert re.fullmatch(f"jobs/j/{pattern}", key), (shape, key)


def test_the_keys_of_a_sweep_look_as_the_document_says() -> None:
    keys = layout.SweepKeys("j")
    made = {
        "grids/<number>.json": keys.grid(1),
        "claims/<launch>/<cell>-<n>": keys.claim(1, 21, 2),
        "rows/<machine>-<number>": keys.row_segment("1a2b-0-1", 1),
        "trials/<cell>.json": keys.trial(21, 1),
        "rungs/<turn>/<cell>-<step>=<value>,...": keys.rungs(1) + "000021-4=0.5,...",
        "cells/<cell>/": layout.CellKeys("j", 21).root,
    }
    for shape, key in made.items():
        assert shape in LITERALS
        assert re.fullmatch("jobs/j/" + re.sub(r"<[a-z]+>", "[^/]+", shape), key), (shape, key)


def test_the_document_names_the_current_format() -> None:
    assert f"Every record carries `format`, now {FORMAT}." in PAGE
