"""The script runs in the user's Python, and it is said which and why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from outlast.bundle import python
from outlast.bundle.python import choose_python
from outlast.errors import NotFound, UsageError


def make_python(path: Path, version: str = "3.11.4", *, shim: bool = False) -> Path:
    """A program that answers the question for its version, and counts how often it was run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho run >> {path}.runs\necho {version} {path}.real\n")
    path.chmod(0o755)
    if shim:
        Path(f"{path}.real").write_text("")
    return path


def make_environment(root: Path, version: str = "3.11.4", key: str = "version") -> Path:
    program = make_python(root / "bin" / "python", version)
    program.write_bytes(b"\x7fELF")
    (root / "pyvenv.cfg").write_text(f"home = /usr/bin\n{key} = {version}\n")
    return program


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


def test_the_order_is_virtual_env_conda_dot_venv_path(project: Path, tmp_path: Path) -> None:
    active = make_environment(tmp_path / "active")
    conda = make_environment(tmp_path / "conda", "3.12.1")
    own = make_environment(project / ".venv", "3.10.2")
    system = make_environment(tmp_path / "system")
    (tmp_path / "system" / "bin" / "python3").symlink_to(system)
    environ = {
        "VIRTUAL_ENV": str(tmp_path / "active"),
        "CONDA_PREFIX": str(tmp_path / "conda"),
        "PATH": str(tmp_path / "system" / "bin"),
    }
    chosen = choose_python(project, environ)
    assert (chosen.path, chosen.why, chosen.version) == (str(active), "$VIRTUAL_ENV", "3.11.4")
    del environ["VIRTUAL_ENV"]
    chosen = choose_python(project, environ)
    assert (chosen.path, chosen.why, chosen.version) == (str(conda), "$CONDA_PREFIX", "3.12.1")
    del environ["CONDA_PREFIX"]
    chosen = choose_python(project, environ)
    assert (chosen.path, chosen.why, chosen.version) == (str(own), ".venv", "3.10.2")
    own.unlink()
    chosen = choose_python(project, environ)
    assert (chosen.path, chosen.why) == (str(tmp_path / "system" / "bin" / "python3"), "python3 on the PATH")


def test_the_tools_own_environment_is_passed_over_unless_it_is_active(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tool", "system"):
        program = make_environment(tmp_path / name)
        (program.parent / "python3").symlink_to("python")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "tool"))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    path = f"{tmp_path / 'tool' / 'bin'}:{tmp_path / 'system' / 'bin'}"
    assert choose_python(project, {"PATH": path}).path == str(tmp_path / "system" / "bin" / "python3")
    active = choose_python(project, {"PATH": path, "VIRTUAL_ENV": str(tmp_path / "tool")})
    assert active.path == str(tmp_path / "tool" / "bin" / "python")
    alone = choose_python(project, {"PATH": str(tmp_path / "tool" / "bin")})
    assert alone.path == str(tmp_path / "tool" / "bin" / "python3") and "own" in alone.why


def test_a_system_python_is_everybodys(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = make_environment(tmp_path / "usr")
    (program.parent / "python3").symlink_to("python")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "usr"))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "usr"))
    assert choose_python(project, {"PATH": str(program.parent)}).why == "python3 on the PATH"


@pytest.mark.parametrize("key", ["version", "version_info"])
def test_an_environment_tells_its_version_without_being_run(project: Path, key: str) -> None:
    make_environment(project / ".venv", "3.13.0", key)
    assert choose_python(project, {}).version == "3.13.0"


def test_conda_tells_its_version_by_its_records(project: Path, tmp_path: Path) -> None:
    program = make_python(tmp_path / "conda" / "bin" / "python")
    program.write_bytes(b"\x7fELF")
    (tmp_path / "conda" / "conda-meta").mkdir()
    (tmp_path / "conda" / "conda-meta" / "python-3.12.7-h123_0.json").write_text("{}")
    assert choose_python(project, {"CONDA_PREFIX": str(tmp_path / "conda")}).version == "3.12.7"


def test_a_link_tells_its_version_by_what_it_leads_to(project: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3.12").write_bytes(b"\x7fELF")
    (tmp_path / "bin" / "python3.12").chmod(0o755)
    (tmp_path / "bin" / "python3").symlink_to("python3.12")
    assert choose_python(project, {"PATH": str(tmp_path / "bin")}).version == "3.12"


def test_a_shim_is_asked_once_for_what_it_starts(project: Path, tmp_path: Path) -> None:
    shim = make_python(tmp_path / "shims" / "python3", "3.11.9", shim=True)
    cache = tmp_path / "cache"
    for _ in range(3):
        chosen = choose_python(project, {"PATH": str(shim.parent)}, cache=cache)
        assert (chosen.path, chosen.version) == (f"{shim}.real", "3.11.9")
    assert Path(f"{shim}.runs").read_text() == "run\n"
    make_python(shim, "3.12.0", shim=True)
    assert choose_python(project, {"PATH": str(shim.parent)}, cache=cache).version == "3.12.0"
    (cache / "pythons.json").write_text("damaged")
    assert choose_python(project, {"PATH": str(shim.parent)}, cache=cache).version == "3.12.0"


def test_this_very_python_is_found_and_told(project: Path) -> None:
    chosen = choose_python(project, {"VIRTUAL_ENV": sys.prefix})
    assert chosen.version.startswith(".".join(map(str, sys.version_info[:2])))


@pytest.mark.parametrize("version", ["3.9.18", "2.7.18", "3.9"])
def test_an_old_python_is_refused_with_what_to_do(project: Path, version: str) -> None:
    make_environment(project / ".venv", version)
    with pytest.raises(UsageError, match=r"3\.10 or newer") as error:
        choose_python(project, {})
    assert version in error.value.message and "venv" in error.value.hint


def test_an_active_environment_without_python_is_an_error_not_a_guess(project: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="VIRTUAL_ENV"):
        choose_python(project, {"VIRTUAL_ENV": str(tmp_path / "gone"), "PATH": "/usr/bin"})


def test_a_conda_environment_without_python_is_passed_over(project: Path, tmp_path: Path) -> None:
    make_environment(project / ".venv")
    assert choose_python(project, {"CONDA_PREFIX": str(tmp_path / "r-only")}).why == ".venv"


def test_no_python_at_all_says_what_was_looked_for(project: Path) -> None:
    with pytest.raises(NotFound) as error:
        choose_python(project, {"PATH": "/nowhere:"})
    assert "python3 -m venv" in error.value.hint


def test_a_python_that_does_not_run_is_named(project: Path, tmp_path: Path) -> None:
    broken = make_python(tmp_path / "bin" / "python3")
    broken.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(UsageError, match="does not run"):
        choose_python(project, {"PATH": str(broken.parent)})
    broken.write_text("#!/bin/sh\necho hello\n")
    with pytest.raises(UsageError, match="does not run"):
        choose_python(project, {"PATH": str(broken.parent)})


def test_a_python_that_hangs_is_given_up(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python, "ASK_SECONDS_MAX", 0.2)
    slow = make_python(tmp_path / "bin" / "python3")
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(UsageError, match="does not run"):
        choose_python(project, {"PATH": str(slow.parent)})
