"""Damaged checkpoints: told, passed over for the one before, and never silently replaced by a beginning at zero."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bad_input.damage import newest, read, spoil
from tests.bad_input.surroundings import assert_nothing_runs
from tests.bad_input.template import FAILED, Copy, manifest_of, part_of
from tests.cli.user import User

HUGE_BYTES = 100_000_000


def _truncate(folder: Path, number: int) -> None:
    part = part_of(folder, number)
    part.write_bytes(part.read_bytes()[:-1])


def _flip(folder: Path, number: int) -> None:
    part = part_of(folder, number)
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)


def _empty(folder: Path, number: int) -> None:
    part_of(folder, number).write_bytes(b"")


def _lengthen(folder: Path, number: int) -> None:
    with part_of(folder, number).open("r+b") as part:
        part.truncate(HUGE_BYTES)


def _remove(folder: Path, number: int) -> None:
    part_of(folder, number).unlink()


def _replace_by_directory(folder: Path, number: int) -> None:
    _remove(folder, number)
    part_of(folder, number).mkdir()


def _replace_by_link(folder: Path, number: int) -> None:
    part = part_of(folder, number)
    kept = part.with_name("kept")
    part.rename(kept)
    part.symlink_to(kept)


def _spoil_manifest(folder: Path, number: int) -> None:
    spoil(manifest_of(folder, number), "garbage")


def _remove_manifest(folder: Path, number: int) -> None:
    newest(manifest_of(folder, number)).unlink()


DAMAGES = (
    *(_truncate, _flip, _empty, _lengthen, _remove, _replace_by_directory, _replace_by_link),
    *(_spoil_manifest, _remove_manifest),
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_one_before_a_damaged_checkpoint_is_used_and_that_is_shown(
    owner: User, copy: Copy, damage: Callable[[Path, int], None]
) -> None:
    folder = copy(FAILED)
    name = read(folder / "head.json")["checkpoints"][-1]["name"]
    damage(folder, -1)
    verified = owner.outlast("checkpoints", "--verify", "--json", folder.name)
    assert verified.code == 6 and [bool(one["problem"]) for one in verified.json] == [False, False, True]
    assert owner.outlast("resume", folder.name).code == 1  # as it does when it is told to
    attempt = owner.outlast("show", "--json", folder.name).json["attempt_list"][-1]
    assert (attempt["resumed_from_step"], attempt["exit_code"]) == (20, 3)
    told = owner.outlast("show", folder.name).out
    assert f"attempt 2 passed over checkpoint {name}: `jobs/{folder.name}/" in told
    logs = owner.outlast("logs", folder.name)
    assert logs.out.count(f"total {sum(range(30))}") == 2, "it did not go on from what step 20 had"
    assert "resumed from step 20" in logs.err


def test_a_job_without_a_whole_checkpoint_fails_and_does_not_begin_again(owner: User, copy: Copy) -> None:
    folder = copy(FAILED)
    _flip(folder, -1)
    _remove(folder, -2)
    _spoil_manifest(folder, -3)
    said = owner.outlast("resume", folder.name)
    assert said.code == 1 and "no checkpoint is whole" in said.err
    document = owner.outlast("show", "--json", folder.name).json
    assert (document["state"], document["attempt_list"][-1]["cause"]) == ("failed", "damaged")
    assert part_of(folder, -1).name in document["why"] and document["step"] == 30
    assert owner.outlast("logs", folder.name).out.count("total") == 1
    assert_nothing_runs(owner)
    _flip(folder, -1)  # mended
    assert owner.outlast("resume", folder.name).code == 1
    assert owner.outlast("show", "--json", folder.name).json["attempt_list"][-1]["resumed_from_step"] == 30


def test_a_damaged_part_is_never_pulled_and_leaves_no_half_file(owner: User, copy: Copy, tmp_path: Path) -> None:
    folder = copy(FAILED)
    _flip(folder, -1)
    said = owner.outlast("pull", "--to", str(tmp_path / "to"), folder.name)
    assert said.code == 6 and "is not what was committed" in said.err
    assert not [path for path in (tmp_path / "to").rglob("*") if path.name.endswith(("state.json", ".pulling"))]
    assert owner.outlast("pull", "--to", str(tmp_path / "to"), "--checkpoint", "20", folder.name).code == 0


def test_a_damaged_checkpoint_is_not_given_to_another_job(owner: User, copy: Copy) -> None:
    folder = copy(FAILED)
    _flip(folder, -1)
    said = owner.outlast("run", "--detach", "--job-id", "heir", "--from", folder.name, "train.py", "--", "x", "0")
    assert said.code == 6 and "is not what was committed" in said.err
    assert "job `heir` was not started" in said.err and f"`outlast checkpoints {folder.name} --verify`" in said.err
    assert not (owner.home / "jobs" / "heir" / "head.json~1").exists()
    assert_nothing_runs(owner)
