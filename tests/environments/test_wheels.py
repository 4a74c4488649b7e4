"""Wheels are installed by rules of our own: what is right ends where it belongs, what is not leads nowhere."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from outlast.bundle.environment.archive import Archive, modules_of
from outlast.bundle.environment.install import Site
from outlast.bundle.environment.names import name_and_version, normal
from outlast.bundle.environment.skeleton import make_skeleton
from outlast.errors import Damaged
from tests.environments.wheels import make_wheel, record_line

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
BASE = os.path.realpath(sys.executable)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "environment"
    path.mkdir()
    make_skeleton(path, BASE, VERSION)
    return path


def install(root: Path, *wheels: Path) -> Site:
    site = Site(root, VERSION, str(root / "bin" / "python"))
    for wheel in wheels:
        with Archive(wheel, wheel.name) as archive:
            site.install(archive)
    return site


def run(root: Path, *words: str) -> str:
    done = subprocess.run([*words], capture_output=True, text=True, env={"PATH": f"{root}/bin:/usr/bin:/bin"}, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_environment_without_packages_is_an_interpreter_of_its_own(root: Path) -> None:
    said = run(root, str(root / "bin" / "python"), "-c", "import sys; print(sys.prefix, sys.prefix != sys.base_prefix)")
    assert said == f"{root} True"


def test_what_a_wheel_brings_can_be_imported(root: Path, links: Path) -> None:
    install(root, make_wheel(links, "alpha", files={"alpha/__init__.py": "x = 1", "alpha/deep/data.txt": "text"}))
    code = "import alpha, importlib.metadata as m; print(alpha.x, m.version('alpha'), len(m.files('alpha')))"
    assert run(root, "python", "-c", code) == "1 1.0 6"


def test_entry_points_and_scripts_are_programs(root: Path, links: Path) -> None:
    wheel = make_wheel(
        links,
        "beta",
        files={
            "beta.py": "class A:\n    @staticmethod\n    def main(): print('main'); return 0\n",
            "beta-1.0.data/scripts/tell": "#!python\nprint('tell')\n",
            "beta-1.0.data/scripts/sh": "#!/bin/sh\necho sh\n",
        },
        entry_points="[console_scripts]\nbeta = beta:A.main\n[gui_scripts]\nbeta-gui = beta:A.main [extra]\n",
    )
    install(root, wheel)
    assert [run(root, name) for name in ("beta", "beta-gui", "tell", "sh")] == ["main", "main", "tell", "sh"]


def test_a_script_works_in_a_directory_whose_name_is_too_long_for_the_kernel(tmp_path: Path, links: Path) -> None:
    root = tmp_path / ("x" * 150) / "with space"
    root.mkdir(parents=True)
    make_skeleton(root, BASE, VERSION)
    wheel = make_wheel(
        links,
        "beta",
        files={"beta.py": "def main(): print('main')"},
        entry_points="[console_scripts]\nbeta = beta:main\n",
    )
    install(root, wheel)
    assert run(root, str(root / "bin" / "beta")) == "main"


def test_data_and_headers_have_their_places(root: Path, links: Path) -> None:
    files = {"c-1.0.data/data/share/c.txt": "1", "c-1.0.data/headers/c.h": "2", "c-1.0.data/platlib/c.py": "x = 3"}
    install(root, make_wheel(links, "c", files=files))
    assert (root / "share" / "c.txt").read_text() == "1"
    assert (root / "include" / "site" / f"python{VERSION}" / "c" / "c.h").read_text() == "2"
    assert run(root, "python", "-c", "import c; print(c.x)") == "3"


def test_what_was_executable_is(root: Path, links: Path) -> None:
    wheel = make_wheel(
        links, "d", files={"d/tool": "#!/bin/sh\n", "d/x.py": ""}, modes={"d/tool": stat.S_IFREG | 0o755}
    )
    site = install(root, wheel)
    assert os.access(site.packages / "d" / "tool", os.X_OK)
    assert not os.access(site.packages / "d" / "x.py", os.X_OK)


def test_two_wheels_with_one_file_are_installed_in_the_order_of_their_names(root: Path, links: Path) -> None:
    one = make_wheel(links, "one", files={"shared/__init__.py": "", "shared/one.py": ""})
    two = make_wheel(links, "two", files={"shared/__init__.py": "x = 2", "shared/two.py": ""})
    install(root, one, two)
    assert run(root, "python", "-c", "import shared.one, shared.two; print(shared.x)") == "2"


def test_modules_are_told_without_installing(links: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "single.py": "",
        "_fast.cpython-311-x86_64-linux-gnu.so": "",
        "e-1.0.data/purelib/other.py": "",
    }
    with Archive(wheel := make_wheel(links, "e", files=files), wheel.name) as archive:
        assert modules_of(archive) == ("_fast", "other", "pkg", "single")


def test_names_are_compared_in_their_normal_form() -> None:
    assert normal("Foo.bar__Baz") == "foo-bar-baz"
    assert name_and_version("Foo_Bar-1.2-1build-py3-none-any.whl") == ("foo-bar", "1.2")
    for wrong in ("foo.whl", "../foo-1.0-py3-none-any.whl", "foo-1.0-py3-none-any.zip", "a-b\n-c-d-e.whl"):
        with pytest.raises(ValueError):
            name_and_version(wrong)


HOSTILE_NAMES = [
    "../../outside.py",
    "/outside.py",
    "a/../../outside.py",
    "a\\..\\outside.py",
    "./x.py",
    "a//b.py",
    "x\x07.py",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_leads_out_of_the_environment(root: Path, links: Path, name: str) -> None:
    wheel = make_wheel(links, "evil", files={name: "x"})
    with pytest.raises(Damaged, match="no path inside a directory"):
        install(root, wheel)
    assert not list(links.parent.rglob("outside.py"))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO], ids=["link", "device", "pipe"])
def test_links_and_devices_are_not_made(root: Path, links: Path, kind: int) -> None:
    wheel = make_wheel(links, "evil", files={"link": "/etc/passwd"}, modes={"link": kind | 0o777})
    with pytest.raises(Damaged, match="a link or a device"):
        install(root, wheel)


def test_an_archive_that_swells_is_not_unpacked(root: Path, links: Path) -> None:
    wheel = make_wheel(links, "bomb", files={"zeros.bin": b"\0" * (300 << 20)})
    assert wheel.stat().st_size < 1 << 20
    with pytest.raises(Damaged, match="claim to be"):
        install(root, wheel)
    assert not list(root.rglob("zeros.bin"))


def test_a_size_that_is_a_lie_is_noticed(root: Path, links: Path) -> None:
    wheel = make_wheel(links, "liar", files={"x.py": "x" * 1000})
    data = bytearray(wheel.read_bytes())
    with zipfile.ZipFile(wheel) as archive:
        at = archive.start_dir
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    wheel.write_bytes(data)
    with pytest.raises(Damaged):
        install(root, wheel)


def test_a_record_that_is_not_what_was_packed_is_noticed(links: Path) -> None:
    """It has no line of its own in itself: the archive's own check is all that there is."""
    wheel = make_wheel(links, "torn")
    with zipfile.ZipFile(wheel) as archive:
        right = archive.getinfo("torn-1.0.dist-info/RECORD").CRC.to_bytes(4, "little")
    assert wheel.read_bytes().count(right) == 2, "in front of it, and in the list"
    wheel.write_bytes(wheel.read_bytes().replace(right, b"torn"))
    with pytest.raises(Damaged, match="RECORD"):
        Archive(wheel, wheel.name)


