"""Our reading of gitignore syntax is git's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from outlast.bundle.ignore import Ignore, Ignores

SEGMENT = st.sampled_from(["a", "b", "ab", "a.py", "B", "data", "x y", "#c", "!d", "[z]", "\\", "e-f", "é", "c]"])
PATH = st.lists(SEGMENT, min_size=1, max_size=4).map("/".join)
PIECES = [
    "a",
    "b",
    "*",
    "**",
    "?",
    "/",
    "/",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-c]",
    "[",
    "]",
    "!",
    "#",
    "\\",
    " ",
    "data",
    ".py",
]
PIECES += ["[[:alpha:]]", "[[:", "[]a]", "[a-]", "[\\]]", "**/", "/**", "/**/", "x y", "é", "\\ ", "[z-a]", "-"]
PATTERN = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ignore")
    subprocess.run(["git", "init", "-q", directory], check=True)
    return directory


def ignored_by_git(repository: Path, text: str, paths: list[str]) -> list[bool]:
    (repository / ".gitignore").write_bytes(text.encode())
    asked = "".join(f"{path}\0" for path in paths).encode()
    done = subprocess.run(
        ["git", "check-ignore", "-z", "--no-index", "--stdin"],
        cwd=repository,
        input=asked,
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    found = set(done.stdout.decode().split("\0"))
    return [path in found for path in paths]


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(PATTERN, min_size=1, max_size=4), st.lists(PATH, min_size=1, max_size=12, unique=True))
@example(["a/**"], ["a", "a/b", "a/b/ab"])
@example(["**/a"], ["a", "b/a", "b/b/a/b"])
@example(["a/**/b"], ["a/b", "a/ab/b", "a/ab/data/b", "b"])
@example(["data/", "!data/a"], ["data", "data/a", "b/data/a"])
@example(["*", "!a/", "!a/b"], ["a/b", "b", "a/data"])
@example(["/a"], ["a", "b/a"])
@example(["\\#c", "\\!d"], ["#c", "!d", "a/#c"])
@example(["a.py ", "x\\ y"], ["a.py", "x y"])
@example(["***/b"], ["a/b", "b"])
@example(["\ufeffa"], ["a"])
@example(["a\r"], ["a"])
@example(["*[z-a]*"], ["[z]", "a"])
@example(["*[!z-a]"], ["[z]", "a"])
def test_the_same_paths_are_left_out_as_by_git(repository: Path, patterns: list[str], paths: list[str]) -> None:
    text = "\n".join(patterns) + "\n"
    ours = Ignores([Ignore(text.encode())])
    assert [ours.leaves_out(path.encode()) for path in paths] == ignored_by_git(repository, text, paths)


def test_a_file_deeper_in_the_tree_is_stronger_and_speaks_of_its_own_directory() -> None:
    ignores = Ignores([Ignore(b"*.bin\n/a\n"), Ignore(b"!keep.bin\n/x\n", b"sub/")])
    assert ignores.leaves_out(b"sub/other.bin")
    assert not ignores.leaves_out(b"sub/keep.bin")
    assert ignores.leaves_out(b"keep.bin")
    assert ignores.leaves_out(b"sub/x") and not ignores.leaves_out(b"x")


def test_the_outermost_directory_that_is_left_out_is_named() -> None:
    ignores = Ignores([Ignore(b"data/\n")])
    assert ignores.left_out_parent(b"a/data/b/data/c") == b"a/data"
    assert ignores.left_out_parent(b"a/b") == b""


def test_bytes_that_are_no_text_match_as_bytes() -> None:
    assert Ignores([Ignore(b"\xff*\n")]).leaves_out(b"d/\xff\xfe")


@given(st.binary(max_size=200), st.binary(min_size=1, max_size=50))
def test_no_file_of_patterns_breaks_the_reader(text: bytes, path: bytes) -> None:
    Ignores([Ignore(text)]).leaves_out(path)
