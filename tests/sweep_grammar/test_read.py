"""A sweep's document is read from JSON with comments, TOML, YAML and stdin; what is wrong is told with file, line and what is allowed."""

from __future__ import annotations

import errno
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.errors import Denied, NotFound, OutlastError, UsageError
from outlast.spec.sweep.commented_json import read_commented_json
from outlast.spec.sweep.expand import expansion
from outlast.spec.sweep.read import read_document
from tests.sweep_grammar import plain
from tests.sweep_grammar.plain import UNHURRIED

GRID = {"lr": [0.1, 1e-5], "[a,b]": [[1, 2], [3, 4]], "verbose": True, "name": "x # y // z"}


class Pipe(io.TextIOWrapper):
    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="ascii")


def read(path: Path, text: str | bytes) -> Any:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_document(str(path), Pipe(b""))


def refused(path: Path, text: str | bytes, kind: type[OutlastError] = UsageError) -> OutlastError:
    with pytest.raises(kind) as caught:
        read(path, text)
    assert path.name in caught.value.message and caught.value.hint
    return caught.value


COMMENTED = """
# a grid // of ours
{ // begins
  "lr": [0.1, 1e-5], # two, of them "quoted"
  "[a,b]": [[1, 2], [3, 4,],], /* pairs,
                                  on two lines */
  "verbose": true,
  "name": "x # y // z", // ends ]
}
# that is all"""

AS_YAML = """
# a grid
lr: [0.1, 1e-5]  # two
"[a,b]":
  - [1, 2]
  - [3, 4]
verbose: true
name: "x # y // z"
"""

