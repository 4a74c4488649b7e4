"""How a group names its machines."""

from __future__ import annotations

import pytest

from outlast_emulator.compute.groups_names import BaseName, default_for, parse


def test_without_a_pattern_a_random_suffix_of_four_is_appended() -> None:
    base = parse("worker")
    assert base is not None
    name = base.next_name(())
    assert name.startswith("worker-") and len(name) == len("worker-") + 4


def test_a_random_name_is_never_one_that_is_taken() -> None:
    drawn = iter("bbbbbbbbcccc")
    assert BaseName("w").next_name({"w-bbbb"}, lambda _: next(drawn)) == "w-cccc"


@pytest.mark.parametrize(
    ("base", "names"),
    [
        ("vm-#", ["vm-1", "vm-2", "vm-3"]),
        ("vm-###", ["vm-001", "vm-002", "vm-003"]),
        ("vm-#[0]", ["vm-0", "vm-1", "vm-2"]),
        ("vm-##[99]", ["vm-99", "vm-100", "vm-101"]),
    ],
)
def test_hashes_are_numbers_in_a_row(base: str, names: list[str]) -> None:
    parsed, taken = parse(base), list[str]()
    assert parsed is not None
    for _ in names:
        taken.append(parsed.next_name(taken))
    assert taken == names


def test_the_lowest_free_number_is_taken_first() -> None:
    base = parse("vm-#[0]")
    assert base is not None
    assert base.next_name({"vm-0", "vm-2"}) == "vm-1"


@pytest.mark.parametrize("base", ["Vm", "", "1vm", "vm#", "vm-#[x]", "vm-[0]", "vm-###########", "v" * 59, "vm-#[0]x"])
def test_what_google_does_not_take_is_no_base(base: str) -> None:
    assert parse(base) is None


def test_a_group_without_a_base_is_its_own() -> None:
    assert default_for("g") == "g"
    assert parse(default_for("g" * 63)) is not None
