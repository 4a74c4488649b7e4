"""`run --git`: a commit is shipped by the user's own git, and nothing of the repository's is run on the way."""

from __future__ import annotations

import http.server
import os
import re
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlast.bundle.git_tree import checkout
from outlast.bundle.unpack import write_pieces
from outlast.errors import OutlastError, UsageError
from outlast.spec.git_source import GitSource, parse_git
from tests.cli.user import User

ALARM = "#!/bin/sh\ntouch {mark}\ncat\n"


@pytest.fixture
def gits_own(user: User) -> User:
    user.env["GIT_CONFIG_GLOBAL"] = str(user.root / "gitconfig")
    (user.root / "gitconfig").write_text("[user]\nname = n\nemail = e@example.org\n[init]\ndefaultBranch = main\n")
    return user


def git(user: User, *words: str, at: str = "repo") -> str:
    done = subprocess.run(
        ["git", *words], cwd=user.root / at, env=user.environ(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def repo(gits_own: User) -> User:
    user = gits_own
    (user.root / "repo" / "sub").mkdir(parents=True)
    git(user, "init", "-q")
    files = {"train.py": "print('first')", "sub/s.py": "print('below')", ".gitignore": "*.dat\n", "kept.dat": "x"}
    for name, text in files.items():
        (user.root / "repo" / name).write_text(text)
    git(user, "add", "-f", ".")
    git(user, "commit", "-qm", "1")
    git(user, "tag", "-a", "v1", "-m", "one")
    (user.root / "repo" / "train.py").write_text("print('second')")
    git(user, "commit", "-qam", "2")
    git(user, "branch", "feature/x")
    (user.root / "repo" / "train.py").write_text("print('dirty')")
    return user


def test_tags_branches_hashes_and_directories_of_a_repository_can_be_shipped(repo: User) -> None:
    second, first = git(repo, "rev-parse", "HEAD"), git(repo, "rev-parse", "v1^{}")
    url = f"file://{repo.root}/repo"
    for source, commit in (
        ("../repo", second),
        ("../repo@HEAD", second),
        ("../repo@v1", first),
        ("../repo@feature/x", second),
        (f"../repo@{first}", first),
        (f"{url}@{first[:9]}", first),
        (f"{url}@main", second),
    ):
        found = checkout(repo.root / "cache", parse_git(source, repo.work))
        assert found.commit == commit
        assert (found.directory / "train.py").read_text() == f"print('{'first' if commit == first else 'second'}')"
        assert (found.directory / "kept.dat").exists() and not (found.directory / ".git").exists()


def test_a_job_of_a_commit_says_which(repo: User) -> None:
    said = repo.outlast("run", "--git", "../repo@v1:sub", "s.py")
    assert (said.code, said.out) == (0, "below\n"), said.err
    provenance = repo.outlast("show", "--json").json["spec"]["provenance"]
    assert (provenance["commit"], provenance["dirty"]) == (git(repo, "rev-parse", "v1^{}"), False)
    assert provenance["tool_version"] and provenance["python_version"]
    assert provenance["directory"] == f"{repo.root}/repo@v1:sub"


def test_a_commit_that_was_here_before_needs_no_network(repo: User) -> None:
    first = git(repo, "rev-parse", "v1^{}")
    assert repo.outlast("run", "--git", f"../repo@{first}", "train.py").out == "first\n"
    (repo.root / "repo").rename(repo.root / "gone")
    assert repo.outlast("run", "--git", f"../repo@{first}", "train.py").out == "first\n"
    moved = repo.outlast("run", "--git", "../repo@main", "train.py")
    assert moved.code == 2 and "git cannot read" in moved.err


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("../repo@nope", 3, "has no tag or branch `nope`"),
        ("../repo@" + "0" * 40, 3, "has no commit `0000"),
        ("../repo@deadbeef", 3, "has no commit `deadbeef`"),
        ("../repo@main:missing", 3, "has no directory `missing`"),
        ("../repo@main:train.py", 3, "has no directory `train.py`"),
        ("../repo@main:../..", 2, "is no directory inside of a repository"),
        ("../repo@--upload-pack=touch planted", 2, "is no tag, branch or hash"),
        ("--upload-pack=touch planted", 2, "names no repository"),
        ("ext::sh -c touch% planted", 2, "remote helpers are not called"),
        ("ext://sh", 2, "is no protocol for code"),
        ("ssh://-oProxyCommand=touch planted/y", 2, "names no host"),
        ("https://user:pass@127.0.0.1:9/x.git", 2, "holds a secret"),
        ("https://ghp_0123456789abcdefghij@127.0.0.1:9/x.git", 2, "holds a secret"),
        ("nowhere", 2, "git cannot read"),
    ],
)
def test_what_names_no_commit_is_refused(
    repo: User, monkeypatch: pytest.MonkeyPatch, source: str, code: int, words: str
) -> None:
    monkeypatch.chdir(repo.work)
    with pytest.raises(OutlastError, match=re.escape(words)) as refused:
        checkout(repo.root / "cache", parse_git(source, repo.work))
    assert refused.value.exit_code == code
    assert "pass@" not in refused.value.message and "ghp_" not in refused.value.message
    assert not list(repo.root.rglob("planted"))


