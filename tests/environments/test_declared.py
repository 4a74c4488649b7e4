"""What is declared is found where people write it down, in an order that does not surprise."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.bundle.environment.declared import Declared, declared_around, declared_explicitly
from outlast.bundle.environment.script_block import read_block
from outlast.bundle.environment.versions import allows, lowest
from outlast.errors import NotFound, UsageError
from tests.environments.wheels import make_project

BLOCK = '# /// script\n# requires-python = ">=3.10"\n# dependencies = [\n#   "alpha>=1",\n#   "beta",\n# ]\n# ///\nimport alpha\n'
PROJECT = """
[project]
name = "My.Project"
requires-python = ">=3.9"
dependencies = ["alpha>=1"]
[project.optional-dependencies]
train = ["beta"]
plot = ["gamma"]
all = ["my-project[train,plot]"]
"""
LOCK = """
version = 1
[[package]]
name = "my-project"
version = "0.1"
source = { editable = "." }
[[package]]
name = "alpha"
version = "1.5"
source = { registry = "https://example.invalid/simple" }
wheels = [{ url = "https://example.invalid/alpha-1.5-py3-none-any.whl", hash = "sha256:aa" }]
[[package]]
name = "numpy"
version = "1.0"
source = { registry = "https://example.invalid/simple" }
[[package]]
name = "numpy"
version = "2.0"
source = { registry = "https://example.invalid/simple" }
"""


def explicit(
    directory: Path, *, script: str = "train.py", requirements: tuple[str, ...] = (), extras: tuple[str, ...] = ()
) -> Declared | None:
    return declared_explicitly(directory, script, requirements, extras)


def test_a_script_that_declares_nothing_declares_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import os\n")
    assert explicit(tmp_path) is None
    assert declared_around(tmp_path) is None


def test_the_scripts_own_block_counts(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"#!/usr/bin/env python3\n{BLOCK}")
    found = explicit(tmp_path)
    assert found is not None
    assert (found.lines, found.requires_python, found.source) == (("alpha>=1", "beta"), ">=3.10", "train.py (PEP 723)")


def test_outlast_itself_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        '# /// script\n# dependencies = ["outlast>=0.1", "outlast-plugin", "alpha"]\n# ///\n'
    )
    found = explicit(tmp_path)
    assert found is not None and found.lines == ("outlast-plugin", "alpha")


def test_options_come_before_the_scripts_own_block(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BLOCK)
    (tmp_path / "more.txt").write_text("gamma\n")
    found = explicit(tmp_path, requirements=("more.txt",))
    assert found is not None
    assert (found.files, found.lines, found.source) == ((tmp_path / "more.txt",), (), "more.txt")


def test_requirements_and_extras_go_together(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("gamma\n")
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    found = explicit(tmp_path, requirements=("more.txt",), extras=("train",))
    assert found is not None
    assert (found.lines, found.source) == (("alpha>=1", "beta"), "more.txt, pyproject.toml [train]")


def test_extras_that_name_extras_are_those(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    found = explicit(tmp_path, extras=("all",))
    assert found is not None and found.lines == ("alpha>=1", "beta", "gamma")


def test_an_extra_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    with pytest.raises(UsageError, match="no extra `nope`") as error:
        explicit(tmp_path, extras=("nope",))
    assert "`all`, `plot`, `train`" in error.value.hint


def test_extras_without_a_project_and_files_that_are_not_there_are_errors(tmp_path: Path) -> None:
    (tmp_path / "requirements-gpu.txt").write_text("")
    with pytest.raises(NotFound, match=r"no `pyproject\.toml`"):
        explicit(tmp_path, extras=("train",))
    with pytest.raises(NotFound, match="no such file") as error:
        explicit(tmp_path, requirements=("nope.txt",))
    assert "requirements-gpu.txt" in error.value.hint


def test_a_lock_gives_exact_versions_and_hashes(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "uv.lock").write_text(LOCK)
    found = declared_around(tmp_path)
    assert found is not None
    assert found.source == "pyproject.toml, uv.lock"
    assert found.constraints == ("alpha==1.5",), "what is locked twice is the resolver's choice"
    assert found.hashes == {"alpha-1.5-py3-none-any.whl": "aa"}


def test_a_project_comes_before_requirements_that_lie_around(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("gamma\n")
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\n")
    first = declared_around(tmp_path)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    second = declared_around(tmp_path)
    assert first is not None and first.source == "requirements.txt"
    assert second is not None and second.source == "pyproject.toml"


def test_requirements_of_nothing_but_words_declare_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("# nothing yet\n\n")
    assert declared_around(tmp_path) is None


@pytest.mark.parametrize("layout", ["src", "."])
def test_a_projects_own_package_is_on_the_path(tmp_path: Path, layout: str) -> None:
    (tmp_path / layout / "my_project").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    found = declared_around(tmp_path)
    assert found is not None and found.paths == (layout,)


SOURCES = """
[project]
name = "mine"
dependencies = ["alpha>=1", "library[fast]>=2; python_version > '3'", "shared", "far", "tagged", "plain"]
[tool.uv.sources]
library = { path = "../library", editable = true }
shared = { workspace = true }
far = { url = "https://example.invalid/far-1.0-py3-none-any.whl" }
tagged = { git = "https://example.invalid/tagged", tag = "v1", subdirectory = "python" }
plain = { index = "torch" }
[tool.uv.workspace]
members = ["packages/*"]
"""


def test_what_comes_from_elsewhere_comes_from_there(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "packages" / "one").mkdir(parents=True)
    (project / "packages" / "one" / "pyproject.toml").write_text('[project]\nname = "Shared"\n')
    (project / "pyproject.toml").write_text(SOURCES)
    found = declared_around(project)
    assert found is not None
    assert found.lines == (
        "alpha>=1",
        f"library[fast] @ {(tmp_path / 'library').as_uri()} ; python_version > '3'",
        f"shared @ {(project / 'packages' / 'one').as_uri()}",
        "far @ https://example.invalid/far-1.0-py3-none-any.whl",
        "tagged @ git+https://example.invalid/tagged@v1#subdirectory=python",
        "plain",
    )


def content(directory: Path) -> str:
    found = explicit(directory, requirements=("requirements.txt",))
    assert found is not None
    return found.content


def test_equal_content_is_equal_wherever_it_lies(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "base.txt").write_text("alpha\n")
        (tmp_path / name / "requirements.txt").write_text("-r base.txt\nbeta\n")
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_what_a_file_includes_is_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "base.txt").write_text("alpha\n")
    (tmp_path / "limits.txt").write_text("beta<2\n")
    (tmp_path / "requirements.txt").write_text("-r base.txt\n--constraint=limits.txt # why\nbeta\n")
    seen = {content(tmp_path)}
    (tmp_path / "base.txt").write_text("alpha>1\n")
    seen.add(content(tmp_path))
    (tmp_path / "limits.txt").write_text("beta<3\n")
    seen.add(content(tmp_path))
    assert len(seen) == 3


def test_files_that_include_each_other_have_an_end(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("-r other.txt\n")
    (tmp_path / "other.txt").write_text("-r requirements.txt\nalpha\n")
    assert content(tmp_path)


def test_an_included_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("-r nope.txt\n")
    with pytest.raises(NotFound, match=r"nope\.txt"):
        content(tmp_path)


@pytest.mark.parametrize("line", ["./library", "-e ./library", "library @ {file}", "--editable=library/"])
def test_a_local_project_is_its_content(tmp_path: Path, line: str) -> None:
    make_project(tmp_path / "library", "library")
    url = (tmp_path / "library").as_uri()
    (tmp_path / "requirements.txt").write_text(line.replace("{file}", url) + "\n")
    before = content(tmp_path)
    (tmp_path / "library" / "code" / "library.py").write_text("changed = True\n")
    assert content(tmp_path) != before


@pytest.mark.parametrize(
    "text",
    ['# /// script\n# dependencies = "alpha"\n# ///\n', "# /// script\n# dependencies = [\n# ///\n", BLOCK + BLOCK],
)
def test_a_block_that_cannot_be_read_is_said_to_be_wrong(tmp_path: Path, text: str) -> None:
    (tmp_path / "train.py").write_text(text)
    with pytest.raises(UsageError):
        read_block(tmp_path / "train.py")


def test_a_block_with_a_windows_end_of_line_is_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(BLOCK.replace("\n", "\r\n").encode())
    block = read_block(tmp_path / "train.py")
    assert block is not None and block.dependencies == ("alpha>=1", "beta")


@pytest.mark.parametrize(
    ("specifier", "version", "answer"),
    [
        (">=3.10", "3.11.7", True),
        (">=3.12", "3.11.7", False),
        (">=3.10,<3.11", "3.11.0", False),
        ("<=3.11", "3.11.0", True),
        ("==3.11.*", "3.11.7", True),
        ("!=3.11.*", "3.11.7", False),
        ("~=3.10", "3.12.1", True),
        ("~=3.10.2", "3.12.1", False),
        ("", "3.11.7", True),
        ("what is this", "3.11.7", True),
    ],
)
def test_a_version_of_python_is_compared_as_people_mean_it(specifier: str, version: str, answer: bool) -> None:
    assert allows(specifier, version) is answer


def test_the_version_to_offer_is_the_lowest_that_will_do() -> None:
    assert (lowest(">=3.12,<4"), lowest("<3.9")) == ("3.12", "")


SETUP = """\
from setuptools import find_packages, setup
raise SystemExit("it is read, and never run")
BASE = ["alpha>=1"]
setup(
    name="my-project", packages=find_packages(), python_requires=">=3.10",
    install_requires=BASE + ["beta"], extras_require={"cpu": "delta", "gpu": ["gamma"], "more": ("epsilon",)},
)
"""
SETUP_CFG = """\
[metadata]
name = my-project
[options]
install_requires =
    alpha>=1
    # a comment
    beta; python_version < "4"
