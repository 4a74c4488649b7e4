"""Which Python and which packages: decided by what is declared, what is active, and where the job runs; and always said why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from outlast.bundle.python import choose_python
from outlast.engines.compute.told import ENVIRONMENT_PYTHON
from outlast.errors import NotFound, UsageError
from tests.environments.conftest import BARE, find_uv
from tests.environments.laptop import Laptop, run
from tests.environments.wheels import make_project, make_wheel

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def laptop(tmp_path: Path, links: Path) -> Laptop:
    find_uv()
    one = Laptop(tmp_path, links, "uv")
    make_wheel(links, "alpha", "1.0", requires=["beta"])
    make_wheel(links, "alpha", "2.0", requires=["beta"])
    make_wheel(links, "beta")
    make_wheel(links, "delta", files={"different/__init__.py": "version = 'delta'\n"})
    return one


@pytest.fixture
def active(laptop: Laptop) -> Path:
    """A `.venv` with some packages, made by uv."""
    made = laptop.work / ".venv"
    environ = {**laptop.world().environ, "VIRTUAL_ENV": str(made)}
    uv = find_uv()
    subprocess.run([uv, "venv", "-q", "--python", str(BARE), str(made)], check=True, env=environ)
    subprocess.run([uv, "pip", "install", "-q", "alpha==1.0", "delta"], check=True, env=environ)
    return made


def test_an_active_environment_is_used_as_it_is(laptop: Laptop, active: Path) -> None:
    laptop.write("train.py", "import alpha, different\n")
    laptop.write("requirements.txt", "no-such-package-anywhere\n")
    equipment = laptop.equip()
    assert (equipment.environment, equipment.python) == (None, str(active / "bin" / "python"))
    assert equipment.interpreter.why == ".venv"


def test_without_one_what_lies_there_is_installed(laptop: Laptop) -> None:
    laptop.write("train.py", "import alpha\n")
    laptop.write("requirements.txt", "alpha\n")
    equipment = laptop.equip()
    assert equipment.environment is not None and equipment.environment.source == "requirements.txt"
    assert equipment.python == str(BARE)


def test_an_images_environment_is_used_unless_packages_are_declared_for_this_very_job(laptop: Laptop) -> None:
    laptop.write("train.py", "import of_the_image\n")
    laptop.write("requirements.txt", "no-such-package-anywhere\n")
    laptop.write("own.txt", "alpha\n")
    laptop.python = ""
    equipment = laptop.equip(image_python="3.12")
    assert (equipment.environment, equipment.python) == (None, ENVIRONMENT_PYTHON)
    assert (equipment.interpreter.version, equipment.interpreter.why) == ("3.12", "the image's environment")
    laptop.write("train.py", "import alpha\n")
    own = laptop.equip(image_python="3.12", requirements=("own.txt",))
    assert own.environment is not None and own.python != ENVIRONMENT_PYTHON


def test_what_is_asked_for_is_installed_beside_an_active_environment(laptop: Laptop, active: Path) -> None:
    laptop.write("train.py", "import alpha\n")
    laptop.write("more.txt", "alpha==2.0\n")
    equipment = laptop.equip(requirements=("more.txt",))
    assert equipment.packages == ("alpha 2.0", "beta 1.0")
    root = laptop.place(equipment)
    assert run(root, "import alpha; print(alpha.version)") == "2.0"
    assert run(active, "import alpha; print(alpha.version)") == "1.0", "which stays as it is"


def test_on_another_computer_what_lies_there_is_installed_too(laptop: Laptop, active: Path) -> None:
    laptop.write("train.py", "import alpha\n")
    laptop.write("requirements.txt", "alpha>1\n")
    assert laptop.equip(on="elsewhere").packages == ("alpha 2.0", "beta 1.0")


def test_nothing_declared_and_another_computer_what_is_imported_is_frozen(laptop: Laptop, active: Path) -> None:
    laptop.write("train.py", "import helper\nfrom different import version\n")
    laptop.write("helper.py", "import alpha, json\n")
    equipment = laptop.equip(on="elsewhere")
    assert equipment.frozen
    assert equipment.packages == ("alpha 1.0", "beta 1.0", "delta 1.0")
    assert run(laptop.place(equipment), "import alpha, different; print(alpha.version)") == "1.0"


def test_what_is_not_imported_is_not_frozen(laptop: Laptop, active: Path) -> None:
    laptop.write("train.py", "import different\n")
    assert laptop.equip(on="elsewhere").packages == ("delta 1.0",)


def test_a_project_that_is_installed_from_its_directory_is_frozen_as_it_is(laptop: Laptop, active: Path) -> None:
    project = make_project(laptop.root / "library", "library", requires=["beta"])
    environ = {**laptop.world().environ, "VIRTUAL_ENV": str(active)}
    subprocess.run([find_uv(), "pip", "install", "-q", str(project)], check=True, env=environ)
    laptop.write("train.py", "import library\n")
    equipment = laptop.equip(on="elsewhere")
    assert equipment.packages == ("beta 1.0", "library 1.0")
    assert run(laptop.place(equipment), "import library; print(library.built)") == "True"


def test_nothing_imported_and_nothing_declared_is_no_environment(laptop: Laptop, active: Path) -> None:
    laptop.write("train.py", "import json\n")
    assert laptop.equip(on="elsewhere").environment is None


def test_the_python_that_was_asked_for_runs_it_elsewhere_too(laptop: Laptop) -> None:
    laptop.write("train.py", "import json\n")
    assert laptop.equip(on="elsewhere").elsewhere  # whichever its machine has
    laptop.python = sys.executable
    equipment = laptop.equip(on="elsewhere")
    assert equipment.environment is not None and not equipment.elsewhere
    assert equipment.environment.python_version == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert equipment.environment.packages == 0
    assert run(laptop.place(equipment), "print(6 * 7)") == "42"


def test_an_import_that_nothing_provides_is_refused(laptop: Laptop, active: Path) -> None:
    laptop.write("train.py", "import helper\n")
    laptop.write("helper.py", "import json\nimport sklearn.svm\n")
    with pytest.raises(UsageError) as error:
        laptop.equip()
    assert "`helper.py` line 2 imports `sklearn.svm`" in error.value.message
    assert "scikit-learn" in error.value.hint and "--requirements" in error.value.hint
    assert not (laptop.root / "home" / "environments").exists()


def test_what_is_declared_must_provide_what_is_imported(laptop: Laptop, active: Path) -> None:
    laptop.write("train.py", "import different\n")
    laptop.write("more.txt", "alpha\n")
    with pytest.raises(UsageError, match="nothing that is declared provides"):
        laptop.equip(requirements=("more.txt",))
    assert not list((laptop.root / "home").rglob("environments/*")), "and nothing was shipped"


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    import nowhere\nexcept ImportError:\n    nowhere = None\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import nowhere\n",
        "import outlast, json, sys\n",
        "import folder.module\n",
        "import sys\nif sys.version_info < (3, 8):\n    import nowhere\n",
        "import compiled\n",
    ],
)
def test_what_does_not_fail_is_not_refused(laptop: Laptop, active: Path, code: str) -> None:
    laptop.write("train.py", code)
    laptop.write("folder/module.py", "")
    laptop.write("compiled.cpython-311-x86_64-linux-gnu.so", "")
    assert laptop.equip().warnings == ()


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n    import nowhere\n",
        "import sys\nsys.path.append('/somewhere')\nimport nowhere\n",
        "import os\nif os.environ.get('DEBUG'):\n    import nowhere\n",
    ],
)
def test_what_may_fail_is_a_warning(laptop: Laptop, active: Path, code: str) -> None:
    laptop.write("train.py", code)
    (warning,) = laptop.equip().warnings
    assert "`nowhere`" in warning and "`train.py` line" in warning


def test_a_setup_may_provide_what_nothing_else_does(laptop: Laptop, active: Path) -> None:
    laptop.write("train.py", "import nowhere\n")
    laptop.write("setup.sh", "true\n")
    equipment = laptop.equip(setup="setup.sh")
    assert equipment.environment is not None and equipment.environment.packages == 0
    assert len(equipment.warnings) == 1


def test_a_setup_alone_is_a_layer_above_what_is_active(laptop: Laptop, active: Path) -> None:
    laptop.write("train.py", "import alpha\n")
    laptop.write("setup.sh", "true\n")
    root = laptop.place(laptop.equip(setup="setup.sh"))
    assert run(root, "import sys, alpha; print(alpha.version, sys.prefix)") == f"1.0 {root}"


def test_a_setup_on_another_computer_has_what_is_frozen_and_nothing_of_this_one(laptop: Laptop, active: Path) -> None:
    laptop.write("train.py", "import different\nimport nowhere\n")
    laptop.write("setup.sh", "true\n")
    equipment = laptop.equip(on="elsewhere", setup="setup.sh")
    assert equipment.packages == ("delta 1.0",)
    laptop.write("train.py", "")
    root = laptop.place(laptop.equip(on="elsewhere", setup="setup.sh"))
    assert run(root, "import importlib.util; print(importlib.util.find_spec('different'))") == "None"


def test_a_setup_that_is_not_there_is_said(laptop: Laptop) -> None:
    laptop.write("train.py", "")
    with pytest.raises(NotFound, match=r"--setup nope\.sh"):
        laptop.equip(setup="nope.sh")
    (laptop.root / "outside.sh").write_text("")
    for outside in ("../outside.sh", str(laptop.root / "outside.sh")):
        with pytest.raises(UsageError, match="lies outside"):
            laptop.equip(setup=outside)


def test_a_setup_that_is_typed_from_the_root_is_answered_with_its_name(laptop: Laptop) -> None:
    laptop.write("train.py", "")
    laptop.write("more/setup.sh", "")
    (laptop.root / "linked").symlink_to(laptop.work)
    for work in (laptop.work, laptop.root / "linked"):
        with pytest.raises(UsageError) as refused:
            laptop.equip(setup=str(work / "more" / "setup.sh"))
        assert refused.value.hint == "`--setup more/setup.sh`"


def test_a_python_can_be_chosen(laptop: Laptop, tmp_path: Path) -> None:
    environ = laptop.world().environ
    (tmp_path / "programs" / f"python{VERSION}").symlink_to(BARE)
    by_version = choose_python(laptop.work, environ, asked=VERSION)
    assert by_version.version.startswith(VERSION) and not by_version.is_environment
    assert by_version.why == f"--python {VERSION}"
    assert choose_python(laptop.work, environ, asked=str(BARE)).path == str(BARE)
    assert choose_python(laptop.work, environ, asked=sys.prefix).path == os.path.join(sys.prefix, "bin", "python")
    for wrong in ("3.99", "nope", "./train"):
        with pytest.raises(NotFound):
            choose_python(laptop.work, environ, asked=wrong)


def test_the_check_of_imports_starts_no_process_the_second_time(
    laptop: Laptop, active: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop.write("train.py", "import alpha, json\nimport helper\n")
    laptop.write("helper.py", "import different\n")
    laptop.equip()
    monkeypatch.setattr("subprocess.run", lambda *_, **__: 1 / 0)
    monkeypatch.setattr("ast.parse", lambda *_, **__: 1 / 0)
    laptop.equip()
