"""Commits of other repositories, fetched by the user's own git into bare clones of ours, so that nothing of theirs is ever run.

A bare clone has no hooks, no filters, no attributes and no configuration but ours; nothing is checked out. Git asks nobody anything: it has
no terminal and no way to prompt.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from outlast.bundle.git import SAFE_OPTIONS, git_program
from outlast.errors import NotFound, OutlastError, UsageError
from outlast.host.lock import locked
from outlast.pattern import pattern
from outlast.spec.git_source import PROTOCOLS, GitSource

FETCH_SECONDS_MAX = 3600.0
WORDS_SHOWN_MAX = 400

OPTIONS = (
    *SAFE_OPTIONS,
    "-c",
    "core.askPass=",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "fetch.recurseSubmodules=false",
    "-c",
    "submodule.recurse=false",
    "-c",
    "fetch.writeCommitGraph=false",
    "-c",
    "transfer.fsckObjects=false",
    "-c",
    "protocol.ext.allow=never",
)
ELSEWHERE = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_TEMPLATE_DIR",
        "GIT_TRACE",
    }
)
"""Variables that speak of another repository than the one at hand, a hook's perhaps."""

_HASH = pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT_HASH = pattern(r"[0-9a-f]{7,63}")


class Clone:
    """The bare clone of one URL. Whoever uses it holds its lock."""

    def __init__(self, cache: Path, source: GitSource) -> None:
        program = git_program()
        if program is None:
            raise NotFound("there is no `git` on the PATH, and `--git` needs it", hint="install git")
        self.source = source
        self._program = program
        self._folder = cache / "git"
        self.path = self._folder / f"{hashlib.sha256(source.url.encode()).hexdigest()[:32]}.git"

    @contextmanager
    def locked(self) -> Iterator[None]:
        self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with locked(self._folder / f"{self.path.name}.lock"):
            self._make()
            yield

    def fetch(self) -> str:
        """The commit that the source names, which is here with all its files."""
        ref = "" if self.source.ref == "HEAD" else self.source.ref
        if _HASH.fullmatch(ref):
            if not self._has(ref) and self._run("fetch", *self._shallow(), self.source.url, ref)[0] != 0:
                self._fetch_all()  # some servers give only what a branch or tag names
            return self._commit(ref)
        name, listed = self._named(ref)
        if name:
            if not self._has(listed):
                kept = f"refs/outlast/{hashlib.sha256(name.encode()).hexdigest()[:16]}"
                words = (self.source.url, f"+{name}:{kept}")
                if self._run("fetch", *self._shallow(), *words)[0] != 0:
                    self._must("fetch", *self._quiet(), *words)  # some servers know no part of a history
            return self._commit(listed)
        if _SHORT_HASH.fullmatch(ref):
            self._fetch_all()
            return self._commit(ref)
        raise NotFound(
            f"`{self.source.url}` has no tag or branch `{ref}`", hint=f"`git ls-remote {self.source.url}` lists them"
        )

    def command(self, *words: str) -> list[str]:
        return [self._program, *OPTIONS, f"--git-dir={self.path}", *words]

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
        return {
            **kept,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
            "SSH_ASKPASS_REQUIRE": "never",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS),
            "LC_ALL": "C",
        }

    def _make(self) -> None:
        if (self.path / "HEAD").is_file():
            return
        shutil.rmtree(self.path, ignore_errors=True)
        made = Path(tempfile.mkdtemp(prefix=".clone-", dir=self._folder))
        try:
            words = [self._program, *OPTIONS, "init", "--quiet", "--bare", "--template=", str(made)]
            code, said = self._call(words)
            if code != 0:
                raise OutlastError(f"git cannot make a clone in `{self._folder}`: {said}")
            made.rename(self.path)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _named(self, ref: str) -> tuple[str, str]:
        """(the whole name of the tag or branch, the hash of its commit); a tag comes before a branch of the same name."""
        wanted = [f"refs/tags/{ref}", f"refs/heads/{ref}"] if ref else ["HEAD"]
        said = self._must("ls-remote", "--", self.source.url, *wanted, *(f"{name}^{{}}" for name in wanted))
        found = {name: sha for sha, _, name in (line.partition("\t") for line in said.splitlines())}
        for name in wanted:
            if name in found:
                return name, found.get(f"{name}^{{}}", found[name])
        if not ref:
            raise NotFound(f"`{self.source.url}` has no commit yet", hint="name a branch: `--git URL@main`")
        return "", ""

    def _fetch_all(self) -> None:
        deepen = ("--unshallow",) if (self.path / "shallow").exists() else ()
        specs = ("+refs/heads/*:refs/outlast/heads/*", "+refs/tags/*:refs/outlast/tags/*")
        self._must("fetch", *self._quiet(), *deepen, self.source.url, *specs)

    def _quiet(self) -> tuple[str, ...]:
        return ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")

    def _shallow(self) -> tuple[str, ...]:
        return (*self._quiet(), "--depth=1")

    def _has(self, commit: str) -> bool:
        return self._run("cat-file", "-e", f"{commit}^{{tree}}")[0] == 0

    def _commit(self, ref: str) -> str:
        code, said = self._run("rev-parse", "--quiet", "--verify", f"{ref}^{{commit}}")
        if code != 0 or not _HASH.fullmatch(said.strip()):
            raise NotFound(f"`{self.source.url}` has no commit `{ref}`", hint="push it there first")
        return said.strip()

    def _must(self, *words: str) -> str:
        code, said = self._run(*words)
        if code != 0:
            raise UsageError(
                f"git cannot read `{self.source.url}`: {said[:WORDS_SHOWN_MAX] or f'exit code {code}'}",
                hint=f"`git ls-remote {self.source.url}` shows whether you may",
            )
        return said

    def _run(self, *words: str) -> tuple[int, str]:
        return self._call(self.command(*words))

    def _call(self, command: list[str]) -> tuple[int, str]:
        """In a session of its own: no terminal to ask on. Answers its words, or its complaint."""
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=FETCH_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            raise OutlastError(
                f"git has not answered for {FETCH_SECONDS_MAX / 60:.0f} min about `{self.source.url}`"
            ) from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode != 0:
            return process.returncode, " ".join(err.decode(errors="replace").split())
        return 0, out.decode(errors="surrogateescape")
