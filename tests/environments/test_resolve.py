"""Resolving, by uv and by pip alike: what is declared becomes wheels in the home, once, or an error that helps."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from outlast.bundle.environment.record import read_manifest
from outlast.errors import Unreachable, UsageError
from outlast.store.registry import open_store
from tests.environments.conftest import find_uv
from tests.environments.laptop import FOREIGN, Laptop, run
from tests.environments.wheels import make_project, make_sdist, make_wheel

MINOR = f"{sys.version_info.major}{sys.version_info.minor}"


@pytest.fixture(params=["uv", "pip"])
def laptop(tmp_path: Path, links: Path, request: pytest.FixtureRequest) -> Laptop:
    if request.param == "uv":
        find_uv()
    one = Laptop(tmp_path, links, request.param)
    one.write("train.py", "import alpha\n")
    make_wheel(links, "alpha", "1.0", requires=["beta>=1"])
    make_wheel(links, "alpha", "2.0", requires=["beta>=1"])
    make_wheel(links, "beta", "1.5")
    return one


def test_what_is_declared_and_what_that_needs_is_installed(laptop: Laptop) -> None:
    laptop.write("requirements.txt", "alpha<2\n")
    equipment = laptop.equip(requirements=("requirements.txt",))
    assert equipment.packages == ("alpha 1.0", "beta 1.5")
    assert equipment.resolver.startswith(laptop.resolver)
    root = laptop.place(equipment)
    assert run(root, "import alpha, beta; print(alpha.version, beta.version)") == "1.0 1.5"


def test_both_resolvers_make_the_same_environment(tmp_path: Path, laptop: Laptop, links: Path) -> None:
    laptop.write("requirements.txt", "alpha\n")
    digest = laptop.equip(requirements=("requirements.txt",)).environment
    other = Laptop(laptop.root, links, "pip" if laptop.resolver == "uv" else "uv", home=str(tmp_path / "other-home"))
    again = other.equip(requirements=("requirements.txt",))
    assert again.resolver.startswith(other.resolver)
    assert again.environment == digest


def test_what_has_only_sources_is_built_once_at_submit(laptop: Laptop, tmp_path: Path, links: Path) -> None:
    make_sdist(links, tmp_path / "sources", "gamma", "3.0", requires=["beta"])
    laptop.write("requirements.txt", "gamma\n")
    laptop.write("train.py", "import gamma\n")
    equipment = laptop.equip(requirements=("requirements.txt",))
    assert equipment.packages == ("beta 1.5", "gamma 3.0")
    assert run(laptop.place(equipment), "import gamma; print(gamma.built)") == "True"


def test_a_local_project_is_built_and_follows_its_content(laptop: Laptop) -> None:
    make_project(laptop.work / "library", "library", requires=["beta"])
    laptop.write("requirements.txt", "./library\n")
    laptop.write("train.py", "import library\n")
    first = laptop.equip(requirements=("requirements.txt",))
    (laptop.work / "library" / "code" / "library.py").write_text("changed = 7\n")
    second = laptop.equip(requirements=("requirements.txt",))
    assert first.environment != second.environment
    assert run(laptop.place(second), "import library, beta; print(library.changed)") == "7"


def test_a_projects_own_sources_are_obeyed(laptop: Laptop) -> None:
    make_project(laptop.root / "library", "library", requires=["beta"])
    sources = '[tool.uv.sources]\nlibrary = { path = "../library" }\n'
    laptop.write("pyproject.toml", f'[project]\nname = "mine"\ndependencies = ["library>=1"]\n{sources}')
    laptop.write("train.py", "import library\n")
    first = laptop.equip()
    assert first.packages == ("beta 1.5", "library 1.0")
    (laptop.root / "library" / "code" / "library.py").write_text("changed = 7\n")
    assert run(laptop.place(laptop.equip()), "import library; print(library.changed)") == "7"


def test_the_second_job_does_not_resolve_again(laptop: Laptop, links: Path) -> None:
    laptop.write("requirements.txt", "alpha\n")
    first = laptop.equip(requirements=("requirements.txt",))
    for wheel in links.iterdir():
        wheel.unlink()
    second = laptop.equip(requirements=("requirements.txt",))
    assert second.environment == first.environment
    assert (bool(first.resolver), second.resolver) == (True, "")


def test_a_newer_version_does_not_change_what_was_resolved(laptop: Laptop, links: Path) -> None:
    laptop.write("requirements.txt", "alpha\n")
    first = laptop.equip(requirements=("requirements.txt",))
    make_wheel(links, "alpha", "3.0")
    assert laptop.equip(requirements=("requirements.txt",)).environment == first.environment


def test_the_scripts_own_block_and_a_locks_versions_are_obeyed(laptop: Laptop) -> None:
    laptop.write("train.py", '# /// script\n# dependencies = ["alpha==1.0"]\n# ///\nimport alpha\n')
    assert laptop.equip().packages == ("alpha 1.0", "beta 1.5")
    laptop.write("train.py", "import alpha\n")
    laptop.write("pyproject.toml", '[project]\nname = "x"\ndependencies = ["alpha"]\n')
    registry = 'source = { registry = "https://example.invalid/simple" }'
    laptop.write("uv.lock", f'[[package]]\nname = "alpha"\nversion = "1.0"\n{registry}\n')
    equipment = laptop.equip()
    assert equipment.packages == ("alpha 1.0", "beta 1.5")
    assert equipment.environment is not None and equipment.environment.source == "pyproject.toml, uv.lock"


def test_a_wheel_that_is_not_the_locked_one_is_refused(laptop: Laptop) -> None:
    laptop.write("pyproject.toml", '[project]\nname = "x"\ndependencies = ["alpha"]\n')
    registry = 'source = { registry = "https://example.invalid/simple" }'
    wheels = '[{ url = "https://example.invalid/alpha-1.0-py3-none-any.whl", hash = "sha256:00" }]'
    laptop.write("uv.lock", f'[[package]]\nname = "alpha"\nversion = "1.0"\n{registry}\nwheels = {wheels}\n')
    with pytest.raises(UsageError, match=r"not the file that `uv\.lock` names"):
        laptop.equip()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no-such-package-anywhere", "no-such-package-anywhere"),
        ("alpha==1.0\nalpha==2.0", "alpha"),
        ("alpha==9.9", "alpha"),
        ("needs-newer", "needs"),
        ("this is no requirement !", ""),
    ],
)
def test_what_cannot_be_resolved_is_an_error_that_helps(laptop: Laptop, links: Path, line: str, said: str) -> None:
    make_wheel(links, "needs_newer", requires_python=">=3.99")
    laptop.write("requirements.txt", f"{line}\n")
    with pytest.raises((UsageError, Unreachable)) as error:
        laptop.equip(requirements=("requirements.txt",))
    assert said in error.value.message
    assert error.value.hint and "nothing is being spent" in error.value.state
    assert len(error.value.message) < 3000


def test_nothing_is_left_of_what_could_not_be_resolved(laptop: Laptop) -> None:
    laptop.write("requirements.txt", "no-such-package-anywhere\n")
    with pytest.raises((UsageError, Unreachable)):
        laptop.equip(requirements=("requirements.txt",))
    assert list((laptop.user_dir / "cache").glob(".resolve-*")) == []
    assert list(Path(laptop.root / "home").rglob("environments/*")) == []


def test_what_lies_in_the_directory_is_not_taken_for_a_module_of_pythons(laptop: Laptop) -> None:
    for name in ("random", "types", "pip", "json", "platform"):
        laptop.write(f"{name}.py", "raise SystemExit('shadowed')\n")
    laptop.write("requirements.txt", "alpha\n")
    assert laptop.equip(requirements=("requirements.txt",)).packages == ("alpha 2.0", "beta 1.5")


def test_for_another_kind_of_machine_its_wheels_are_chosen(laptop: Laptop, links: Path) -> None:
    machine = FOREIGN.removeprefix("linux-")
    here = os.uname().machine
    for tag in (f"cp{MINOR}-cp{MINOR}-manylinux_2_17_{machine}", f"cp{MINOR}-cp{MINOR}-manylinux_2_17_{here}"):
        make_wheel(links, "native", files={"native.py": f"tag = {tag!r}\n"}, tag=tag)
    laptop.write("requirements.txt", "native\nbeta\n")
    laptop.write("train.py", "import native\n")
    there = laptop.equip(on="other kind", requirements=("requirements.txt",))
    local = laptop.equip(requirements=("requirements.txt",))
    assert there.packages == local.packages == ("beta 1.5", "native 1.0")
    assert there.environment != local.environment
    wheels = [
        read_manifest(open_store(str(laptop.root / "home")), one.environment.digest).packages[1].wheel
        for one in (there, local)
        if one.environment
    ]
    assert machine in wheels[0] and here in wheels[1]


def test_what_was_compiled_here_for_a_machine_elsewhere_is_said(laptop: Laptop, links: Path) -> None:
    make_wheel(links, "compiled", tag=f"cp{MINOR}-cp{MINOR}-linux_{os.uname().machine}")
    laptop.write("requirements.txt", "compiled\nbeta\n")
    laptop.write("train.py", "import compiled\n")

    (warning,) = laptop.equip(on="elsewhere", requirements=("requirements.txt",)).warnings

    assert "compiled here: `compiled 1.0`; machines need" in warning
    assert laptop.equip(requirements=("requirements.txt",)).warnings == ()


def test_sources_are_not_built_for_another_kind_of_machine(laptop: Laptop, tmp_path: Path, links: Path) -> None:
    make_sdist(links, tmp_path / "sources", "gamma", "3.0")
    laptop.write("requirements.txt", "gamma\n")
    laptop.write("train.py", "import gamma\n")
    with pytest.raises(UsageError, match="gamma") as error:
        laptop.equip(on="other kind", requirements=("requirements.txt",))
    assert "--dir" in error.value.hint


def test_a_hostile_wheel_is_refused_before_it_is_shipped(laptop: Laptop, links: Path) -> None:
    make_wheel(links, "evil", files={"evil.py": ""}, unrecorded={"hidden.py": b"x"})
    laptop.write("requirements.txt", "evil\n")
    with pytest.raises(Exception, match="evil"):
        laptop.equip(requirements=("requirements.txt",))
    assert list(Path(laptop.root / "home").rglob("environments/*")) == []


def test_a_python_that_the_project_does_not_want_is_said(laptop: Laptop) -> None:
    laptop.write("train.py", '# /// script\n# requires-python = ">=3.99"\n# dependencies = []\n# ///\n')
    with pytest.raises(UsageError, match=r"needs Python >=3\.99") as error:
        laptop.equip()
    assert "--python 3.99" in error.value.hint


def test_an_index_that_cannot_be_reached_is_the_networks_fault(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = "http://127.0.0.1:9/simple"
    monkeypatch.setattr(
        "tests.environments.laptop.offline",
        lambda *_: {
            "PATH": f"{laptop.root / 'programs'}:/usr/bin:/bin",
            **({"UV_DEFAULT_INDEX": nowhere, "UV_HTTP_RETRIES": "0"} if laptop.resolver == "uv" else {}),
            **({"PIP_INDEX_URL": nowhere, "PIP_RETRIES": "0"} if laptop.resolver == "pip" else {}),
        },
    )
    (laptop.root / "programs").mkdir()
    (laptop.root / "programs" / "python3").symlink_to(Path(sys.executable).resolve())
    laptop.write("requirements.txt", "alpha\n")
    with pytest.raises(Unreachable) as error:
        laptop.equip(requirements=("requirements.txt",))
    assert error.value.exit_code == 6
