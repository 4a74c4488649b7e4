"""A repository that somebody sent us cannot make packing run anything."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from outlast.bundle import git
from outlast.errors import OutlastError, UsageError
from tests.bundle.working import Working


@pytest.fixture
def canary(working: Working, tmp_path: Path) -> Path:
    """A program that leaves a trace when somebody runs it."""
    working.write("a.py", "one")
    working.write("b.bin", "one")
    working.commit()
    return tmp_path / "canary"


def trap(canary: Path) -> str:
    program = canary.with_name("trap")
    program.write_text(f"#!/bin/sh\necho run >> {canary}\ncat\n")
    program.chmod(0o755)
    return str(program)


CONFIGURATIONS = [
    [("core.fsmonitor", "TRAP")],
    [("core.hooksPath", "HOOKS")],
    [("filter.x.clean", "TRAP"), ("filter.x.smudge", "TRAP"), ("filter.x.required", "true")],
    [("filter.x.process", "TRAP")],
    [("filter.a=b.clean", "TRAP")],
    [("core.pager", "TRAP"), ("pager.status", "true"), ("pager.ls-files", "true")],
    [("core.sshCommand", "TRAP"), ("remote.origin.url", "ext::TRAP"), ("extensions.partialClone", "origin")],
    [("diff.external", "TRAP"), ("diff.x.textconv", "TRAP"), ("diff.x.command", "TRAP")],
    [("alias.ls-files", "!TRAP"), ("alias.status", "!TRAP"), ("alias.config", "!TRAP")],
    [("core.editor", "TRAP"), ("gpg.program", "TRAP"), ("credential.helper", "!TRAP")],
]


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda one: one[0][0])
def test_nothing_that_the_repositorys_configuration_names_is_run(
    working: Working, canary: Path, configuration: list[tuple[str, str]]
) -> None:
    program = trap(canary)
    hooks = working.scratch / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\necho run >> {canary}\n")
        (hooks / name).chmod(0o755)
        (working.directory / ".git" / "hooks" / name).write_bytes((hooks / name).read_bytes())
        (working.directory / ".git" / "hooks" / name).chmod(0o755)
    working.write(".gitattributes", "*.bin filter=x diff=x\n*.py filter=a=b\n")
    settings = [(name, value.replace("TRAP", program).replace("HOOKS", str(hooks))) for name, value in configuration]
    with (working.directory / ".git" / "config").open("a") as file:
        for name, value in settings:
            section, _, rest = name.partition(".")
            subsection, _, key = rest.rpartition(".")
            file.write(f'[{section} "{subsection}"]\n' if subsection else f"[{section}]\n")
            file.write(f"\t{key} = {value}\n")
    for text in ("one", "two", "six"):
        working.write("a.py", text)
        working.write("b.bin", text)
        (working.directory / ".git" / "index").touch()
        packed = working.pack()
        assert working.unpacked(packed)["b.bin"][0] == text.encode()
    assert not canary.exists()


def test_a_submodules_configuration_is_not_run_either(working: Working, canary: Path, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    library = Working(tmp_path / "library")
    library.write("lib.bin")
    library.write(".gitattributes", "*.bin filter=x\n")
    library.commit()
    working.git("submodule", "--quiet", "add", str(library.directory), "lib")
    working.commit()
    working.git("config", "filter.x.clean", trap(canary), at="lib")
    working.git("config", "core.fsmonitor", trap(canary), at="lib")
    working.write("lib/lib.bin", "changed")
    assert working.shipped()["lib/lib.bin"][0] == b"changed"
    assert not canary.exists()


def test_what_is_missing_in_the_repository_is_not_fetched_by_a_command_of_its_choice(
    working: Working, canary: Path
) -> None:
    """A partial clone fetches what it misses, by any transport that its configuration allows."""
    tree = working.git("rev-parse", "HEAD^{tree}")
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{trap(canary)}",
        "protocol.ext.allow": "always",
    }.items():
        working.git("config", name, value)
    (working.directory / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    packed = working.pack()
    assert (packed.files, packed.dirty) == (2, True)
    assert not canary.exists()


def test_variables_of_a_git_hook_around_us_do_not_lead_us_astray(
    working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    other = Working(tmp_path / "other")
    other.write("other.py")
    other.commit()
    working.write("a.py")
    working.commit()
    monkeypatch.setenv("GIT_DIR", str(other.directory / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.directory))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.directory / ".git" / "index"))
    assert set(working.shipped()) == {"a.py"}


def test_a_work_tree_that_the_configuration_puts_elsewhere_ships_nothing_from_there(
    working: Working, tmp_path: Path
) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary.txt").write_text("secret")
    working.write("a.py")
    working.commit()
    working.git("config", "core.worktree", str(tmp_path / "private"))
    try:
        shipped = working.shipped()
    except OutlastError:
        return
    assert "diary.txt" not in shipped


def test_another_users_repository_is_refused_with_the_way_to_trust_it(
    working: Working, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As git does it: no for whom the directory does not belong to."""
    working.write("a.py")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").write_text("#!/bin/sh\necho 'fatal: detected dubious ownership in repository' >&2\nexit 128\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    really = os.lstat

    def anothers(path: str | Path) -> os.stat_result:
        status = really(path)
        return os.stat_result((*status[:4], status.st_uid + 1, *status[5:])) if stat.S_ISDIR(status.st_mode) else status

    monkeypatch.setattr(os, "lstat", anothers)
    with pytest.raises(UsageError, match="dubious ownership") as error:
        working.pack()
    assert f"safe.directory {working.directory}" in error.value.hint


def test_a_repository_that_git_cannot_read_is_an_error_in_gits_words(working: Working) -> None:
    working.write("a.py")
    (working.directory / ".git" / "config").write_text("[broken\n")
    with pytest.raises(UsageError, match="git cannot list") as error:
        working.pack()
    assert "bad config" in error.value.message and "git -C" in error.value.hint


def test_a_git_that_never_answers_is_given_up(
    working: Working, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    working.write("a.py")
    working.commit()
    os.mkfifo(working.directory / "sub.gitignore")
    (working.directory / "sub").mkdir()
    (working.directory / "sub.gitignore").rename(working.directory / "sub" / ".gitignore")
    monkeypatch.setattr(git, "GIT_SECONDS_MAX", 0.5)
    try:
        working.pack()
    except OutlastError as error:
        assert "git has not answered" in error.message
    left = (
        [pid for pid in os.listdir("/proc") if pid.isdigit() and _is_git_child(int(pid))]
        if os.path.isdir("/proc")
        else []
    )
    assert left == []


def _is_git_child(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            name, _, rest = file.read().partition(") ")
    except OSError:
        return False
    state, parent = rest.split()[:2]
    return name.endswith("(git") and int(parent) == os.getpid() and state != "Z"