@pytest.mark.parametrize(
    ("record", "unrecorded", "why"),
    [
        ({"evil.py": record_line("evil.py", b"something else")}, {}, "not what its RECORD says"),
        ({"evil.py": "evil.py,,"}, {}, "no hash"),
        ({"evil.py": "evil.py,md5=abc,3"}, {}, "no hash"),
        ({"evil.py": ""}, {}, "not in its RECORD"),
        ({"more.py": record_line("more.py", b"")}, {}, "which is not in it"),
        ({}, {"hidden.pth": b"import os"}, "not in its RECORD"),
    ],
)
def test_a_wheel_is_what_its_record_says(
    root: Path, links: Path, record: dict[str, str], unrecorded: dict[str, bytes], why: str
) -> None:
    wheel = make_wheel(links, "evil", record=record, unrecorded=unrecorded)
    with pytest.raises(Damaged, match=why):
        install(root, wheel)


def test_a_name_that_stands_twice_is_refused(root: Path, links: Path) -> None:
    wheel = make_wheel(links, "evil")
    with zipfile.ZipFile(wheel, "a") as archive, pytest.warns(UserWarning):
        archive.writestr("evil.py", "other")
    with pytest.raises(Damaged, match="twice"):
        install(root, wheel)


@pytest.mark.parametrize(
    "name", ["evil-1.0.data/scripts/python", "evil-1.0.data/data/pyvenv.cfg", "evil-1.0.data/data/bin/python3"]
)
def test_the_interpreter_is_replaced_by_nobody(root: Path, links: Path, name: str) -> None:
    with pytest.raises(Damaged, match="replace the interpreter"):
        install(root, make_wheel(links, "evil", files={name: "#!/bin/sh\n"}))
    assert os.readlink(root / "bin" / "python") == BASE


def test_an_entry_point_has_no_other_name_than_a_program(root: Path, links: Path) -> None:
    points = (
        "[console_scripts]\n../../outside = evil:main\npython = evil:main\ngood = evil:main\nbad = evil; import os:x\n"
    )
    install(root, make_wheel(links, "evil", entry_points=points))
    assert sorted(path.name for path in (root / "bin").iterdir()) == ["good", "python", "python3", f"python{VERSION}"]
    assert not (root.parent / "outside").exists()


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all" * 100])
def test_what_is_no_archive_is_said_to_be_none(root: Path, links: Path, content: bytes) -> None:
    wheel = links / "evil-1.0-py3-none-any.whl"
    wheel.write_bytes(content)
    with pytest.raises(Damaged, match="no archive"):
        install(root, wheel)


def test_a_wheel_of_another_name_is_not_taken(root: Path, links: Path) -> None:
    wheel = make_wheel(links, "evil").rename(links / "good-1.0-py3-none-any.whl")
    with pytest.raises(Damaged, match="no RECORD of its own"):
        install(root, wheel)
