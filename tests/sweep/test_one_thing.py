"""A sweep that has ended, looked at: one line among the jobs, its cells, their logs, results and files."""

from __future__ import annotations

import csv
import io
import json

import pytest

from outlast.jobs.job_names import read_cells, read_names
from tests.cli.user import User


def test_jobs_shows_a_sweep_as_one_line_with_its_counts(swept: User) -> None:
    lines = [line for line in swept.outlast("jobs").out.splitlines() if line.startswith("lr ")]
    assert len(lines) == 1
    assert "3 of 6 cells, 3 failed" in lines[0]
    row = next(row for row in swept.outlast("jobs", "--json").json if row["job"] == "lr")
    assert row["cells"] == {"total": 6, "done": 3, "failed": 3, "stopped": 0, "running": 0, "waiting": 0}
    assert row["attempts"] == 6
    assert row["sweep"] is None


def test_show_lists_the_cells_with_their_state_and_last_metrics(swept: User) -> None:
    said = swept.outlast("show", "lr")
    assert said.code == 0, said.err
    assert "3 of 6 cells done, 3 failed" in said.out
    table = said.out[said.out.index("CELL") :].splitlines()
    assert table[0].split() == ["CELL", "STATE", "STEP", "TOOK", "lr", "depth", "loss", "rate", "WHY"]
    first = table[1].split()
    assert (first[0], first[1], first[2]) == ("1", "succeeded", "3")
    assert first[-4:] == ["0.5", "2", "0.25", "0.5"]
    assert [line.split()[1] for line in table[1:7]] == ["succeeded"] * 3 + ["failed"] * 3


def test_show_json_has_every_cell(swept: User) -> None:
    document = swept.outlast("show", "lr", "--json").json
    assert [cell["cell"] for cell in document["cell_list"]] == [1, 2, 3, 4, 5, 6]
    assert document["cell_list"][4]["params"] == {"lr": 0.2, "depth": 3}
    assert document["cell_list"][4]["exit_code"] == 3
    assert document["cells"]["failed"] == 3
    assert list(document["cell_list"][0]["metrics"]) == ["loss", "rate"], "in the order in which they were logged"


def test_show_of_many_cells_keeps_to_its_limit_and_prefers_those_that_went_wrong(swept: User) -> None:
    said = swept.outlast("show", "lr", "--limit", "4")
    table = said.out[said.out.index("CELL") :].splitlines()
    assert [line.split()[0] for line in table[1:5]] == ["1", "4", "5", "6"]
    assert "and 2 more; `outlast show lr --limit 0` shows all 6, `outlast results lr` the best first" in said.err


def test_a_cell_is_named_by_its_sweep_and_its_number(swept: User) -> None:
    dotted = swept.outlast("show", "lr.5", "--json").json
    assert dotted["job"] == "lr.5"
    assert dotted["sweep"] == "lr"
    assert dotted["cells"] is None
    assert dotted["args"] == ["--fails", "3", "--lr", "0.2", "--depth", "3"]
    for words in (("lr", "5"), ("l.5",), ("lr.005",), (dotted["folder"],)):
        assert swept.outlast("show", *words, "--json").json["folder"] == dotted["folder"], words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("show", "lr.7"), "sweep `lr` has no cell 7: it has 6"),
        (("logs", "lr", "0"), "`CELL` is `0`"),
        (("show", "lr.5", "2"), "`lr.5` is a cell itself, and has no cell 2"),
        (("show", "lr", "--attempt", "1"), "outlast show lr.1 --attempt 1"),
        (("logs", "lr", "--attempt", "1"), "outlast logs lr.1 --attempt 1"),
        (("stop", "lr.1"), "hint: `outlast stop lr`"),
        (("stop", "lr", "2"), "`lr.2` is a cell of sweep `lr`"),
        (("resume", "lr.1"), "hint: `outlast resume lr`"),
        (("delete", "--yes", "lr.1"), "hint: `outlast delete lr`"),
        (("resume", "lr", "--checkpoint", "2"), "`--checkpoint` would be for all its cells alike"),
        (("resume", "lr", "--", "--lr", "2"), "`ARGS` would be for all its cells alike"),
        (("sync", "lr"), "run the code that was submitted"),
        (("sync", "lr.1"), "run the code that was submitted"),
        (("ssh", "lr"), "nothing of it runs"),
        (("ssh", "lr.1"), "`outlast resume lr` goes on with it"),
        (("evaluate", "lr"), "`outlast evaluate lr.1`; `outlast results lr` lists the best first"),
        (("run", "--from", "lr", "train.py"), "`--from lr.1`; `outlast results lr` lists the best first"),
        (("drill", "--like", "lr"), "`outlast drill --like lr.1`"),
        (("results", "lr.1"), "job `lr.1` is no sweep"),
        (("results", "lr", "--metric", "nix"), "they have logged `loss`, `rate`"),
        (("results", "lr", "--csv", "--json"), "two forms of the same"),
        (("pull", "lr", "*.bin"), "no file of sweep `lr` fits `*.bin`"),
        (("pull", "lr", "7"), "sweep `lr` has no cell 7: it has 6"),
        (("pull", "lr", "--checkpoint", "77"), "no cell of sweep `lr` has checkpoint `77`"),
    ],
)
def test_what_cannot_be_meant_is_answered_with_what_to_type(swept: User, words: tuple[str, ...], expected: str) -> None:
    said = swept.outlast(*words)
    assert said.code not in (0, 70), said.err
    assert "Traceback" not in said.err
    assert expected in said.err


