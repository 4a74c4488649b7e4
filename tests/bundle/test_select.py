"""What is shipped: what git tracks and what it does not ignore, as it lies in the working directory."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from outlast.bundle.rules import looks_like_key
from outlast.errors import Denied, NotFound, UsageError
from outlast.store.directory import DirectoryStore
from tests.bundle.working import Working


def test_tracked_and_untracked_files_ship_and_ignored_ones_do_not(working: Working) -> None:
    working.write(".gitignore", "*.log\n/data/\n")
    working.write("train.py", "print(1)\n")
    working.commit()
    working.write("new.py")
    working.write("deep/er/new.py")
    working.write("run.log")
    working.write("data/big.bin")
    assert set(working.shipped()) == {".gitignore", "train.py", "new.py", "deep/er/new.py"}


def test_what_ships_is_the_working_directory_not_the_commit(working: Working) -> None:
    working.write("a.py", "old")
    working.write("b.py", "old")
    working.write("c.py", "old")
    working.commit()
    working.write("a.py", "staged")
    working.git("add", "a.py")
    working.write("b.py", "not staged")
    (working.directory / "c.py").unlink()
    assert {path: data for path, (data, _) in working.shipped().items()} == {"a.py": b"staged", "b.py": b"not staged"}


def test_a_file_that_comes_back_ships_again(working: Working) -> None:
    for name in ("a.py", "b.py"):
        working.write(name)
    working.commit()
    (working.directory / "b.py").unlink()
    assert set(working.shipped()) == {"a.py"}
    working.write("b.py", "again")
    assert working.shipped()["b.py"][0] == b"again"


def test_outlastignore_leaves_out_what_git_ships_in_the_same_syntax(working: Working) -> None:
    for name in ("train.py", "notes/a.txt", "notes/keep.txt", "docs/x.md", "deep/docs/x.md"):
        working.write(name)
    working.commit()
    assert "docs/x.md" in working.shipped()
    working.write(".outlastignore", "notes/*\n!notes/keep.txt\n/docs/\n")
    assert set(working.shipped()) == {".outlastignore", "train.py", "notes/keep.txt", "deep/docs/x.md"}
    working.write(".outlastignore", "")
    assert "docs/x.md" in working.shipped()


def test_a_subdirectory_of_a_repository_is_a_bundle_of_its_own(working: Working) -> None:
    working.write(".gitignore", "*.log\n")
    working.write("top.py")
    working.write("sub/a.py")
    working.write("sub/a.log")
    working.commit()
    working.directory /= "sub"
    assert set(working.shipped()) == {"a.py"}


def test_a_directory_that_its_repository_ignores_ships_as_if_there_were_none(working: Working) -> None:
    working.write(".gitignore", "/scratch/\n")
    working.write("scratch/train.py")
    working.write("scratch/.gitignore", "*.log\n")
    working.write("scratch/a.log")
    working.commit()
    working.directory /= "scratch"
    assert set(working.shipped()) == {"train.py", ".gitignore"}


def test_outside_of_git_gitignore_files_count_at_every_level(plain: Working) -> None:
    plain.write(".gitignore", "*.log\n/data\n")
    plain.write("sub/.gitignore", "!keep.log\nbuild/\n")
    for name in ("a.py", "a.log", "data/x", "sub/data/x", "sub/keep.log", "sub/other.log", "sub/build/x", "build/x"):
        plain.write(name)
    plain.write(".outlastignore", "build\n")
    expected = {".gitignore", ".outlastignore", "sub/.gitignore", "a.py", "sub/data/x", "sub/keep.log"}
    assert set(plain.shipped()) == expected


def test_without_a_git_program_the_rules_are_the_same(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    working.write(".gitignore", "*.log\n")
    working.write("a.py")
    working.write("a.log")
    monkeypatch.setenv("PATH", "/nowhere")
    packed = working.pack()
    assert set(working.unpacked(packed)) == {".gitignore", "a.py"}
    assert packed.commit == ""


@pytest.mark.parametrize("git", [True, False])
def test_environments_caches_and_version_control_never_ship(tmp_path: Path, git: bool) -> None:
    working = Working(tmp_path, git=git)
    never = [
        "env/pyvenv.cfg",
        "env/lib/python3.11/site-packages/x.py",
        "deep/conda/conda-meta/history",
        "deep/conda/lib/x.py",
        "web/node_modules/x/index.js",
        "pkg/__pycache__/a.cpython-311.pyc",
        ".mypy_cache/3.11/x.json",
        ".pytest_cache/x",
        ".ipynb_checkpoints/a.ipynb",
        "a.pyc",
        ".hg/store",
        ".DS_Store",
    ]
    for name in [*never, "train.py", "environment.yml", "pkg/env.py", "cache.py"]:
        working.write(name)
    if git:
        working.git("add", "-A", "-f")
    assert set(working.shipped()) == {"train.py", "environment.yml", "pkg/env.py", "cache.py"}
    assert working.left_out() == {}


def test_an_environment_made_in_the_project_itself_leaves_the_project(plain: Working) -> None:
    for name in ("pyvenv.cfg", "bin/python", "lib/python3.11/site-packages/x.py", "train.py", "library/a.py"):
        plain.write(name)
    assert set(plain.shipped()) == {"train.py", "library/a.py"}


CREDENTIALS = [
    ".env",
    ".env.local",
    "deploy/.env.production",
    "deploy/prod.env",
    ".huggingface/token",
    "hf_token",
    "key.pem",
    "id_rsa",
    "id_ed25519.pub",
    "credentials.json",
    "sub/application_default_credentials.json",
    "my-service-account.json",
    "service_account_key.json",
    "client_secret_123.json",
    ".netrc",
    ".pypirc",
    ".git-credentials",
    "secrets.toml",
    ".aws/credentials",
    ".ssh/config",
    ".docker/config.json",
    "kaggle.json",
    "x.p12",
]


@pytest.mark.parametrize("git", [True, False])
def test_credentials_never_ship_although_tracked_and_are_told(tmp_path: Path, git: bool) -> None:
    working = Working(tmp_path, git=git)
    fine = {
        "train.py",
        ".env.example",
        "example.env",
        "my.sample.env",
        "docs/credentials.md",
        "secrets.py",
        "environment.json",
        "config.json",
    }
    for name in [*CREDENTIALS, *fine]:
        working.write(name)
    if git:
        working.git("add", "-A", "-f")
    assert set(working.shipped()) == fine
    told = working.left_out()
    directories = () if git else (".aws/credentials", ".ssh/config", ".huggingface/token")
    assert set(told) == set(CREDENTIALS) - set(directories)
    assert set(told.values()) == {"looks like a credential"}


INDEX = "--index" + "-url"
"""In two pieces: no file of this project names a place of packages, and a test of that reads this one too."""

EXTRA_INDEX = "--extra-index" + "-url"


def test_a_place_of_packages_without_a_login_is_no_credential() -> None:
    for fine in (
        f"{INDEX} https://packages.example.com/simple\n".encode(),
        INDEX.encode() + b" https://${USER}:${TOKEN}@packages.example.com/simple\n",
        b"tool @ git+https://git.example.com/tool.git@v1\ntool @ git+https://git@git.example.com/tool.git\n",
        f"# write {INDEX} https://user:password@host/simple\n".encode(),
        f"print('pip install {INDEX} https://user:password@host/simple')\n".encode(),
    ):
        assert not looks_like_key(fine), fine


@pytest.mark.parametrize(
    "content",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n",
        "\n -----BEGIN RSA PRIVATE KEY-----\nabc\n",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n",
        '{\n  "type": "service_account",\n  "private_key": "-----BEGIN PRIVATE KEY-----\\nabc"}',
        '{"type": "authorized_user", "refresh_token": "1//0gabcdefghijklmnopqrstuvwxyz"}',
        "[global]\nindex-url = https://me:sesame@packages.example.com/simple\n",
        f"{EXTRA_INDEX} https://me:sesame@packages.example.com/simple\nnumpy\n",
        "numpy\ntool @ git+https://abcdefghijklmnopqrstuvwxyz@git.example.com/tool.git\n",
        "-e git+https://me:sesame@git.example.com/tool.git#egg=tool\n",
    ],
)
def test_a_key_is_known_by_its_content_whatever_it_is_called(working: Working, content: str) -> None:
    working.write("train.py")
    working.write("innocent", content)
    working.commit()
    assert set(working.shipped()) == {"train.py"}
    assert set(working.shipped()) == {"train.py"}
    assert working.left_out() == {"innocent": "looks like a credential"}
    working.write("innocent", "nothing")
    assert set(working.shipped()) == {"train.py", "innocent"}
    assert working.left_out() == {}


def test_what_only_speaks_of_keys_ships(working: Working) -> None:
    working.write("cert", "-----BEGIN CERTIFICATE-----\n")
    working.write("a.md", "a file begins with -----BEGIN PRIVATE KEY-----\n")
    working.write("schema.json", '{"private_key": "string"}')
    assert set(working.shipped()) == {"cert", "a.md", "schema.json"}


def test_a_file_that_becomes_a_key_is_left_out_from_then_on(working: Working) -> None:
    working.write("train.py")
    working.write("a")
    working.commit()
    assert "a" in working.shipped()
    working.write("a", "-----BEGIN PRIVATE KEY-----\n")
    assert set(working.shipped()) == {"train.py"}
    assert working.pack().digest == working.pack_anew().digest


def test_links_to_files_inside_become_files(working: Working) -> None:
    working.write("real/a.py", "content", 0o755)
    (working.directory / "link.py").symlink_to("real/a.py")
    (working.directory / "chain.py").symlink_to("link.py")
    (working.directory / "absolute.py").symlink_to(working.directory / "real/a.py")
    working.commit()
    assert working.shipped() == dict.fromkeys(["real/a.py", "link.py", "chain.py", "absolute.py"], (b"content", 0o755))


def test_a_link_to_a_directory_inside_becomes_a_copy_of_what_ships_of_it(working: Working) -> None:
    working.write(".gitignore", "*.log\n")
    working.write("real/deep/a.py", "a")
    working.write("real/a.log")
    (working.directory / "real" / "link.py").symlink_to("deep/a.py")
    (working.directory / "copy").symlink_to("real")
    working.commit()
    shipped = working.shipped()
    assert set(shipped) == {".gitignore", "real/deep/a.py", "real/link.py", "copy/deep/a.py", "copy/link.py"}
    working.write("real/deep/a.py", "b")
    assert working.shipped()["copy/deep/a.py"][0] == b"b"


def test_links_that_lead_out_nowhere_or_around_are_left_out_and_told(working: Working, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    working.write("sub/a.py")
    working.write(".env", "KEY=1")
    links: dict[str, str | Path] = {
        "outside": tmp_path / "outside.txt",
        "relative": "../outside.txt",
        "etc": "/etc",
        "gone": "nothing",
        "sub/around": "..",
        "self": "self",
        "login": ".env",
        "git": ".git/config",
    }
    for name, to in links.items():
        (working.directory / name).symlink_to(to)
    working.git("add", "-A")
    assert set(working.shipped()) == {"sub/a.py"}
    told = working.left_out()
    assert set(told) == {*links, ".env"}
    assert told["outside"] == told["relative"] == told["etc"] == "a link to outside of the bundle"
    assert told["gone"] == told["self"] == "a link to nothing"
    assert told["sub/around"] == "a link to a directory around it"
    assert told["login"] == told["git"] == "a link to what is left out"


def test_a_link_that_is_turned_elsewhere_ships_the_other_content(working: Working) -> None:
    working.write("a", "a")
    working.write("b", "b")
    link = working.directory / "link"
    link.symlink_to("a")
    working.commit()
    working.settle()
    assert working.shipped()["link"][0] == b"a"
    link.unlink()
    link.symlink_to("b")
    assert working.shipped()["link"][0] == b"b"


def test_a_link_to_nothing_ships_once_there_is_something(working: Working) -> None:
    working.write("a", "a")
    working.write(".gitignore", "late\n")
    (working.directory / "link").symlink_to("late")
    working.commit()
    assert "link" not in working.shipped()
    working.write("late", "here")
    assert working.shipped()["link"][0] == b"here"


def test_a_tracked_directory_that_became_a_link_leads_nothing_in(working: Working, tmp_path: Path) -> None:
    working.write("conf/a.txt", "mine")
    working.write("train.py")
    working.commit()
    working.settle()
    working.pack()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.txt").write_text("foreign")
    (working.directory / "conf").rename(tmp_path / "conf")
    (working.directory / "conf").symlink_to(tmp_path / "elsewhere")
    assert set(working.shipped()) == {"train.py"}
    assert working.left_out() == {"conf": "a link to outside of the bundle"}


def test_pipes_sockets_and_directories_in_a_files_place_are_left_out(working: Working) -> None:
    for name in ("train.py", "pipe", "socket", "directory"):
        working.write(name)
    working.commit()
    for name in ("pipe", "socket", "directory"):
        (working.directory / name).unlink()
    os.mkfifo(working.directory / "pipe")
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(working.directory)
        listener.bind("socket")
        os.chdir(here)
        (working.directory / "directory").mkdir()
        assert set(working.shipped()) == {"train.py"}
        assert working.left_out() == {"pipe": "a pipe", "socket": "a socket"}


def test_executable_bits_are_kept_and_no_others(working: Working) -> None:
    working.write("run.sh", "x", 0o700)
    working.write("a.py", "x", 0o600)
    working.write("odd.py", "x", 0o6777)
    assert {path: mode for path, (_, mode) in working.shipped().items()} == {
        "run.sh": 0o755,
        "a.py": 0o644,
        "odd.py": 0o755,
    }
    (working.directory / "run.sh").chmod(0o644)
    assert working.shipped()["run.sh"][1] == 0o644


ODD_NAMES = [
    "a b.py",
    "new\nline.py",
    "quo'te\".py",
    "日本語.py",
    "-rf.py",
    "$(touch x).py",
    "tab\t.py",
    " lead",
    "trail ",
    "#c",
    "*",
]


@pytest.mark.parametrize("git", [True, False])
def test_odd_names_ship_as_they_are(tmp_path: Path, git: bool) -> None:
    working = Working(tmp_path, git=git)
    for name in ODD_NAMES:
        working.write(f"d/{name}", name)
    assert {path: data.decode() for path, (data, _) in working.shipped().items()} == {
        f"d/{name}": name for name in ODD_NAMES
    }


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no such names")
@pytest.mark.parametrize("git", [True, False])
def test_names_that_are_no_text_ship_as_they_are(tmp_path: Path, git: bool) -> None:
    working = Working(tmp_path, git=git)
    name = os.fsdecode(b"\xff\xfe-\xc3.bin")
    working.write(name, "x")
    assert set(working.shipped()) == {name}


def test_a_name_with_a_backslash_is_left_out_and_told(working: Working) -> None:
    working.write("a\\b.py")
    working.write("a.py")
    assert set(working.shipped()) == {"a.py"}
    assert working.left_out() == {"a\\b.py": "its name holds a backslash"}


def test_submodules_and_repositories_within_ship_with_their_own_rules(working: Working, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    library = Working(tmp_path / "library")
    library.write("lib.py")
    library.write(".gitignore", "*.tmp\n")
    library.commit()
    working.write("train.py")
    working.git("submodule", "--quiet", "add", str(library.directory), "vendor/lib")
    working.commit()
    working.git("clone", "-q", str(library.directory), "cloned")
    working.write("vendor/lib/new.py")
    working.write("vendor/lib/x.tmp")
    working.write("cloned/x.tmp")
    expected = {"train.py", ".gitmodules", "vendor/lib/lib.py", "vendor/lib/.gitignore", "vendor/lib/new.py"}
    assert set(working.shipped()) == expected | {"cloned/lib.py", "cloned/.gitignore"}
    working.write("vendor/lib/lib.py", "changed")
    assert working.shipped()["vendor/lib/lib.py"][0] == b"changed"


def test_a_submodule_that_is_not_checked_out_is_told(working: Working, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    library = Working(tmp_path / "library")
    library.write("lib.py")
    library.commit()
    working.write("train.py")
    working.git("submodule", "--quiet", "add", str(library.directory), "lib")
    working.git("submodule", "--quiet", "deinit", "-f", "lib")
    assert set(working.shipped()) == {"train.py", ".gitmodules"}
    assert working.left_out() == {"lib": "a submodule that is not checked out"}


def test_a_worktree_ships_like_a_clone(working: Working, tmp_path: Path) -> None:
    working.write("a.py")
    commit = working.commit()
    working.git("worktree", "add", "-q", str(tmp_path / "tree"), "HEAD")
    working.directory = tmp_path / "tree"
    packed = working.pack()
    assert set(working.unpacked(packed)) == {"a.py"}
    assert (packed.commit, packed.dirty) == (commit, False)


def test_files_out_of_a_sparse_checkout_are_not_missed(working: Working) -> None:
    working.write("in/a.py")
    working.write("out/b.py")
    working.commit()
    working.git("sparse-checkout", "set", "--cone", "in")
    assert set(working.shipped()) == {"in/a.py"}


def test_an_unreadable_file_is_named(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    working.write("train.py")
    working.write("private.txt")
    really_open = os.open

    def refuse(path: object, *args: int, **more: int) -> int:
        if os.fsdecode(path).endswith("private.txt"):  # type: ignore[arg-type]
            raise PermissionError(13, "Permission denied")
        return really_open(path, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Denied, match=r"private\.txt") as error:
        working.pack()
    assert ".outlastignore" in error.value.hint


def test_an_unreadable_directory_is_named(plain: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    plain.write("train.py")
    plain.write("closed/a.py")
    really_scan = os.scandir

    def refuse(path: str | bytes) -> object:
        if os.fsencode(path).endswith(b"closed/"):
            raise PermissionError(13, "Permission denied")
        return really_scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(Denied, match="closed"):
        plain.pack()
    plain.write(".outlastignore", "closed\n")
    assert set(plain.shipped()) == {".outlastignore", "train.py"}


def test_a_machine_to_work_on_needs_no_files(working: Working) -> None:
    assert working.unpacked(working.pack(may_be_empty=True)) == {}


def test_nothing_to_ship_is_an_error_that_says_so(working: Working) -> None:
    with pytest.raises(UsageError, match="nothing to ship"):
        working.pack()
    working.write("key", "-----BEGIN PRIVATE KEY-----\n")
    with pytest.raises(UsageError, match="nothing to ship"):
        working.pack()
    assert list(working.store.list("")) == []
    working.directory = working.directory / "absent"
    with pytest.raises(NotFound, match="absent"):
        working.pack()


def test_a_home_and_a_cache_inside_the_project_are_no_part_of_it(plain: Working) -> None:
    plain.write("train.py")
    plain.store = DirectoryStore(plain.directory / "home")
    plain.cache = plain.directory / "state" / "cache"
    first = plain.pack()
    assert set(plain.unpacked(first)) == {"train.py"}
    assert plain.pack().digest == first.digest


def test_extra_directories_ship_although_ignored_and_from_outside_under_their_own_name(
    working: Working, tmp_path: Path
) -> None:
    working.write(".gitignore", "/data/\n")
    working.write("train.py")
    working.write("data/a.csv")
    working.write("data/.env")
    working.write("data/sub/b.csv")
    working.commit()
    other = tmp_path / "shared"
    (other / "deep").mkdir(parents=True)
    (other / "deep" / "c.py").write_text("c")
    (other / ".gitignore").write_text("*.log\n")
    (other / "c.log").write_text("c")
    (tmp_path / "one.yaml").write_text("1")
    extra = (
        working.directory / "data",
        other,
        tmp_path / "one.yaml",
        working.directory / "train.py",
        working.directory,
    )
    shipped = working.unpacked(working.pack(extra=extra))
    expected = {
        ".gitignore",
        "train.py",
        "data/a.csv",
        "data/sub/b.csv",
        "shared/deep/c.py",
        "shared/.gitignore",
        "one.yaml",
    }
    assert set(shipped) == expected
    (other / "deep" / "c.py").write_text("changed")
    assert working.unpacked(working.pack(extra=extra))["shared/deep/c.py"][0] == b"changed"
    assert "shared/deep/c.py" not in working.shipped()


def test_an_extra_directory_that_is_not_there_or_collides_is_an_error(working: Working, tmp_path: Path) -> None:
    working.write("lib/a.py")
    with pytest.raises(NotFound, match="absent"):
        working.pack(extra=(tmp_path / "absent",))
    (tmp_path / "other" / "lib").mkdir(parents=True)
    (tmp_path / "other" / "lib" / "a.py").write_text("b")
    with pytest.raises(UsageError, match="both"):
        working.pack(extra=(tmp_path / "other" / "lib",))
