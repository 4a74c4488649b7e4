"""Labels out of arguments are legal at Google's, whatever was typed; a label given by hand wins; a negative number is a value."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.spec.sweep.labels import (
    LABELS_MAX,
    changed_labels,
    label_key,
    label_value,
    labels_from_args,
    labels_of,
    same_label,
)
from tests.sweep_grammar.plain import UNHURRIED

KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
VALUE = re.compile(r"[a-z0-9_-]{0,63}")


@pytest.mark.parametrize(
    ("args", "labels"),
    [
        ([], {}),
        (["--epochs", "2"], {"epochs": "2"}),
        (["--lr", "0.1"], {"lr": "0_1"}),
        (["--lr=1e-5"], {"lr": "1e-5"}),
        (["--data="], {"data": ""}),
        (["--verbose"], {"verbose": ""}),
        (["--verbose", "--lr", "1"], {"verbose": "", "lr": "1"}),
        (["-v", "-n", "3"], {"v": "", "n": "3"}),
        (["--sleep", "-1"], {"sleep": "-1"}),
        (["--x", "-0.5", "--y", "-1e-3", "--z", "-.5"], {"x": "-0_5", "y": "-1e-3", "z": "-_5"}),
        (["-1", "--x"], {"x": ""}),
        (["train", "data", "--a", "b", "c"], {"a": "b"}),
        (["--Batch.Size", "A B/C"], {"batch_size": "abc"}),
        (["--9lives", "x"], {"k9lives": "x"}),
        (["--_x", "x"], {"k_x": "x"}),
        (["--goog-x", "x"], {"kgoog-x": "x"}),
        (["--", "x"], {}),
        (["-", "x"], {}),
        (["--éé", "ü"], {}),
        (["--a", "1", "--a", "2"], {"a": "2"}),
        (["--" + "k" * 80, "v" * 80], {"k" * 63: "v" * 63}),
        (["--api-key", "hf_abcdefghijklmnopqrst"], {"api-key": ""}),
        (["--max-tokens", "4096"], {"max-tokens": "4096"}),
    ],
)
def test_an_argument_becomes_a_label(args: list[str], labels: dict[str, str]) -> None:
    assert labels_from_args(args) == labels


def test_a_label_given_by_hand_wins_over_an_argument_and_an_argument_over_our_own() -> None:
    found = labels_of(
        ["--epochs", "2", "--job_name", "z"], {"epochs": "9", "team": "a"}, {"job_name": "n", "gpu": "no"}
    )
    assert found == {"epochs": "9", "team": "a", "job_name": "z", "gpu": "no"}


def test_no_argument_looks_like_a_mark_of_ours() -> None:
    assert labels_of(["--outlast-kind", "stopped", "--outlast", "0"], {}) == {}


def test_where_there_are_too_many_the_last_arguments_are_left_out() -> None:
    args = [word for number in range(100) for word in (f"--a{number}", str(number))]
    found = labels_of(args, {"team": "x"}, {"job_name": "n"})
    assert len(found) == LABELS_MAX and found["team"] == "x" and found["job_name"] == "n"
    assert "a53" in found and "a54" not in found


@UNHURRIED
@given(
    st.lists(st.one_of(st.text(max_size=80), st.from_regex(r"--?[a-zA-Z0-9._=-]{0,70}", fullmatch=True)), max_size=80)
)
def test_whatever_was_typed_the_labels_are_legal(args: list[str]) -> None:
    for key, value in labels_of(args, {}).items():
        assert KEY.fullmatch(key) and VALUE.fullmatch(value)


@UNHURRIED
@given(st.text())
def test_what_is_legal_already_stays(text: str) -> None:
    assert label_key(label_key(text)) == label_key(text)
    assert label_value(label_value(text)) == label_value(text).lstrip("-") or text.startswith("-")


@UNHURRIED
@given(st.dictionaries(st.text(max_size=80), st.text(max_size=80), max_size=8))
def test_labels_given_by_hand_are_made_legal_and_what_changed_is_told(given_labels: dict[str, str]) -> None:
    found = labels_of([], given_labels)
    assert all(KEY.fullmatch(key) and VALUE.fullmatch(value) for key, value in found.items())
    changed = changed_labels(given_labels)
    for key, value in given_labels.items():
        there = changed.get(f"{key}={value}", f"{key}={value}")
        if there:
            assert there.partition("=")[0] in found
            assert same_label((key, value), tuple(there.partition("=")[::2])) or not there.partition("=")[2]  # type: ignore[arg-type]


def test_a_label_by_hand_is_sanitised_as_an_arguments() -> None:
    given_labels = {
        "Team": "Vision 2",
        "lr": "0.1",
        "9lives": "x",
        "größe": "",
        "ü": "1",
        "outlast-kind": "x",
        "ok": "ok",
    }
    assert labels_of([], given_labels) == {"team": "vision2", "lr": "0_1", "k9lives": "x", "gre": "", "ok": "ok"}
    assert changed_labels(given_labels) == {
        "Team=Vision 2": "team=vision2",
        "lr=0.1": "lr=0_1",
        "9lives=x": "k9lives=x",
        "größe=": "gre=",
        "ü=1": "",
        "outlast-kind=x": "",
    }


def test_a_label_is_found_by_its_own_words_and_by_the_clouds() -> None:
    assert same_label(("Team", "Vision"), ("team", "vision"))
    assert same_label(("lr", "0.1"), ("lr", "0_1"))
    assert not same_label(("ü", "a"), ("ö", "a")) and not same_label(("k", "ü"), ("k", "ö"))


def plain_labels(args: list[str]) -> dict[str, str]:
    """1.4.5 once more, in the plainest way: overlapping pairs, a token with a dash is a key; but a negative number is a value."""

    def is_key(word: str) -> bool:
        try:
            return word.startswith("-") and (not any(c.isdigit() for c in word) or (float(word), False)[1])
        except ValueError:
            return True

    def legal(word: str) -> str:
        return "".join(c for c in word.replace(".", "_").lower() if c in "abcdefghijklmnopqrstuvwxyz0123456789_-")

    found = {}
    for at, word in enumerate(args):
        if is_key(word):
            name, equals, value = word.partition("=")
            following = args[at + 1] if at + 1 < len(args) else ""
            value = value if equals else "" if is_key(following) else following
            key = legal(name).lstrip("-")
            key = f"k{key}" if key and not key[0].isalpha() else key
            text = legal(value) if is_number(value) else legal(value).lstrip("-")
            if key[:63]:
                found[key[:63]] = text[:63]
    return found


def is_number(word: str) -> bool:
    try:
        return word.startswith("-") and float(word) is not None
    except ValueError:
        return False


WORDS = st.one_of(
    st.sampled_from(["-1", "-0.5", "-1e-3", "-.5", "-x", "--", "-", "--a=-1", "--a=b=c", "x y", "A/B", "-1x"]),
    st.from_regex(r"--?[a-fA-F0-9._]{1,8}", fullmatch=True),
    st.from_regex(r"[a-zA-Z0-9./ ]{0,8}", fullmatch=True),
)


@UNHURRIED
@given(st.lists(WORDS, max_size=8))
def test_labels_of_arguments_are_those_of_a_plain_implementation(args: list[str]) -> None:
    assert labels_from_args(args) == plain_labels(args)


def test_every_flag_leads_to_a_key_that_a_plain_reading_gives() -> None:
    """The pairs of the argument list, slid over it one by one."""
    args = ["--a", "1", "--b", "--c", "x", "y", "-d", "-2", "--e"]
    wanted = {}
    for word, following in zip(args, [*args[1:], "-"], strict=True):
        if word.startswith("-") and not word[1:].isdigit():
            is_value = not following.startswith("-") or following[1:].isdigit()
            wanted[word.lstrip("-")] = following if is_value else ""
    assert labels_from_args(args) == wanted