def test_logs_of_a_sweep_are_the_lines_of_all_cells_each_with_its_number(swept: User) -> None:
    lines = [line for line in swept.outlast("logs", "lr").out.splitlines() if " step " in line]
    assert lines[:4] == [
        "[1] lr 0.5 depth 2 step 0",
        "[1] lr 0.5 depth 2 step 1",
        "[1] lr 0.5 depth 2 step 2",
        "[2] lr 0.2 depth 2 step 0",
    ]
    assert len(lines) == 18


def test_logs_of_one_cell_are_its_own_bytes(swept: User) -> None:
    assert swept.outlast("logs", "lr", "2").raw == swept.outlast("logs", "lr.2").raw
    assert swept.outlast("logs", "lr", "2").raw.startswith(b"lr 0.2 depth 2 step 0\n")


def test_logs_as_json_say_which_cell(swept: User) -> None:
    pieces = [json.loads(line) for line in swept.outlast("logs", "lr", "--json").out.splitlines()]
    assert {piece["cell"] for piece in pieces} == {1, 2, 3, 4, 5, 6}
    assert next(piece["kind"] for piece in pieces if piece["cell"] == 3) == "begin"


def test_following_a_sweep_that_has_ended_prints_all_and_ends_as_it_did(swept: User) -> None:
    said = swept.outlast("logs", "-f", "lr")
    assert said.code == 1
    assert len([line for line in said.out.splitlines() if " step " in line]) == 18


def test_results_are_sorted_with_the_best_first_and_failures_behind(swept: User) -> None:
    rows = swept.outlast("results", "lr", "--json").json
    assert [row["cell"] for row in rows] == [2, 3, 1, 5, 6, 4]
    assert swept.outlast("results", "lr", "--json", "--goal", "max").json[0]["cell"] == 1
    assert swept.outlast("results", "lr", "--json", "--metric", "rate").json[0]["cell"] == 1
    said = swept.outlast("results", "lr", "--top", "1")
    assert [line.split()[0] for line in said.out.splitlines()] == ["CELL", "2"]
    assert "by `loss`, the least first" in said.err


def test_results_as_csv_are_parameters_metrics_cost_and_duration(swept: User) -> None:
    rows = list(csv.DictReader(io.StringIO(swept.outlast("results", "lr", "--csv").out)))
    assert len(rows) == 6
    assert rows[0]["cell"] == "2"
    assert rows[0]["lr"] == "0.2"
    assert float(rows[0]["loss"]) == pytest.approx(0.2**3 * 2)
    assert {"state", "depth", "rate", "cost_usd", "seconds", "attempts"} <= set(rows[0])


def test_pull_copies_what_each_cell_has_made_below_its_number(swept: User) -> None:
    said = swept.outlast("pull", "lr", "--to", "pulled")
    assert said.code == 0, said.err
    assert (swept.work / "pulled/2/outputs/model.txt").read_text() == "0.2 2\n"
    assert (swept.work / "pulled/4/checkpoint").is_dir()
    assert not (swept.work / "pulled/4/outputs/model.txt").exists(), "it failed before it had one"
    again = swept.outlast("pull", "lr", "--to", "pulled", "--json").json
    assert again["files"] == []
    assert again["skipped"] > 6


def test_pull_takes_a_pattern_for_all_cells_or_for_one(swept: User) -> None:
    every = swept.outlast("pull", "lr", "*.txt", "--to", "texts", "--json").json
    assert sorted(every["files"]) == [f"{cell}/outputs/model.txt" for cell in (1, 2, 3)]
    one = swept.outlast("pull", "lr", "3/outputs/*", "--to", "third", "--json").json
    assert one["files"] == ["3/outputs/model.txt"]
    single = swept.outlast("pull", "lr.3", "--to", "single", "--json").json
    assert "outputs/model.txt" in single["files"]
    numbered = swept.outlast("pull", "lr", "3", "--to", "numbered", "--json").json
    assert numbered["job"] == "lr.3" and numbered["files"] == single["files"]


def test_checkpoints_of_a_sweep_are_those_of_its_cells(swept: User) -> None:
    rows = swept.outlast("checkpoints", "lr", "--verify", "--json").json
    assert {row["cell"] for row in rows} == {1, 2, 3, 4, 5, 6}
    assert all(row["problem"] is None for row in rows)
    assert swept.outlast("checkpoints", "lr").out.split()[0] == "CELL"
    assert "cell" not in swept.outlast("checkpoints", "lr.1", "--json").json[0]


def test_a_cell_can_be_evaluated_and_its_result_stands_with_it(swept: User) -> None:
    said = swept.outlast("evaluate", "lr.2", "--json")
    assert said.code == 0, said.err
    assert said.json["trained"] == "lr.2"
    assert said.json["metrics"] == {"accuracy": 0.8}
    assert swept.outlast("show", "lr.2", "--json").json["evaluations"][0]["metrics"] == {"accuracy": 0.8}


def test_a_job_can_begin_with_a_cells_weights(swept: User) -> None:
    said = swept.outlast("run", "--from", "lr.3", "--continue-steps", "train.py", "--", "--steps", "5")
    assert said.code == 0, said.err
    assert "resumed from step 3" in said.err
    assert "hint: `outlast results lr`" in swept.outlast("results").err, "the newest job is none"
    assert said.out.count("depth 1 step") == 2


def test_completion_knows_a_sweep_by_its_name(swept: User) -> None:
    assert "lr" in read_names(swept.outlast_dir / "cache")
    assert swept.outlast("jobs").code == 0
    assert read_cells(swept.outlast_dir / "cache") == {"lr": 6}
    assert "results) echo 'jobs'" in swept.outlast("completion", "bash").out.replace("'results'", "results")


def test_a_finished_sweep_has_nothing_to_stop(swept: User) -> None:
    said = swept.outlast("stop", "lr", "--json")
    assert said.code == 0
    assert said.json[0]["state"] == "failed"
    assert said.json[0]["cells"]["done"] == 3
