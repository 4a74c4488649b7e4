"""`outlast expand` as a user types it: what it prints can be piped back, and it begins to print before it has thought of everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from outlast.errors import EXIT_DONE, EXIT_NOT_FOUND, EXIT_USAGE

OUTLAST = (sys.executable, "-m", "outlast.cli")
GRID = '[{"[lr,bs]": [[0.1, 16], [0.2, 32]], # pairs\n "aug": [true, false], "n": [[1, 2], []], "s": "a \'b"}, {}]'


def outlast(tmp_path: Path, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*OUTLAST, *args], input=stdin, capture_output=True, text=True, cwd=tmp_path)


@pytest.fixture
def grid(tmp_path: Path) -> str:
    (tmp_path / "grid.json").write_text(GRID)
    return "grid.json"


def test_it_prints_a_json_list_the_first_key_changing_fastest(tmp_path: Path) -> None:
    said = outlast(tmp_path, "expand", "stdin", stdin='{"a": [1, 2], "b": [3, 4]}')
    assert said.stdout == '[{"a": 1, "b": 3}, {"a": 2, "b": 3}, {"a": 1, "b": 4}, {"a": 2, "b": 4}]\n'
    assert said.returncode == EXIT_DONE and said.stderr == ""


def test_what_it_prints_means_the_same_when_it_is_piped_back(tmp_path: Path, grid: str) -> None:
    first = outlast(tmp_path, "expand", grid).stdout
    flags = outlast(tmp_path, "expand", "--flags", grid).stdout
    pretty = outlast(tmp_path, "expand", "--pprint", grid).stdout
    assert json.loads(pretty) == json.loads(first) and pretty.startswith('[\n  {\n    "lr": 0.1,\n')
    for text in (first, pretty):
        assert outlast(tmp_path, "expand", "stdin", stdin=text).stdout == first
        assert outlast(tmp_path, "expand", "--print_flags", "STDIN", stdin=text).stdout == flags
    assert len(flags.splitlines()) == 9 == len(json.loads(first))


def test_a_line_of_flags_is_what_a_shell_takes(tmp_path: Path, grid: str) -> None:
    line = outlast(tmp_path, "expand", "--flags", grid).stdout.splitlines()[0]
    words = subprocess.run(["sh", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True)
    assert words.stdout.splitlines() == ["--lr", "0.1", "--bs", "16", "--aug", "--n", "[1, 2]", "--s", "a 'b"]
    assert outlast(tmp_path, "expand", "--flags", grid).stdout.splitlines()[-1] == ""


def test_what_is_no_flag_is_no_word(tmp_path: Path) -> None:
    said = outlast(tmp_path, "expand", "--flags", "stdin", stdin='{"b": [true, false], "a": 1}')
    assert said.stdout == "--b --a 1\n--a 1\n"


@pytest.mark.parametrize("document", ["[]", '{"a": []}'])
def test_no_cell_is_an_empty_list_and_a_word_about_it(tmp_path: Path, document: str) -> None:
    said = outlast(tmp_path, "expand", "stdin", stdin=document)
    assert said.stdout == "[]\n" and "there is no cell" in said.stderr and said.returncode == EXIT_DONE


def test_a_key_with_dashes_is_taken_as_it_stands_and_a_word_is_said_about_it(tmp_path: Path) -> None:
    said = outlast(tmp_path, "expand", "--flags", "stdin", stdin='[{"lr": 1}, {"[a,--b]": [1, 2]}]')
    assert said.stdout == "--lr 1\n--a 1 ----b 2\n"
    assert said.stderr == (
        "note: `stdin`, key `--b`: its flag is `----b`; a key is a flag's name without its dashes, `b`\n"
    )


def test_more_cells_than_anybody_can_count_are_printed_as_far_as_somebody_reads(tmp_path: Path) -> None:
    document = json.dumps({f"k{number}": list(range(10)) for number in range(30)})
    assert outlast(tmp_path, "expand", "--count", "stdin", stdin=document).stdout == f"{10**30}\n"
    (tmp_path / "huge.json").write_text(document)
    with subprocess.Popen(
        [*OUTLAST, "expand", "--flags", "huge.json"], stdout=subprocess.PIPE, cwd=tmp_path, text=True
    ) as running:
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(11)]
        running.stdout.close()
        assert running.wait(60) == EXIT_DONE
    assert lines[0].startswith("--k0 0 --k1 0 ") and lines[10].startswith("--k0 0 --k1 1 ")


def test_the_cells_of_a_search_are_printed_too(tmp_path: Path) -> None:
    ranges = '{"lr": {"log": [1e-5, 1e-1]}, "depth": {"int": [2, 9]}}'
    for search in ("random", "sobol"):
        search_args = ("expand", "--search", search, "--trials", "5", "stdin")
        said = outlast(tmp_path, *search_args, stdin=ranges)
        cells: list[dict[str, Any]] = json.loads(said.stdout)
        assert len(cells) == 5 and all(2 <= cell["depth"] <= 9 and 1e-5 <= cell["lr"] <= 1e-1 for cell in cells)
        assert outlast(tmp_path, *search_args, stdin=ranges).stdout == said.stdout
        assert outlast(tmp_path, *search_args, "--seed", "1", stdin=ranges).stdout != said.stdout
    more = json.loads(outlast(tmp_path, "expand", "--search", "sobol", "--trials", "9", "stdin", stdin=ranges).stdout)
    assert more[:5] == cells


@pytest.mark.parametrize(
    ("args", "stdin", "code", "said"),
    [
        (["nope.json"], "", EXIT_NOT_FOUND, "there is no file `nope.json`"),
        (["."], "", EXIT_USAGE, "no regular file"),
        (["stdin"], "", EXIT_USAGE, "stdin is empty"),
        (["stdin"], '{"a": 1', EXIT_USAGE, "`stdin` line 1, column 8"),
        (["stdin"], '{"a": null}', EXIT_USAGE, "`stdin`, key `a`: `null`"),
        (["stdin"], '{"a": {"int": [1, 2]}}', EXIT_USAGE, "--search random"),
        (["--trials", "3", "stdin"], "{}", EXIT_USAGE, "`--trials` belongs to a search"),
        (["--search", "random", "stdin"], '{"a": [1, 2]}', EXIT_USAGE, "--trials 20"),
        (["--search", "random", "--trials", "3", "stdin"], '{"a": 1}', EXIT_USAGE, "nothing to choose"),
        (["--search", "grid", "stdin"], "{}", EXIT_USAGE, "random"),
        (["--search", "tpe", "--trials", "3", "stdin"], "{}", EXIT_USAGE, "nobody knows them yet"),
        (["--seed", "3", "stdin"], "{}", EXIT_USAGE, "`--seed` belongs to a search"),
        ([""], "{}", EXIT_USAGE, "no file is named"),
        ([], "", EXIT_USAGE, "FILE|stdin"),
    ],
)
def test_a_mistake_is_answered_and_nothing_is_printed(
    tmp_path: Path, args: list[str], stdin: str, code: int, said: str
) -> None:
    answer = outlast(tmp_path, "expand", *args, stdin=stdin)
    assert answer.returncode == code and answer.stdout == ""
    assert said in answer.stderr and "hint:" in answer.stderr and "Traceback" not in answer.stderr


def test_nothing_is_made_by_looking_at_a_file(tmp_path: Path, grid: str) -> None:
    environ = {**os.environ, "OUTLAST_DIR": str(tmp_path / "made")}
    subprocess.run([*OUTLAST, "expand", grid], cwd=tmp_path, env=environ, check=True, stdout=subprocess.DEVNULL)
    assert sorted(os.listdir(tmp_path)) == ["grid.json"]
