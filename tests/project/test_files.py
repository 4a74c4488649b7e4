"""What must not stand in any file: a registry's address, a path of somebody's machine, a secret."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.project.project_files import ROOT, tracked_files

REGISTRIES = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "--index" + "-url",
    "--extra-index" + "-url",
    "--find" + "-links",
]

MACHINE_PATHS = re.compile(
    r"(?<![\w.])/(?:ro"
    + r"ot|wo"
    + r"rk/(?:main|shared)|opt/(?!outlast\b|conda\b)\w+|Us"
    + r"ers/\w+|ho"
    + r"me/(?!ada\b)\w+)/"
)
"""Absolute paths that exist on one machine only. `ada` is who appears in examples; in /opt of a rented machine are our images' own
environment, and conda's where Google has put it."""

SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n|AKIA[0-9A-Z]{16}|gh[pousr]_\w{36}|AIza[\w-]{35}|xox[bp]-\w{10}"
)

HOSTILE_ON_PURPOSE = ("tests/bundle/test_unpack.py", "tests/bad_input/")
"""Name files that nobody may be led to write, to see them refused."""

REFUSED_ON_PURPOSE = {"tests/spec/test_environment.py"}
"""Holds false keys, to see them refused."""

TEXTS = [path for path in tracked_files() if path.suffix != ".png"]


def test_there_are_files_to_look_at() -> None:
    assert ROOT / "pyproject.toml" in TEXTS
    assert len(TEXTS) > 50


@pytest.mark.parametrize("word", REGISTRIES)
def test_no_file_names_a_registry(word: str) -> None:
    assert [str(path.relative_to(ROOT)) for path in TEXTS if word in path.read_text(errors="replace")] == []


def test_no_file_holds_a_path_of_somebodys_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in TEXTS
        for match in MACHINE_PATHS.finditer(path.read_text(errors="replace"))
    ]
    assert [one for one in found if not one.startswith(HOSTILE_ON_PURPOSE)] == []


def test_no_file_holds_a_secret() -> None:
    found = {str(path.relative_to(ROOT)) for path in TEXTS if SECRETS.search(path.read_text(errors="replace"))}
    assert found - REFUSED_ON_PURPOSE == set()


def test_nothing_is_tracked_that_is_ignored() -> None:
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout == ""


def test_the_patterns_see_what_they_are_for() -> None:
    for path in ("/ro" + "ot/x", "/wo" + "rk/main/x", "/op" + "t/wheels/x", "/Us" + "ers/bob/x", "/ho" + "me/bob/x"):
        assert MACHINE_PATHS.search(f"see {path} there"), path
    assert not MACHINE_PATHS.search("/ho" + "me/ada/x and <home>/home/x")
    assert SECRETS.search("AKIA" + "A" * 16)
