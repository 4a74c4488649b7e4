"""What is installed is pinned, checked by hash, and installed once."""

from __future__ import annotations

import os
import re
import shutil
import venv
from pathlib import Path

import pytest

from tests.project.project_files import ROOT
from tools import install

PINNED = ["build", "tool", "test", "gsutil", "conda"]


@pytest.mark.parametrize("name", PINNED)
def test_every_requirement_is_pinned_with_a_hash(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip()]
    assert lines
    for line in lines:
        assert re.match(r"[\w.-]+==[\w.]+ .*--hash=sha256:[0-9a-f]{64}", line), line[:80]


@pytest.mark.parametrize("name", PINNED)
def test_everything_asked_for_is_pinned(name: str) -> None:
    asked = (ROOT / "requirements" / f"{name}.in").read_text().splitlines()
    names = {re.split(r"[^\w-]", line)[0] for line in asked if line and line[0].isalpha()}
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / f"{name}.txt").read_text(), flags=re.MULTILINE))
    assert names <= pinned


def test_the_core_is_a_handful_of_packages() -> None:
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / "tool.txt").read_text(), flags=re.MULTILINE)
    assert set(pinned) <= {"click", "colorama", "tomli", "urllib3"}


def test_the_tool_and_its_tests_agree_on_versions() -> None:
    pins = {}
    for name in ("tool", "test"):
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        pins[name] = set(re.findall(r"^([\w.-]+==\S+)", text, flags=re.MULTILINE))
    assert pins["tool"] <= pins["test"]


def test_an_installation_is_repeated_only_when_what_asked_for_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "PYTHON", Path(__file__))
    asked = tmp_path / "needs.txt"
    asked.write_text("one\n")
    stamp = install.Stamp(tmp_path / "stamp", [asked])
    assert not stamp.is_current()
    stamp.write()
    assert install.Stamp(tmp_path / "stamp", [asked]).is_current()
    asked.write_text("two\n")
    assert not install.Stamp(tmp_path / "stamp", [asked]).is_current()


@pytest.mark.parametrize("left", ["nothing", "no pip yet", "a Python that is gone"])
def test_an_environment_is_there_whatever_was_left_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    python = tmp_path / "bin" / "python"
    monkeypatch.setattr(install, "VENV", tmp_path)
    monkeypatch.setattr(install, "PYTHON", python)
    if left != "nothing":
        venv.create(tmp_path, symlinks=True)
    if left == "a Python that is gone":
        for link in python.parent.glob("python*"):
            link.unlink()
            link.symlink_to("/nowhere/python3.9")
    assert not install.has_pip()
    install.make_environment()
    assert install.has_pip()


MISSING = install.DebianPackage("surely-missing", "a-command-that-nobody-has", ["one.service"])


def test_without_the_right_to_install_missing_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(install, "debian_packages", lambda: [MISSING])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(install, "sudo_is_free", lambda: False)
    install.install_debian()
    assert "surely-missing" in capsys.readouterr().err


def test_where_there_is_no_debian_missing_commands_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(install, "debian_packages", lambda: [MISSING])
    monkeypatch.setattr(install, "as_root", lambda command: pytest.fail("it has no such program"))
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    install.install_debian()
    said = capsys.readouterr().err
    assert "the commands `a-command-that-nobody-has`" in said and "apt-get" not in said


def test_the_services_of_a_package_begin_neither_now_nor_at_the_next_boot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    typed: list[str] = []
    monkeypatch.setattr(install, "debian_packages", lambda: [MISSING])
    monkeypatch.setattr(install, "as_root", lambda command: typed.append(" ".join(command)))
    monkeypatch.setattr(install, "SYSTEMD", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None if name == MISSING.command else name)
    install.install_debian()
    assert typed == [
        "systemctl mask --runtime one.service",
        "apt-get install --yes --no-install-recommends surely-missing",
        "systemctl unmask --runtime one.service",
        "systemctl disable one.service",
    ]


def test_every_debian_package_has_a_command_by_which_it_is_recognised() -> None:
    assert all(one.name and one.command for one in install.debian_packages())
