"""Names are legal, and an illegal one is answered with the legal form that is nearest."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.errors import UsageError
from outlast.spec.names import (
    JOB_ID_LENGTH_MAX,
    NAME_LENGTH_MAX,
    check_job_id,
    check_label,
    check_name,
    job_id,
    legal_name,
    name_of_target,
    shown,
)

HOSTILE = [
    "",
    "-rf",
    "a b",
    "Ä",
    "../../etc",
    "a/b",
    "x;rm -rf ~",
    "$(touch c)",
    "`id`",
    "a\nb",
    "a\0b",
    'a"b',
    "a'b",
    "é" * 300,
    "a" * 41,
    "UPPER",
    "a_b",
    "\u202eevil",
    "\x1b[31mred",
    "\udcff",
    "a\n",
]


@given(st.text())
def test_every_text_makes_a_legal_job_id(text: str) -> None:
    made = job_id(text, Random(1))
    assert check_job_id(made) == made
    assert len(made) <= JOB_ID_LENGTH_MAX


@given(st.text(max_size=100))
def test_every_target_makes_a_legal_name(text: str) -> None:
    assert check_name(name_of_target(text)) == name_of_target(text)


@given(st.text(), st.integers(1, 40))
def test_a_legal_name_stays_what_it_is(text: str, length_max: int) -> None:
    once = legal_name(text, length_max)
    assert legal_name(once, max(length_max, 3)) == once


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("train.py", "train"),
        ("src/Train_v2.py", "train-v2"),
        ("run.sh", "run"),
        ("pkg.training", "training"),
        ("pkg.sub.__main__", "sub"),
        ("__main__.py", "main"),
        ("/abs/dir/été.py", "ete"),
        ("日本.py", "job"),
    ],
)
def test_a_name_comes_from_the_target(target: str, name: str) -> None:
    assert name_of_target(target) == name


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_job_id_is_answered_with_a_legal_one(text: str) -> None:
    with pytest.raises(UsageError) as error:
        check_job_id(text)
    suggested = error.value.hint.strip("`").removeprefix("--job-id ")
    assert check_job_id(suggested) == suggested
    assert error.value.message.isprintable()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_is_answered_with_a_legal_one(text: str) -> None:
    with pytest.raises(UsageError) as error:
        check_name(text)
    assert check_name(error.value.hint.strip("`").removeprefix("--name "))


@pytest.mark.parametrize("text", ["a", "0", "mnist-7f3a", "a" * 40, "a--b", "a-"])
def test_legal_job_ids_pass(text: str) -> None:
    assert check_job_id(text) == text


def test_a_name_leaves_room_for_the_random_part() -> None:
    longest = "n" * NAME_LENGTH_MAX
    assert job_id(check_name(longest), Random(2)).startswith(longest + "-")
    with pytest.raises(UsageError):
        check_name("n" * (NAME_LENGTH_MAX + 1))


def test_ids_of_one_name_differ() -> None:
    random = Random(3)
    assert len({job_id("train", random) for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("k=v", ("k", "v")),
        ("a=", ("a", "")),
        ("Team=Vision 2", ("Team", "Vision 2")),
        (" lr =0.1", ("lr", "0.1")),
        ("k=v=w", ("k", "v=w")),
        ("größe=ü", ("größe", "ü")),
        ("k=" + "v" * 256, ("k", "v" * 256)),
    ],
)
def test_a_label_is_kept_in_the_words_in_which_it_was_typed(text: str, label: tuple[str, str]) -> None:
    assert check_label(text) == label


@given(st.text())
def test_a_label_passes_or_is_answered_with_one_that_does(text: str) -> None:
    try:
        key, value = check_label(text)
    except UsageError as error:
        suggested = error.hint.strip("`").removeprefix("--label ")
        assert check_label(suggested)
    else:
        assert key == key.strip() != "" and f"{key}={value}".isprintable()


@pytest.mark.parametrize(
    "text", ["k", "=v", " =v", "k:v", "k=v\n", "k=\x1b[2J", "k=" + "v" * 257, "k" * 257 + "=v", "\udcff=a"]
)
def test_what_is_no_label_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        check_label(text)


def test_a_colon_is_answered_with_an_equals_sign() -> None:
    with pytest.raises(UsageError) as caught:
        check_label("team:vision")
    assert caught.value.hint == "`--label team=vision`"


@given(st.text(st.characters(), max_size=200))
def test_what_is_shown_can_be_printed(text: str) -> None:
    assert shown(text).isprintable()
    shown(text).encode()
