"""Users whose packages come from a directory: no test asks a registry."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.user import User, stop_everything

BARE = Path(sys.executable).resolve()
"""An interpreter that is nobody's environment."""


@pytest.fixture
def links(tmp_path: Path) -> Path:
    folder = tmp_path / "links"
    folder.mkdir()
    return folder


@pytest.fixture
def user(tmp_path: Path, links: Path) -> Iterator[User]:
    """Somebody without an active environment, and without uv: pip resolves."""
    one = User(tmp_path, env=offline(tmp_path, links))
    one.work.mkdir()
    yield one
    stop_everything(one)


def offline(tmp_path: Path, links: Path, resolver: str = "pip") -> dict[str, str]:
    """With this resolver, asking nobody but the directory."""
    programs = tmp_path / "programs"
    programs.mkdir(exist_ok=True)
    if not (programs / "python3").exists():
        os.symlink(BARE, programs / "python3")
    settings = {"VIRTUAL_ENV": "", "PATH": f"{programs}:/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    if resolver == "uv":
        config = tmp_path / "uv.toml"
        config.write_text("no-index = true\n")
        return {
            **settings,
            "UV_FIND_LINKS": str(links),
            "UV_CONFIG_FILE": str(config),
            "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
        }
    return {
        **settings,
        "PIP_FIND_LINKS": str(links),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_CACHE_DIR": "1",
    }


def find_uv() -> str:
    found = shutil.which("uv", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip("there is no uv: `pip install -r requirements/test.txt` installs it")
    return found
