"""What the examples' READMEs say can be typed: blocks marked `example` are run in a copy of the example's directory.

Among it is a drill of each, with five kills: with notice, without, in the middle of a save, and the same to the bit afterwards.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.user import User
from tests.examples.places import EXAMPLES, ROOT
from tests.project.doc_blocks import blocks, fits, steps

PAGES = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))
MARK = "example"
COMMAND_SECONDS_MAX = 600.0
"""A drill is a dozen starts of a large library: seconds on a machine that has nothing else to do."""


def test_there_are_readmes() -> None:
    assert {"census", "survival-sklearn", "survival-torch"} <= set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_what_a_readme_says_can_be_typed(name: str, user: User, census: Path) -> None:
    for example in {name, "census"}:
        shutil.copytree(EXAMPLES / example, user.work / example, ignore=shutil.ignore_patterns("__pycache__"))
    directory = user.work / name
    shutil.copytree(census, directory / "census")  # `get_data.py` sees that they are right, and fetches nothing
    programs = f"{ROOT / '.venv' / 'bin'}:{Path(sys.executable).parent}"
    environment = user.environ(PATH=f"{programs}:/usr/local/bin:/usr/bin:/bin")
    typed = []
    for block in blocks((directory / "README.md").read_text()):
        for step in steps(block.text) if MARK in block.marks else ():
            typed.append(step.command)
            ended = subprocess.run(
                ["bash", "-c", step.command],
                cwd=directory,
                env=environment,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=COMMAND_SECONDS_MAX,
            )
            said = f"$ {step.command}\n{ended.stdout}{ended.stderr}"
            assert ended.returncode == 0, said
            assert not step.output or fits(ended.stdout, step.output), said
    assert any("outlast drill --kills 5" in command for command in typed), typed