[options.extras_require]
gpu = gamma; delta
"""


def test_a_setup_py_is_read_and_never_run(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(SETUP)
    (tmp_path / "my_project").mkdir()

    found = declared_around(tmp_path)
    more = explicit(tmp_path, extras=("more",))

    assert found is not None and more is not None
    assert (found.lines, found.source) == (("alpha>=1", "beta"), "setup.py")
    assert (found.requires_python, found.paths) == (">=3.10", (".",))
    assert (more.lines, more.source) == (("alpha>=1", "beta", "epsilon"), "setup.py [more]")
    (tmp_path / "requirements.txt").write_text("gamma\n")
    around = declared_around(tmp_path)
    assert around is not None and around.source == "requirements.txt"


def test_a_setup_cfg_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").write_text(SETUP_CFG)
    (tmp_path / "setup.py").write_text("from setuptools import setup\nsetup()\n")

    found = explicit(tmp_path, extras=("gpu",))

    assert found is not None
    assert found.lines == ("alpha>=1", 'beta; python_version < "4"', "gamma", "delta")


@pytest.mark.parametrize("computed", ["open('x').read().split()", "[*NAMES]", "NAMES", "['a'] + 1", "X"])
def test_a_setup_py_that_works_out_what_it_needs_is_said_to_do_so(tmp_path: Path, computed: str) -> None:
    (tmp_path / "setup.py").write_text(f"from setuptools import setup\nX = X\nsetup(install_requires={computed})\n")

    assert declared_around(tmp_path) is None
    with pytest.raises(UsageError, match="works out what it needs") as error:
        explicit(tmp_path, extras=("more",))
    assert "--requirements" in error.value.hint


def test_an_image_has_the_extra_that_is_called_like_its_variant(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(SETUP)

    on_gpus = declared_around(tmp_path, "gpu")
    with_more = declared_explicitly(tmp_path, "train.py", (), ("more",), "cpu")
    twice = declared_explicitly(tmp_path, "train.py", (), ("gpu",), "gpu")

    assert on_gpus is not None and with_more is not None and twice is not None
    assert (on_gpus.lines, on_gpus.source) == (("alpha>=1", "beta", "gamma"), "setup.py [gpu]")
    assert with_more.lines == ("alpha>=1", "beta", "delta", "epsilon")
    assert twice.source == "setup.py [gpu]"