AS_TOML = """
# a grid
lr = [0.1, 1e-5]
"[a,b]" = [[1, 2], [3, 4]]
verbose = true
name = "x # y // z"
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("grid.json", COMMENTED),
        ("grid", COMMENTED),
        ("grid.jsonc", COMMENTED),
        ("grid.conf", json.dumps(GRID)),
        ("GRID.JSON", "\ufeff" + json.dumps(GRID)),
        ("grid.yaml", AS_YAML),
        ("grid.yml", AS_YAML),
        ("grid.toml", AS_TOML),
    ],
)
def test_every_form_gives_the_same_document_in_the_same_order(tmp_path: Path, name: str, text: str) -> None:
    found = read(tmp_path / name, text)
    assert found == GRID and list(found) == list(GRID)


@pytest.mark.parametrize("word", ["stdin", "STDIN", "Stdin"])
def test_stdin_is_json_with_comments_whatever_the_locale(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stdin").write_text('{"from": "a file"}')
    assert read_document(word, Pipe(COMMENTED.encode())) == GRID
    assert read_document(word, Pipe('{"é": "ü"}'.encode())) == {"é": "ü"}
    assert read_document(word, io.StringIO('{"a": 1}')) == {"a": 1}
    assert read_document("./stdin", Pipe(b"")) == {"from": "a file"}


@UNHURRIED
@given(st.data())
def test_comments_anywhere_between_the_words_change_nothing(data: st.DataObject) -> None:
    document = data.draw(plain.DOCUMENTS)
    between = st.sampled_from(["", " ", "\n", "# c\n", '// "c" [\n', "/* , } */", "#\n#,\n", "\t/* a\nb */ "])
    pieces = list(json.JSONEncoder(ensure_ascii=data.draw(st.booleans())).iterencode(document))
    text = "".join(data.draw(between) + piece for piece in pieces) + data.draw(between)
    assert read_commented_json(text, "grid.json") == document


def test_a_comma_behind_the_last_item_is_read_and_any_other_is_not(tmp_path: Path) -> None:
    assert read(tmp_path / "g.json", '[{"a": [1, 2, ], }, # c\n , ]'.replace("# c\n ,", "")) == [{"a": [1, 2]}]
    for text in ("[,]", "{,}", '{"a": [1,,]}', '[{"a": 1},,]', '{"a":,}'):
        refused(tmp_path / "g.json", text)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("g.json", '{"a": 1\n "b": 2}', "line 2, column 2"),
        ("g.json", '# c\n/* d\n */ {"a": [1, 2}', "line 3, column 16"),
        ("g.json", "{'a': 1}", "line 1, column 2"),
        ("g.json", '{"a": 1, "a": 2}', "the key `a` stands in one object twice"),
        ("g.json", '{"a": 1} x', "extra data"),
        ("g.json", '{"a": "x\n"}', "line 1"),
        ("g.json", "[" * 100_000, "cannot be read"),
        ("g.json", '{"a": ' + "1" * 5000 + "}", "cannot be read"),
        ("g.json", "", "is empty"),
        ("g.json", " \n", "is empty"),
        ("g.json", "# nothing", "expecting value"),
        ("g.json", b"\xff\xfe{}", "is not UTF-8, at byte 0"),
        ("g.yaml", "a: 1\nb: [1, 2\n", "line 2"),
        ("g.yaml", "a: 1\na: 2\n", "line 2"),
        ("g.yaml", "a: yes\n", "line 1"),
        ("g.toml", "a = 1\nb = \n", "line 2"),
        ("g.toml", "a = 1\na = 2\n", "line 2"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(tmp_path: Path, name: str, text: str | bytes, said: str) -> None:
    assert said in refused(tmp_path / name, text).message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_told_with_its_key(tmp_path: Path, number: str) -> None:
    document = read(tmp_path / "g.json", f'[{{"a": 1}}, {{"b": [1, {number}]}}]')
    with pytest.raises(UsageError, match=r"`g.json`, config 2, key `b`: `-?(NaN|Infinity)` is no number that JSON has"):
        expansion(document, "g.json")


def test_toml_writes_a_list_of_configurations_as_tables(tmp_path: Path) -> None:
    text = "[[configs]]\nlr = [1, 2]\n[[configs]]\ndepth = 3\n"
    assert read(tmp_path / "g.toml", text) == [{"lr": [1, 2]}, {"depth": 3}]
    assert read(tmp_path / "g.toml", "configs = [1, 2]\n") == {"configs": [1, 2]}


def test_dates_of_toml_are_text(tmp_path: Path) -> None:
    found = read(tmp_path / "g.toml", "since = [2024-01-02, 2024-01-02T03:04:05Z]\nat = 03:04:05\n")
    assert found == {"since": ["2024-01-02", "2024-01-02T03:04:05+00:00"], "at": "03:04:05"}
    assert len(expansion(found, "g.toml")) == 2


def test_yaml_may_be_a_list_of_configurations(tmp_path: Path) -> None:
    assert read(tmp_path / "g.yaml", "- lr: [1, 2]\n- depth: 3\n") == [{"lr": [1, 2]}, {"depth": 3}]


@pytest.mark.parametrize("name", ["nope.json", "a\0b", "g.json/below"])
def test_a_file_that_is_not_there_is_not_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "g.json").write_text("{}")
    with pytest.raises(NotFound) as caught:
        read_document(f"{tmp_path}/{name}", Pipe(b""))
    assert "stdin" in caught.value.hint


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero"), tmp_path / ("x" * 300)):
        with pytest.raises(UsageError):
            read_document(str(path), Pipe(b""))


def test_a_file_that_may_not_be_read_is_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root reads everything, the refusal is the system's in words only."""

    def refuse(path: Path, bytes_max: int) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("outlast.spec.sweep.read.read_plain", refuse)
    with pytest.raises(Denied, match="Permission denied"):
        read_document(str(tmp_path / "g.json"), Pipe(b""))


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "stdin is empty"), (b"\xff", "not UTF-8"), (b"lr: 1", "`stdin` line 1")]
)
def test_what_is_wrong_with_stdin_is_said(content: bytes, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_document("stdin", Pipe(content))
    assert said in caught.value.message and caught.value.hint


def test_a_terminal_is_not_waited_for() -> None:
    class Terminal(Pipe):
        def isatty(self) -> bool:
            return True

    with pytest.raises(UsageError, match="nothing is piped"):
        read_document("stdin", Terminal(b"{}"))


@pytest.mark.parametrize("text", ["lr: [1, 2]\n1: [3]\n", "- {lr: 1}\n- {true: 3}\n", "lr: 1\n0.5: 2\n"])
def test_a_key_of_yaml_that_is_no_text_is_refused_and_in_quotes_it_is_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sweep.yaml"
    with pytest.raises(UsageError, match=r"sweep.yaml` has a key `(1|true|0.5)`") as caught:
        read(path, text)
    key = caught.value.message.split("key `")[1].split("`")[0]
    assert f'`"{key}":`' in caught.value.hint
    read(path, text.replace(f"{key}:", f'"{key}":').replace("lr:", "n:"))