def test_a_wrong_commit_is_no_job(repo: User) -> None:
    said = repo.outlast("run", "--git", "../repo@nope", "train.py")
    assert said.code == 3 and "hint: `git ls-remote" in said.err
    assert repo.outlast("jobs", "--json").json == []


def plant_hooks(user: User, mark: Path) -> None:
    for name in ("post-checkout", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman", "proc-receive"):
        hook = user.root / "repo" / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(ALARM.format(mark=mark))
        hook.chmod(0o755)


def plant_filters(user: User, mark: Path) -> None:
    alarm = user.root / "alarm"
    alarm.write_text(ALARM.format(mark=mark))
    alarm.chmod(0o755)
    for name in (
        "filter.evil.smudge",
        "filter.evil.clean",
        "filter.evil.process",
        "core.fsmonitor",
        "uploadpack.packObjectsHook",
    ):
        git(user, "config", name, str(alarm))
    (user.root / "repo" / ".gitattributes").write_text("* filter=evil\ntrain.py export-subst ident\n")
    git(user, "-c", "filter.evil.clean=cat", "-c", "filter.evil.process=", "-c", "core.fsmonitor=false", "add", "-A")
    git(
        user,
        "-c",
        "filter.evil.clean=cat",
        "-c",
        "filter.evil.process=",
        "-c",
        "core.fsmonitor=false",
        "commit",
        "-qm",
        "evil",
    )


def plant_lfs(user: User, mark: Path) -> None:
    """The user's own smudge filter, as git-lfs installs it: nothing is downloaded behind his back."""
    alarm = user.root / "alarm"
    alarm.write_text(ALARM.format(mark=mark))
    alarm.chmod(0o755)
    with (user.root / "gitconfig").open("a") as config:
        config.write(f'[filter "lfs"]\nsmudge = {alarm}\nprocess = {alarm}\nrequired = true\n')


def plant_submodule(user: User, mark: Path) -> None:
    plant_hooks(user, mark)
    (user.root / "repo" / ".gitmodules").write_text(
        f'[submodule "evil"]\npath = evil\nurl = {user.root}/repo\nupdate = !touch {mark}\n'
    )
    git(user, "update-index", "--add", "--cacheinfo", f"160000,{git(user, 'rev-parse', 'HEAD')},evil")
    git(user, "add", ".gitmodules")
    git(user, "commit", "-qm", "submodule")
    mark.unlink(missing_ok=True)  # the user's own commit has run the hook


@pytest.mark.parametrize(
    "plant", [plant_hooks, plant_filters, plant_lfs, plant_submodule], ids=lambda one: one.__name__
)
def test_nothing_of_the_repository_is_run(repo: User, plant: Callable[[User, Path], None]) -> None:
    mark = repo.root / "ran"
    plant(repo, mark)
    mark.unlink(missing_ok=True)
    said = repo.outlast("run", "--git", "../repo@main", "train.py")
    assert said.code == 0, said.err
    assert not mark.exists()
    if plant is plant_submodule:
        assert "left out `evil`, 0 bytes: a submodule, which is not fetched" in said.err


def test_links_and_names_of_a_commit_lead_nowhere(repo: User) -> None:
    tree = repo.root / "repo"
    (tree / "out").symlink_to("/etc")
    (tree / "in.py").symlink_to("train.py")
    (tree / "back\\slash").write_text("x")
    (tree / "pointer.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1000\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "odd")
    said = repo.outlast("run", "--git", "../repo@main", "in.py")
    assert (said.code, said.out) == (0, "dirty\n"), said.err
    assert "left out `out`, 0 bytes: a link to outside of the bundle" in said.err
    assert "its name holds a backslash" in said.err
    assert "left out `pointer.bin`, " in said.err and "git-lfs" in said.err


def test_a_repository_that_asks_for_a_password_is_refused_and_nobody_is_asked(gits_own: User) -> None:
    class Closed(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Closed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asking = gits_own.root / "askpass"
    asking.write_text(f"#!/bin/sh\ntouch {gits_own.root}/asked\n")
    asking.chmod(0o755)
    gits_own.env["GIT_ASKPASS"] = gits_own.env["SSH_ASKPASS"] = str(asking)
    url = f"http://127.0.0.1:{server.server_port}/code.git"
    terminal = gits_own.on_terminal("run", "--git", f"{url}@main", "train.py")
    server.shutdown()
    server.server_close()
    assert terminal.code == 2 and "git cannot read" in terminal.out
    assert "Username" not in terminal.out.partition("error:")[0]
    assert not (gits_own.root / "asked").exists()


def test_a_private_repository_is_read_with_the_users_own_credentials(repo: User) -> None:
    """Dumb HTTP is enough: git itself finds name and password by the user's own helper."""
    git(repo, "update-server-info")
    git(repo, "clone", "-q", "--bare", str(repo.root / "repo"), str(repo.root / "served.git"), at=".")
    git(repo, "update-server-info", at="served.git")
    root = repo.root / "served.git"

    class Private(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, directory=str(root), **more)

        def do_GET(self) -> None:
            if self.headers.get("Authorization") != "Basic bWU6bXkta2V5":
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="x"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            super().do_GET()

        def log_message(self, format: str, *args: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Private)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with (repo.root / "gitconfig").open("a") as config:
        config.write('[credential]\nhelper = "!f() { echo username=me; echo password=my-key; }; f"\n')
    said = repo.outlast("run", "--git", f"http://127.0.0.1:{server.server_port}/@main", "train.py")
    server.shutdown()
    server.server_close()
    assert (said.code, said.out) == (0, "second\n"), said.err
    assert not [path for path in repo.outlast_dir.rglob("*") if path.is_file() and b"my-key" in path.read_bytes()]


def test_all_of_the_cache_is_its_users_alone(repo: User) -> None:
    assert repo.outlast("run", "--git", "../repo@v1", "train.py").code == 0
    for top in (repo.outlast_dir / "cache" / "git").iterdir():
        assert top.lstat().st_mode & 0o077 == 0
    assert (repo.outlast_dir / "cache" / "git").stat().st_mode & 0o077 == 0


def test_a_checkout_killed_at_any_file_leaves_none_that_is_half(repo: User, monkeypatch: pytest.MonkeyPatch) -> None:
    from outlast.bundle import git_tree

    source = GitSource(str(repo.root / "repo"), "v1", "")
    for point in range(4):
        cache = repo.root / f"cache{point}"
        pid = os.fork()
        if pid == 0:
            count = [0]

            def write(handle: int, pieces: Any, count: list[int] = count, point: int = point) -> None:
                if count[0] == point:
                    os.kill(os.getpid(), 9)
                count[0] += 1
                write_pieces(handle, pieces)

            monkeypatch.setattr(git_tree, "write_pieces", write)
            checkout(cache, source)
            os._exit(0)
        assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
        assert {path.name for path in checkout(cache, source).directory.rglob("*")} == {
            "train.py", "sub", "s.py", ".gitignore", "kept.dat",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "url", "ref", "below"),
    [
        ("https://h.org/a/b.git", "https://h.org/a/b.git", "", ""),
        ("https://h.org/a/b.git@v1", "https://h.org/a/b.git", "v1", ""),
        ("https://me@h.org/@scope/b@release/1:x/y", "https://me@h.org/@scope/b", "release/1", "x/y"),
        ("git@h.org:a/b.git", "git@h.org:a/b.git", "", ""),
        ("git@h.org:a/b.git@v1:d", "git@h.org:a/b.git", "v1", "d"),
        ("ssh://git@h.org:22/a/b.git@main", "ssh://git@h.org:22/a/b.git", "main", ""),
        ("repo@x", "/base/repo", "x", ""),
        ("/abs/repo@v1", "/abs/repo", "v1", ""),
    ],
)
def test_what_is_typed_is_taken_apart(text: str, url: str, ref: str, below: str) -> None:
    assert parse_git(text, Path("/base")) == GitSource(url, ref, below)


@pytest.mark.parametrize("ref", ["-x", "a..b", "a//b", "x.lock", "a b", "@{1}", "a~1", "a^", "x/", "x."])
def test_what_is_no_reference_is_refused(ref: str) -> None:
    with pytest.raises((UsageError, OutlastError)):
        parse_git(f"https://h.org/a@{ref}", Path("/base"))
