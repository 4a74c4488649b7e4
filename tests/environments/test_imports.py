"""Imports are seen by a file's syntax, through the bundle's own modules, and each as surely as it is carried out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from outlast.bundle.environment.imports import Surely, imports_of
from outlast.bundle.environment.interpreter import Facts, facts_of
from outlast.bundle.environment.provided import likely_package, provides
from outlast.bundle.environment.reach import Reach, Reached


def found(source: str, *, is_target: bool = True) -> dict[str, Surely]:
    return {one.module: one.surely for one in imports_of(source.encode(), is_target=is_target)}


@pytest.mark.parametrize(
    ("source", "surely"),
    [
        ("import a", Surely.YES),
        ("import a as b", Surely.YES),
        ("from a import b", Surely.YES),
        ("with open(x):\n import a", Surely.YES),
        ("class C:\n import a", Surely.YES),
        ("if __name__ == '__main__':\n import a", Surely.YES),
        ("if TYPE_CHECKING:\n pass\nelse:\n import a", Surely.YES),
        ("try:\n import a\nexcept OSError:\n pass", Surely.YES),
        ("def f():\n import a", Surely.PERHAPS),
        ("async def f():\n import a", Surely.PERHAPS),
        ("if debug:\n import a", Surely.PERHAPS),
        ("if sys.platform == 'win32':\n import a", Surely.GUARDED),
        ("if sys.version_info < (3, 11):\n import a\nelse:\n import b", Surely.GUARDED),
        ("for x in y:\n import a", Surely.PERHAPS),
        ("match x:\n case 1:\n  import a", Surely.PERHAPS),
        ("try:\n pass\nexcept OSError:\n import a", Surely.PERHAPS),
        ("try:\n import a\nexcept ImportError:\n a = None", Surely.GUARDED),
        ("try:\n import a\nexcept (OSError, ModuleNotFoundError):\n a = None", Surely.GUARDED),
        ("try:\n import a\nexcept:\n a = None", Surely.GUARDED),
        ("try:\n import x\nexcept ImportError:\n import a", Surely.GUARDED),
        ("with contextlib.suppress(ImportError):\n import a", Surely.GUARDED),
        ("def f():\n try:\n  import a\n except Exception:\n  pass", Surely.GUARDED),
    ],
)
def test_an_import_is_as_sure_as_what_it_stands_in(source: str, surely: Surely) -> None:
    assert found(source)["a"] is surely


@pytest.mark.parametrize("test", ["TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING or False"])
def test_imports_for_types_alone_do_not_count(test: str) -> None:
    assert "a" not in found(f"import typing as t\nif {test}:\n import a\n")


def test_what_stands_behind_main_counts_for_the_target_alone() -> None:
    source = "if __name__ == '__main__':\n import a"
    assert found(source, is_target=False)["a"] is Surely.PERHAPS


@pytest.mark.parametrize("source", ["import (", "import a\0", "x = 'import a'", "# import a", ""])
def test_what_is_no_import_is_none(source: str) -> None:
    assert found(source) == {}


def write(directory: Path, **files: str) -> None:
    for name, text in files.items():
        path = directory / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def reach(directory: Path, start: str = "train.py", cache: Path | None = None) -> Reached:
    return Reach(directory, [directory], cache).from_file(directory / start)


def outside(reached: Reached) -> dict[str, tuple[str, int, Surely]]:
    return {one.module: (one.path, one.line, one.surely) for one in reached.outside}


def test_the_bundles_own_modules_are_followed(tmp_path: Path) -> None:
    write(tmp_path, train="import model\nfrom pkg.sub import thing\n", model="import numpy\n")
    (tmp_path / "pkg" / "sub").mkdir(parents=True)
    (tmp_path / "pkg" / "__init__.py").write_text("import one\n")
    (tmp_path / "pkg" / "sub" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "sub" / "thing.py").write_text("from ..other import x\nfrom . import near\nimport two\n")
    (tmp_path / "pkg" / "sub" / "near.py").write_text("import three\n")
    (tmp_path / "pkg" / "other.py").write_text("\n\nimport four\n")
    seen = outside(reach(tmp_path))
    assert seen.keys() == {"numpy", "one", "two", "three", "four"}
    assert seen["four"] == ("pkg/other.py", 3, Surely.YES)


def test_a_module_that_is_perhaps_imported_imports_perhaps(tmp_path: Path) -> None:
    write(tmp_path, train="def f():\n    import model\n", model="import numpy\n")
    assert outside(reach(tmp_path))["numpy"][2] is Surely.PERHAPS


def test_the_surest_of_several_imports_counts(tmp_path: Path) -> None:
    write(
        tmp_path, train="try:\n    import numpy\nexcept ImportError:\n    pass\nimport model\n", model="import numpy\n"
    )
    assert outside(reach(tmp_path))["numpy"] == ("model.py", 1, Surely.YES)


def test_modules_that_import_each_other_have_an_end(tmp_path: Path) -> None:
    write(tmp_path, train="import a\n", a="import b\nimport os\n", b="import a\nimport train\n")
    assert outside(reach(tmp_path)).keys() == {"os"}


def test_a_directory_of_data_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "one.csv").write_text("")
    write(tmp_path, train="import datasets\n")
    assert outside(reach(tmp_path)).keys() == {"datasets"}


def test_what_cannot_be_read_holds_no_modules(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o000)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "__init__.py")
    os.mkfifo(tmp_path / "stuck.py")
    write(tmp_path, train="import closed, stuck, pipe\n")
    assert outside(reach(tmp_path)).keys() <= {"closed", "stuck", "pipe"}, "and nobody waits for a pipe"


def test_a_file_that_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, train="import model\nimport torch\n", model="import numpy\n")
    cache = tmp_path / "cache"
    first = reach(tmp_path, cache=cache)
    monkeypatch.setattr("outlast.bundle.environment.reach.imports_of", lambda *_, **__: 1 / 0)
    assert reach(tmp_path, cache=cache) == first
    write(tmp_path, model="import scipy, numpy\n")
    with pytest.raises(ZeroDivisionError):
        reach(tmp_path, cache=cache)


@pytest.mark.parametrize("damage", ["", "[", "{}", '{"x": 1}', "[1]", "null"])
def test_a_damaged_cache_is_no_cache(tmp_path: Path, damage: str) -> None:
    write(tmp_path, train="import numpy\n")
    reach(tmp_path, cache=tmp_path / "cache")
    for path in (tmp_path / "cache").rglob("*.json"):
        path.write_text(damage)
    assert outside(reach(tmp_path, cache=tmp_path / "cache")).keys() == {"numpy"}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    return facts_of(sys.executable, tmp_path_factory.mktemp("cache"))


def test_an_interpreter_says_what_it_is(facts: Facts) -> None:
    assert facts.version == ".".join(map(str, sys.version_info[:3]))
    assert facts.base == os.path.realpath(sys.executable)
    assert "json" in facts.stdlib and "click" not in facts.stdlib


def test_it_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: Facts) -> None:
    assert facts_of(sys.executable, tmp_path) == facts
    monkeypatch.setattr("subprocess.run", lambda *_, **__: 1 / 0)
    assert facts_of(sys.executable, tmp_path) == facts


def test_what_is_installed_is_provided_and_what_is_not_is_not(facts: Facts) -> None:
    asked = {"json", "click", "no_such_module_anywhere"}
    assert provides(sys.executable, facts, asked, None) == {"json", "click"}


def test_what_is_found_by_code_of_an_installation_is_provided(tmp_path: Path) -> None:
    from outlast.bundle.environment.skeleton import make_skeleton

    root = tmp_path / "environment"
    root.mkdir()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    make_skeleton(root, os.path.realpath(sys.executable), version)
    packages = root / "lib" / f"python{version}" / "site-packages"
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "hidden.py").write_text("")
    (packages / "finder.pth").write_text(f"import sys; sys.path.append({str(tmp_path / 'far')!r})\n")
    python = str(root / "bin" / "python")
    facts = Facts(version, "", ("os",), (str(packages),), "")
    assert provides(python, facts, {"hidden", "nowhere"}, tmp_path / "cache") == {"hidden"}


def test_a_package_is_guessed_from_its_module() -> None:
    assert likely_package("cv2", "cv2") == "opencv-python-headless"
    assert likely_package("google", "google.cloud.storage") == "google-cloud-storage"
    assert likely_package("some_thing", "some_thing.x") == "some-thing"
