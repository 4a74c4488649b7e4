"""`outlast container build`, pushed to a registry that is not ours and read by programs that are not."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from outlast.container.registry import Registry, digest_of
from tests.cli.user import User
from tests.containers.base_image import VERSION
from tests.containers.conftest import layers_of, raw, run_image
from tests.containers.registry_server import Server, serving

SCRIPT = "import sys, tool\nprint('trained with', tool.version, sys.argv[1:])\n"


@pytest.fixture
def project(user: User) -> User:
    user.write("train.py", SCRIPT)
    user.write("requirements.txt", "tool\n")
    return user


def built(user: User, *options: str, **changes: str) -> str:
    said = user.outlast("container", "build", "train.py", *options, **changes)
    assert said.code == 0, said.err
    return said.out.strip()


def test_an_image_runs_what_was_shipped_with_what_was_declared(
    project: User, registry: Server, podman_env: dict[str, str]
) -> None:
    image = built(project)

    assert re.fullmatch(rf"{registry.host}/[a-z0-9/-]+@sha256:[0-9a-f]{{64}}", image)
    assert run_image(podman_env, image, "python3", "train.py", "--epochs", "3").strip() == (
        "trained with 1.0 ['--epochs', '3']"
    )
    script = "import outlast, tool, sys; outlast.State(step=1); print(sys.path[-1])"
    said = run_image(podman_env, image, "python3", "-c", script)
    assert said == "/opt/outlast/agent\n", "outlast is there without a job too, behind all that is the user's"
    found = registry.inspect(image)
    assert found["Digest"] == image.partition("@")[2]
    assert found["Labels"]["outlast.bundle"]


def test_no_change_pushes_nothing_and_a_change_of_code_one_small_layer(project: User, registry: Server) -> None:
    first = project.outlast("container", "build", "train.py", "--json").json
    again = project.outlast("container", "build", "train.py", "--json").json
    project.write("train.py", SCRIPT + "# changed\n")
    changed = project.outlast("container", "build", "train.py", "--json").json

    assert first["pushed_layers"] == 3, "agent, environment, code; the base's was mounted"
    assert (again["pushed_layers"], again["pushed_bytes"], again["image"]) == (0, 0, first["image"])
    assert (changed["pushed_layers"], changed["image"] != first["image"]) == (1, True)
    assert changed["pushed_bytes"] < 10_000
    before, after = layers_of(registry, first["image"]), layers_of(registry, changed["image"])
    assert before[:-1] == after[:-1]


def test_the_same_inputs_are_the_same_image_on_another_computer(
    project: User, registry: Server, tmp_path: Path
) -> None:
    other = User(tmp_path / "elsewhere", env={**project.env, "OUTLAST_HOME": ""})
    (tmp_path / "elsewhere").mkdir()
    other.work.mkdir()
    other.write("requirements.txt", "tool\n")
    other.write("train.py", SCRIPT)

    there = registry.host + "/elsewhere/place"
    assert built(other, OUTLAST_REGISTRY=there).partition("@")[2] == built(project).partition("@")[2]


def test_each_directory_beside_the_code_is_a_layer_of_its_own(
    project: User, registry: Server, podman_env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "words.txt").write_text("beside\n")
    project.write("inside/words.txt", "inside\n")
    options = ("-d", str(tmp_path / "beside"), "--dir", "inside")

    first = built(project, *options)
    project.write("train.py", SCRIPT + "# changed\n")
    second = built(project, *options)

    before, after = layers_of(registry, first), layers_of(registry, second)
    assert len(before) == 6
    assert [one for one in before if one not in after] == [before[-1]]
    assert run_image(podman_env, second, "cat", "beside/words.txt", "inside/words.txt") == "beside\ninside\n"


def test_a_base_image_is_copied_from_another_registry(
    project: User, registry: Server, tmp_path: Path, podman_env: dict[str, str]
) -> None:
    with serving(tmp_path / "second") as second:
        image = built(project, OUTLAST_REGISTRY=f"{second.host}/me")

        assert second.inspect(image)["Architecture"]
        assert "trained" in run_image(podman_env, image, "python3", "train.py")


def test_what_a_registry_has_lost_is_pushed_again(project: User, registry: Server, tmp_path: Path) -> None:
    with serving(tmp_path / "forgetful") as forgetful:
        place = {"OUTLAST_REGISTRY": f"{forgetful.host}/me"}
        image = built(project, **place)
        shutil.rmtree(tmp_path / "forgetful" / "docker")
        project.write("train.py", SCRIPT + "# changed\n")
        changed = built(project, **place)
        project.write("train.py", SCRIPT)

        assert forgetful.inspect(changed)["Layers"]
        assert built(project, **place) == image
        assert forgetful.inspect(image)["Layers"]


def test_no_cache_makes_the_same_image_again(project: User) -> None:
    first = built(project)
    said = project.outlast("container", "build", "train.py", "--no-cache", "--json").json

    assert said["image"] == first


def test_an_image_that_is_there_is_not_built_and_what_cannot_count_is_said(project: User, registry: Server) -> None:
    registry.push_base("me/there", "v1")
    said = project.outlast(
        "container",
        "build",
        "train.py",
        "--image-tag",
        f"{registry.host}/me/there:v1",
        "--dir",
        ".",
        "--extras",
        "gpu",
        "--tag",
        "v2",
    )

    assert said.code == 0, said.err
    assert said.out.strip() == f"{registry.host}/me/there:v1"
    assert "warning: `--image-tag` names an image that is there: ignored: `--dir`, `--extras`, " in said.err
    assert "`--tag`" in said.err


def test_an_image_that_is_said_to_be_there_and_is_not_is_refused(project: User, registry: Server) -> None:
    said = project.outlast("container", "build", "--image-tag", f"{registry.host}/me/nowhere")

    assert said.code == 3, said.err
    assert f"there is no image `{registry.host}/me/nowhere:latest`" in said.err


def test_no_credential_is_ever_in_an_image(project: User, podman_env: dict[str, str]) -> None:
    key = {
        "type": "service_account",
        "private_key": "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n",
    }
    project.write("key.json", json.dumps(key))
    project.write(".env", "PASSWORD=sesame\n")

    image = built(project, GOOGLE_APPLICATION_CREDENTIALS=str(project.work / "key.json"))

    found = run_image(podman_env, image, "sh", "-c", "ls -a; env; cat /opt/outlast/code/*")
    assert "PRIVATE KEY" not in found
    assert "key.json" not in found
    assert "sesame" not in found


def test_a_base_image_with_another_python_is_refused_before_anything_is_pushed(project: User, registry: Server) -> None:
    client = Registry(registry.host)
    manifest = json.loads(client.get_manifest("library/python", VERSION)[0])
    config = json.loads(client.get_blob("library/python", manifest["config"]["digest"]))
    config["config"]["Env"] = ["PYTHON_VERSION=3.99.1"]
    data = json.dumps(config).encode()
    client.put_blob("library/python", digest_of(data), len(data), lambda: (data,))
    manifest["config"] |= {"digest": digest_of(data), "size": len(data)}
    client.put_manifest("library/python", "3.99", json.dumps(manifest).encode(), manifest["mediaType"])

    said = project.outlast("container", "build", "train.py", "--base-image", f"{registry.host}/library/python:3.99")

    assert said.code == 2
    assert f"has Python 3.99.1, and the packages are for Python {VERSION}" in said.err
    assert "nothing was pushed" in said.err
    assert "hint: `--python 3.99`" in said.err


def test_a_tag_is_given_to_the_image_too(project: User, registry: Server) -> None:
    image = built(project, "--tag", "v7", "--name", "census-job")

    name, _, digest = image.partition("@")
    assert name.endswith("/census-job")
    assert registry.inspect(f"{name}:v7")["Digest"] == digest
    again = project.outlast("container", "build", "train.py", "--tag", "v7", "--name", "census-job", "--json").json
    assert (again["pushed_layers"], again["image"]) == (0, image)


def test_variants_of_the_base_are_for_machines_with_gpus_and_without(
    project: User, base: str, registry: Server
) -> None:
    bases = f"cpu={base},gpu={registry.host}/library/none:1"

    assert built(project, "--base-image", bases)
    said = project.outlast("container", "build", "train.py", "--gpu", "--base-image", bases)
    assert said.code == 3
    assert f"no image `{registry.host}/library/none:1`" in said.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--registry", "nowhere"), "no place in a registry"),
        (("--base-image", "UPPER case"), "no name of an image"),
        (("--base-image", "tpu=x"), "names no base images"),
        (("--dir", "missing"), "no such directory"),
        (("--tag", "!"), "is no tag"),
        (("--gpu", "--nogpu"), "contradict each other"),
        (("--base-image", "dlvm:tf2"), "hint: write `dlvm:LIBRARY-{}`"),
        (("--registry", "127.0.0.1:1/me"), "does not answer"),
        (("--apt", "a; rm -rf /"), "no name of a Debian package"),
        (("--dockerfile", "none"), "cannot be read"),
    ],
)
def test_what_cannot_be_is_said_in_words(project: User, options: tuple[str, ...], words: str) -> None:
    said = project.outlast("container", "build", "train.py", *options)

    assert said.code in (2, 3, 6)
    assert words in said.err
    assert "Traceback" not in said.err


def test_configuration_and_history_are_whole(project: User, registry: Server) -> None:
    image = built(project)

    config = registry.inspect(image, "--config")
    assert len(config["rootfs"]["diff_ids"]) == len(raw(registry, image)["layers"]) == len(config["history"])
    assert config["config"]["Entrypoint"] == ["python3", "/opt/outlast/start.py"]
    assert config["config"]["WorkingDir"] == "/opt/outlast/code"
