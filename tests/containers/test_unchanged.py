"""A build that is typed again with nothing changed is seen to be one; whatever may have changed is built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from outlast.container.presence import are_there
from outlast.container.unchanged import command_key, stamps_of
from outlast.errors import Unreachable
from tests.cli.user import Said, User
from tests.containers.registry_server import serving

SECONDS_MAX = 120.0


@pytest.fixture
def project(user: User) -> User:
    user.write("train.py", "import tool\nprint('one')\n")
    user.write("requirements.txt", "tool\n")
    return user


def build(user: User, *options: str, **changes: str) -> Said:
    said = user.outlast("container", "build", "train.py", *options, **changes)
    assert said.code == 0, said.err
    return said


def built_again(user: User, *options: str, **changes: str) -> Said:
    """Until the stamps of the files are old enough to be believed."""
    give_up_at = time.monotonic() + SECONDS_MAX
    while "nothing has changed" not in (said := build(user, *options, **changes)).err:
        assert time.monotonic() < give_up_at
    return said


def test_no_change_is_answered_by_the_registry_alone(project: User) -> None:
    first = build(project).out

    said = built_again(project)

    assert said.out == first
    assert "nothing to push" in said.err


def same_size_same_time(user: User) -> None:
    path = user.work / "train.py"
    status = path.stat()
    path.write_text(path.read_text().replace("one", "two"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def another_file(user: User) -> None:
    user.write("more/new.py", "")


def no_file(user: User) -> None:
    (user.work / "more.py").unlink()


def another_setting(user: User) -> None:
    user.write(".outlastignore", "more.py\n")


@pytest.mark.parametrize("change", [same_size_same_time, another_file, no_file, another_setting])
def test_whatever_changes_is_built(project: User, change: Callable[[User], None]) -> None:
    project.write("more.py", "")
    first = built_again(project).out

    change(project)
    said = build(project)

    assert "nothing has changed" not in said.err
    assert said.out != first


NO_PARSER = """
import os, sys
from outlast.cli import main
sys.argv[1:] = ["container", "build", "train.py"]
os._exit = lambda code: (print("click" in sys.modules, flush=True), sys.exit(code))
main()
"""


def test_a_change_is_built_without_the_words_being_read_again_and_as_if_they_were(project: User) -> None:
    built_again(project)
    same_size_same_time(project)

    done = subprocess.run(
        [sys.executable, "-c", NO_PARSER], cwd=project.work, env=project.environ(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    image, is_read = done.stdout.decode().splitlines()

    assert is_read == "False"
    assert b"pushed 1 layer" in done.stderr
    assert build(project, "--json").json["image"] == image, "whoever reads them builds the same"


@pytest.mark.parametrize(("name", "text"), [("outlast.toml", 'python = "3.99"'), (".calibanconfig.json", "{")])
def test_settings_that_change_are_read(project: User, name: str, text: str) -> None:
    built_again(project)
    project.write(name, text)

    said = project.outlast("container", "build", "train.py")

    assert said.code != 0
    assert ("3.99" if name == "outlast.toml" else name) in said.err


def test_nothing_that_was_begun_in_a_registry_is_left_there(project: User, tmp_path: Path) -> None:
    with serving(tmp_path / "clean") as clean:
        place = f"{clean.host}/me"
        first = built_again(project, OUTLAST_REGISTRY=place)
        os.utime(project.work / "train.py")
        touched = build(project, OUTLAST_REGISTRY=place)
        same_size_same_time(project)
        changed = build(project, OUTLAST_REGISTRY=place)

        assert "nothing has changed" not in touched.err
        assert "nothing to push" in touched.err
        assert first.out == touched.out != changed.out
        uploads = list((tmp_path / "clean").glob("docker/registry/v2/repositories/**/_uploads/*/startedat"))
        assert uploads == []


def test_an_image_that_is_gone_from_its_registry_is_pushed_again(project: User, tmp_path: Path) -> None:
    with serving(tmp_path / "forgetful") as forgetful:
        place = f"{forgetful.host}/me"
        image = built_again(project, OUTLAST_REGISTRY=place).out
        shutil.rmtree(tmp_path / "forgetful" / "docker")
        said = build(project, OUTLAST_REGISTRY=place)

        assert "nothing has changed" not in said.err
        assert said.out == image
        assert forgetful.inspect(image.strip())["Layers"]


def test_another_project_of_gclouds_may_mean_another_registry(project: User) -> None:
    config = project.root / ".config" / "gcloud" / "configurations"
    config.mkdir(parents=True)
    built_again(project)

    (config / "config_default").write_text("[core]\nproject = another\n")

    assert "nothing has changed" not in build(project).err


def test_what_a_registry_does_not_say_at_once_is_asked_by_its_client(tmp_path: Path) -> None:
    with serving(tmp_path / "here") as server:
        named = server.push_base("me/base", "1")
        digest = server.inspect(named)["Digest"]
        assert are_there([(server.host, "me/base", "1", digest), (server.host, "me/base", digest, digest)])
        assert not are_there([(server.host, "me/base", "1", digest), (server.host, "me/base", "2", digest)])
        localhost = server.host.replace("127.0.0.1", "localhost")
        assert are_there([(localhost, "me/base", "1", digest)])
    with pytest.raises(Unreachable):
        are_there([(server.host, "me/base", "1", digest)])


def test_stamps_tell_of_names_contents_and_what_they_cannot_tell(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("1")
    before = stamps_of([str(tmp_path)], [])

    assert before == stamps_of([str(tmp_path)], [])
    assert before != stamps_of([str(tmp_path)], [str(tmp_path / "missing")])
    os.rename(tmp_path / "a" / "x", tmp_path / "a" / "y")
    assert stamps_of([str(tmp_path)], []) != before
    os.symlink(tmp_path / "a", tmp_path / "b")
    assert stamps_of([str(tmp_path)], []) is None, "what a link to a directory leads to is not looked at"
    assert stamps_of([str(tmp_path / "none")], []) is None


def test_a_command_is_another_one_with_other_variables_or_elsewhere() -> None:
    key = command_key(["container", "build"], "/a", {"X": "1", "_": "python", "SHLVL": "1"})

    assert key == command_key(["container", "build"], "/a", {"X": "1", "_": "bash", "SHLVL": "2"})
    assert key != command_key(["container", "build"], "/b", {"X": "1"})
    assert key != command_key(["container", "build"], "/a", {"X": "2"})
    assert key != command_key(["container", "build", "x"], "/a", {"X": "1"})
