"""What may be asked of a rented machine: the legal forms are read, everything else is answered with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.errors import UsageError
from outlast.spec import renting
from outlast.spec.machine import parse_gpus
from outlast.spec.settings import BY_NAME


def test_gpus_are_a_number_a_type_or_both() -> None:
    assert parse_gpus("2") == (2, "") and parse_gpus("0") == (0, "")
    assert (
        parse_gpus("L4") == (1, "L4")
        and parse_gpus("4xA100") == (4, "A100")
        and parse_gpus("8Xh100-mega") == (8, "h100-mega")
    )
    assert parse_gpus("1xnvidia-tesla-t4") == (1, "nvidia-tesla-t4")
    for wrong in ("", "4x", "0xA100", "-1", "65", "65xA100", "4 A100", "A100:4", "½", "４", "a" * 50, "2xA100;rm"):
        with pytest.raises(UsageError) as raised:
            parse_gpus(wrong)
        assert "--gpus" in raised.value.hint, wrong


@given(st.integers(1, 64), st.from_regex(r"\A[A-Za-z][A-Za-z0-9-]{0,20}\Z"))
def test_what_is_written_back_is_read_again(count: int, type_: str) -> None:
    read = renting.read_gpus(f"{count}x{type_}")
    assert parse_gpus(str(read)) == (count, type_)
    assert renting.read_gpus(read) == read


def test_an_image_may_be_named_as_googles_answers_name_it() -> None:
    path = "projects/debian-cloud/global/images/debian-12"
    assert renting.read_image(f"https://www.googleapis.com/compute/v1/{path}") == path
    with pytest.raises(UsageError):
        renting.read_image(f"https://evil.example/{path}")
    for wrong in ("a/../b", "a//b", "/a", "a/"):
        with pytest.raises(UsageError):
            renting.read_image(wrong)


def test_every_setting_reads_what_it_shows() -> None:
    """Files, variables and flags meet in one form."""
    legal: dict[str, list[Any]] = {
        "gpus": [2, "L4", "4xA100"],
        "region": ["us-central1", "us-central1,europe-west4", ["us-east1", "us-west1"]],
        "zone": ["us-central1-a", "us-central1-a,us-central1-b", ["us-east1-b"]],
        "machine-type": ["n2-standard-8", "custom-8-32768"],
        "spot": [True, False, "yes", "0"],
        "disk-gb": [100, "100", "100GB"],
        "image": ["debian-12", "debian-cloud/debian-12", "projects/p/global/images/family/f"],
        "service-account": ["a@p.iam.gserviceaccount.com", "1-compute@developer.gserviceaccount.com"],
        "network": ["default", "regions/us-central1/subnetworks/mine", "projects/host/global/networks/shared"],
        "max-cost": [5, 2.5, "$20", "0.01"],
        "linger": ["30m", 0, "2h"],
    }
    for name, values in legal.items():
        for value in values:
            read = BY_NAME[name].read(value)
            assert BY_NAME[name].read(read) == read, (name, value)


READERS: dict[str, Callable[[Any], Any]] = {
    name: BY_NAME[name].read
    for name in (
        "gpus",
        "region",
        "zone",
        "exclude-zone",
        "machine-type",
        "disk-gb",
        "disk-type",
        "image",
        "service-account",
        "network",
        "max-cost",
    )
}
HOSTILE: list[Any] = [
    "$(touch /tmp/canary)", "`id`", "a;b", "a b", "a\nb", "a\0b", "'", '"', "../../etc", "-rf", "--flag", "a&b", "a|b", "é", "", " ",
    None, True, [], {}, ["a", 3], float("nan"), float("inf"), -1, 1e30, "9" * 40, "\u202e", "a" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_hostile_values_are_refused_by_every_reader_with_the_legal_form(name: str) -> None:
    for value in HOSTILE:
        with pytest.raises(UsageError) as raised:
            READERS[name](value)
        assert raised.value.hint and len(raised.value.message) < 400, value


@given(st.text(max_size=60))
def test_whatever_text_is_read_has_only_characters_of_names(text: str) -> None:
    for name, read in READERS.items():
        try:
            found = read(text)
        except UsageError:
            continue
        shown = ",".join(found) if isinstance(found, tuple) else str(found)
        assert all(one.isascii() and (one.isalnum() or one in "-._:/@,") for one in shown), (name, text)
