"""A target is there, inside the directory, and of a kind that can be run; else the answer says what lies near."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outlast.errors import Denied, NotFound, OutlastError, UsageError
from outlast.spec.spec import Target, TargetKind
from outlast.spec.target import parse_target


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    for name in (
        "train.py",
        "run.sh",
        "src/deep/train_big.py",
        "pkg/__init__.py",
        "pkg/module.py",
        "app/__main__.py",
        "a b.py",
    ):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return directory


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("train.py", TargetKind.SCRIPT, "train.py"),
        ("./train.py", TargetKind.SCRIPT, "train.py"),
        ("pkg/../train.py", TargetKind.SCRIPT, "train.py"),
        ("src/deep/train_big.py", TargetKind.SCRIPT, "src/deep/train_big.py"),
        ("a b.py", TargetKind.SCRIPT, "a b.py"),
        ("run.sh", TargetKind.SHELL, "run.sh"),
        ("pkg.module", TargetKind.MODULE, "pkg.module"),
        ("train", TargetKind.MODULE, "train"),
        ("app", TargetKind.MODULE, "app"),
    ],
)
def test_targets_are_recognised(project: Path, text: str, kind: TargetKind, value: str) -> None:
    assert parse_target(text, project) == Target(kind, value)


@pytest.mark.parametrize(
    ("typed", "meant"), [("slow.pyy", "slow.py"), ("package.slow", "slow.py"), ("slw.py", "slow.py")]
)
def test_a_misspelt_script_is_answered_with_the_one_that_was_meant(tmp_path: Path, typed: str, meant: str) -> None:
    for name in ("slow.py", "mp.py", "sig.py"):
        (tmp_path / name).write_text("")
    with pytest.raises(NotFound) as refused:
        parse_target(typed, tmp_path)
    assert refused.value.hint == f"did you mean `{meant}`?"


def test_an_absolute_path_inside_becomes_relative(project: Path) -> None:
    assert parse_target(str(project / "pkg/module.py"), project).value == "pkg/module.py"


def test_a_directory_reached_by_a_link_is_the_same_directory(project: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(project)
    assert parse_target(str(project / "train.py"), tmp_path / "alias").value == "train.py"


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        ("#!/bin/sh\n", TargetKind.SHELL),
        ("#!/usr/bin/env -S bash -e\n", TargetKind.SHELL),
        ("#! /usr/bin/env python3\n", TargetKind.SCRIPT),
    ],
)
def test_a_file_without_a_suffix_is_known_by_its_first_line(project: Path, first: str, kind: TargetKind) -> None:
    (project / "go").write_text(first)
    assert parse_target("go", project).kind is kind


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("trian.py", "train.py"),
        ("train_big.py", "src/deep/train_big.py"),
        ("deep/train_big.py", "src/deep/train_big.py"),
        ("pkg.modul", "pkg/module.py"),
        ("Train.py", "train.py"),
        ("trian", "train.py"),
    ],
)
def test_a_missing_script_is_answered_with_the_near_ones(project: Path, text: str, near: str) -> None:
    with pytest.raises(NotFound) as error:
        parse_target(text, project)
    assert f"`{near}`" in error.value.hint


def test_a_directory_is_answered_with_what_can_be_run_in_it(project: Path) -> None:
    with pytest.raises(UsageError) as error:
        parse_target("pkg/", project)
    assert "`pkg/module.py`" in error.value.hint
    with pytest.raises(UsageError) as error:
        parse_target("./app", project)
    assert "`app`" in error.value.hint


def test_a_package_that_cannot_be_run_is_said_to_be_one(project: Path) -> None:
    with pytest.raises(UsageError, match="__main__"):
        parse_target("pkg", project)


def test_a_script_outside_is_answered_with_where_to_stand(project: Path, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("")
    for text in ("../other.py", str(tmp_path / "other.py")):
        with pytest.raises(UsageError) as error:
            parse_target(text, project)
        assert f"cd {tmp_path}" in error.value.hint


def test_notebooks_and_binaries_are_refused_with_the_legal_forms(project: Path) -> None:
    (project / "n.ipynb").write_text("{}")
    (project / "blob").write_bytes(b"\x7fELF")
    with pytest.raises(UsageError, match="notebook"):
        parse_target("n.ipynb", project)
    with pytest.raises(UsageError, match="neither"):
        parse_target("blob", project)


def test_a_link_to_nothing_is_said_to_be_one(project: Path) -> None:
    (project / "gone.py").symlink_to("nowhere.py")
    with pytest.raises(NotFound, match="link"):
        parse_target("gone.py", project)


def test_an_unreadable_script_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *args: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(Denied) as error:
        parse_target("train.py", project)
    assert "chmod" in error.value.hint


@pytest.mark.parametrize(
    "text",
    ["", "\0", "a\0.py", "\udcff.py", "x" * 300, "x" * 300 + ".py", "a" * 5000, "../" * 200 + "x.py", "-x", "~", ";"],
)
def test_hostile_targets_are_refused_in_words_that_can_be_printed(project: Path, text: str) -> None:
    with pytest.raises((UsageError, NotFound)) as error:
        parse_target(text, project)
    assert error.value.message.isprintable()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=200)
@given(st.text(max_size=30))
def test_any_text_is_a_target_inside_or_an_error(project: Path, text: str) -> None:
    try:
        target = parse_target(text, project)
    except OutlastError as error:
        assert error.hint
    else:
        assert not os.path.isabs(target.value) and ".." not in target.value.split("/")
