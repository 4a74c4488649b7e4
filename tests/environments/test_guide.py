"""The guide to environments can be typed: its commands are run, with packages of the same names that were made here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.user import User, stop_everything
from tests.environments.conftest import find_uv, offline
from tests.environments.wheels import make_wheel
from tests.project.doc_blocks import blocks, run_step, steps

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "environments.md"


@pytest.fixture
def user(tmp_path: Path, links: Path) -> Iterator[User]:
    for name in ("numpy", "tqdm"):
        make_wheel(links, name, "4.2", files={f"{name}/__init__.py": "__version__ = '4.2'\n"})
    env = offline(tmp_path, links, "uv")
    env["PATH"] = os.pathsep.join([env["PATH"], os.path.dirname(find_uv()), os.path.dirname(sys.executable)])
    one = User(tmp_path, env=env)
    one.work.mkdir()
    yield one
    stop_everything(one)


def test_what_the_guide_says_can_be_typed(user: User) -> None:
    count = 0
    for block in blocks(GUIDE.read_text()):
        if block.file:
            (user.work / block.file).write_text(block.text)
        if "packages" in block.marks:
            for step in steps(block.text):
                run_step(step, block.exit_code, user.work, user.environ())
                count += 1
    assert count == 5
