"""Urls of homes, and what opening one costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from outlast.errors import UsageError
from outlast.store.registry import EXAMPLES, SCHEMES, open_store


def test_a_path_and_its_file_url_are_one_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "my home"
    open_store(str(home)).put("k", b"v")
    for url in (
        str(home),
        f"file://{tmp_path}/my%20home",
        f"file://localhost{tmp_path}/my%20home",
        "~/my home",
        "my home",
        "./my home/",
    ):
        store = open_store(url)
        assert store.get("k").data == b"v"
        assert store.url == str(home)
        assert open_store(store.url).url == store.url


def test_opening_makes_nothing(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "home"))
    assert list(store.list("")) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["gcs://bucket", "s3://bucket/x", "http://host/", "FILE:///x", "c:\\home"])
def test_a_scheme_that_is_not_known_is_answered_with_those_that_are(url: str) -> None:
    with pytest.raises(UsageError, match="is not known") as caught:
        open_store(url)
    assert url in str(caught.value)
    assert all(EXAMPLES[scheme] in caught.value.hint for scheme in SCHEMES)


@pytest.mark.parametrize("url", ["", "file://", "file://other-host/x", "file:relative", "file:///x?y", "a\0b"])
def test_what_names_no_directory_of_this_machine_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        open_store(url)


def test_every_scheme_has_an_example() -> None:
    assert set(EXAMPLES) == set(SCHEMES)


def test_the_registry_loads_a_store_only_when_it_is_asked_for_and_never_a_third_party() -> None:
    program = """
import sys
import outlast.store.registry
assert not {"outlast.store.directory", "outlast.store.memory", "urllib.parse", "pathlib"} & set(sys.modules) - before
outlast.store.registry.open_store("/tmp/nowhere")
assert "outlast.store.directory" in sys.modules
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
assert loaded <= set(sys.stdlib_module_names) | {"outlast"}, loaded
assert not {"tempfile", "threading", "logging", "asyncio", "socket"} & (set(sys.modules) - before), sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", f"import sys\nbefore = set(sys.modules)\n{program}"], check=True)
