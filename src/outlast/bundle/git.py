"""Asking git, in a way in which the repository's own configuration cannot make it run anything.

Only names are asked for, and never what has changed: that would run the filters that a repository's configuration may name.
Where filters cannot be avoided (`Dirty`), those of the repository itself are switched off first.
"""

from __future__ import annotations

import os
from pathlib import Path

from outlast.errors import OutlastError, UsageError
from outlast.pattern import pattern

GIT_SECONDS_MAX = 120.0
"""Git waits for ever on a pipe that is called `.gitignore`."""

SAFE_OPTIONS = (
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.untrackedCache=false",
)
SILENT_FILTER = ("clean=", "smudge=", "process=", "required=false")
CONFIG_HAS_NONE = 1
"""Git's exit code for: no such setting."""

_COMMIT = pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")

KEPT_VARIABLES = frozenset({"GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"})
"""The user's own. All other `GIT_*` (a hook's GIT_DIR, say) speak of another repository than the one at hand."""


def git_program() -> str | None:
    import shutil  # not where there is no repository

    return shutil.which("git")


def git_top(directory: Path) -> Path | None:
    """Where the repository begins that the directory lies in."""
    for level in (directory, *directory.parents):
        if os.path.lexists(level / ".git"):
            return level
    return None


class Question:
    """A call of git that runs while we do something else."""

    def __init__(self, program: str, directory: Path, *words: str) -> None:
        import subprocess

        self.directory = directory
        self._answer: bytes | None = None
        self._command = [program, *SAFE_OPTIONS, *words]
        self._process = subprocess.Popen(
            self._command,
            cwd=directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Question:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Whatever happened meanwhile, nothing is left running."""
        if self._answer is None:
            self._process.kill()
            self._process.communicate()

    def exit_code(self) -> int:
        self._answered()
        return self._process.returncode

    def answer(self) -> bytes:
        """What git says; UsageError with git's own words if it says no."""
        answer = self._answered()
        if self._process.returncode != 0:
            raise _refused(self._command, self.directory)
        return answer

    def _answered(self) -> bytes:
        from subprocess import TimeoutExpired

        if self._answer is not None:
            return self._answer
        try:
            self._answer = self._process.communicate(timeout=GIT_SECONDS_MAX)[0]
            return self._answer
        except TimeoutExpired:
            raise OutlastError(
                f"git has not answered for {GIT_SECONDS_MAX:.0f} s about `{self.directory}`",
                hint="`git status` there shows whether git itself hangs",
            ) from None


def commit_of(program: str, top: Path) -> str:
    """The commit that is checked out; empty before the first one. Read from git's own files where they are simple."""
    try:
        head = (top / ".git" / "HEAD").read_text().strip()
        reference = head.removeprefix("ref: ")
        commit = head if reference == head else (top / ".git" / reference).read_text().strip()
    except (OSError, ValueError):
        commit = ""
    if _COMMIT.fullmatch(commit):
        return commit
    with Question(program, top, "rev-parse", "--quiet", "--verify", "HEAD") as question:
        return question.answer().decode("ascii", "replace").strip() if question.exit_code() == 0 else ""


class Dirty:
    """Whether tracked files differ from the commit, asked while we do something else.

    True too where it could only be told by running filters that the repository's own configuration names (the user's may run).
    """

    def __init__(self, program: str, directory: Path) -> None:
        self._program = program
        self._directory = directory
        words = ("config", "--show-scope", "-z", "--name-only", "--get-regexp", r"^filter\.")
        self._filters = Question(program, directory, *words)
        self._status: Question | None = None

    def close(self) -> None:
        self._filters.close()
        if self._status is not None:
            self._status.close()

    def go_on(self) -> None:
        """The second question, which needs the first one's answer."""
        filters = self._own_filters()
        if filters is None:
            return
        silenced = [word for name in filters for end in SILENT_FILTER for word in ("-c", f"{name}.{end}")]
        words = ("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all", "--no-renames")
        self._status = Question(self._program, self._directory, *silenced, *words)

    def finish(self) -> bool:
        """A repository that cannot answer, a partial clone perhaps, ships nonetheless."""
        return self._status is None or self._status.exit_code() != 0 or bool(self._status.answer())

    def _own_filters(self) -> list[str] | None:
        """The filters of the repository's own configuration; None if one of them cannot be switched off."""
        code = self._filters.exit_code()
        if code != 0:
            return [] if code == CONFIG_HAS_NONE else None
        parts = self._filters.answer().decode(errors="surrogateescape").split("\0")
        found = zip(parts[::2], parts[1::2], strict=False)
        names = {name.rpartition(".")[0] for scope, name in found if scope not in ("system", "global", "command")}
        return None if any("=" in name for name in names) else sorted(names)


def _refused(command: list[str], directory: Path) -> UsageError:
    import subprocess

    done = subprocess.run(
        command, cwd=directory, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    words = done.stderr.decode(errors="replace").strip().split("\n")[0] or f"exit code {done.returncode}"
    top = git_top(directory) or directory
    if _owner(top) != os.geteuid() or _owner(top / ".git") != os.geteuid():
        hint = f"it belongs to another user; if you trust it: `git config --global --add safe.directory {top}`"
    else:
        hint = f"`git -C {directory} status` shows it"
    return UsageError(f"git cannot list `{directory}`: {words}", hint=hint)


def _owner(path: Path) -> int:
    try:
        return os.lstat(path).st_uid
    except OSError:
        return os.geteuid()


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in KEPT_VARIABLES}
    return {
        **kept,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "LC_ALL": "C",
    }
