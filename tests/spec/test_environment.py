"""Variables for the trainer: settings pass, secrets do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.errors import UsageError
from outlast.spec.environment import parse_env
from outlast.spec.machine import parse_count, parse_gpus


@pytest.mark.parametrize(
    "text",
    [
        "WANDB_API_KEY=0123456789abcdef",
        "AWS_SECRET_ACCESS_KEY=x",
        "HF_TOKEN=abc",
        "token=abc",
        "GITHUB_TOKEN=abc",
        "DB_PASSWORD=hunter2",
        "MYSQL_PASSWD=hunter2",
        "key=abc",
        "SSH_PASSPHRASE=a b",
        "NOTE=hf_abcdefghijklmnopqrst",
        "NOTE=-----BEGIN RSA PRIVATE KEY-----",
        "NOTE=AKIAABCDEFGHIJKLMNOP",
    ],
)
def test_what_looks_like_a_secret_is_refused_and_its_value_is_not_repeated(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_env(text)
    value = text.partition("=")[2]
    assert "secret" in error.value.message
    assert error.value.hint
    if len(value) > 6:
        assert value not in error.value.message + error.value.hint


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("LR=0.1", ("LR", "0.1")),
        ("TOKENIZERS_PARALLELISM=false", ("TOKENIZERS_PARALLELISM", "false")),
        ("MAX_TOKENS=4096", ("MAX_TOKENS", "4096")),
        ("A=", ("A", "")),
        ("A=b=c", ("A", "b=c")),
        ("KEYBOARD=qwerty", ("KEYBOARD", "qwerty")),
        ("A=$(touch x); `id`\n'\"", ("A", "$(touch x); `id`\n'\"")),
        ("NCCL_DEBUG=INFO", ("NCCL_DEBUG", "INFO")),
    ],
)
def test_settings_pass_untouched(text: str, pair: tuple[str, str]) -> None:
    assert parse_env(text) == pair


@pytest.mark.parametrize(
    "text", ["A", "", "=x", "1A=x", "A B=x", "A-B=x", "OUTLAST_JOB=x", "A=\0", "A=" + "x" * 40000, "A=\udcff", "Ä=x"]
)
def test_what_is_no_variable_is_refused_with_the_legal_form(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_env(text)
    assert error.value.hint


@given(st.text())
def test_any_text_is_a_variable_or_a_usage_error(text: str) -> None:
    try:
        name, value = parse_env(text)
    except UsageError as error:
        error.hint.encode()
    else:
        assert f"{name}={value}" == text


def test_a_machine_has_no_less_than_no_card_and_no_more_than_fit_into_one() -> None:
    assert parse_gpus("0") == (0, "")
    for text in ("-1", "65", "0xL4", "65xL4"):
        with pytest.raises(UsageError, match="between"):
            parse_gpus(text)


@pytest.mark.parametrize("text", ["", "a", "1.5", "-1", "½", "٣", "0", "99999", "1" * 400])
def test_a_wrong_count_is_answered_with_a_legal_one(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_count("--cpus", text, 1, 4096)
    assert error.value.hint.startswith("`--cpus ")
