"""`.calibanconfig.json` is read as far as it means something, and says what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.container.base import choose_base
from outlast.errors import UsageError
from outlast.spec.caliban_config import find_caliban_config
from outlast.spec.load import load
from outlast.spec.trust import trust
from tests.cli.user import User

CONFIG = """\
# a comment, and // in text is text
{
  "base_image": {"cpu": "host.example/base:cpu", "gpu": "host.example/base:gpu"},  // by mode
  "apt_packages": {"gpu": ["libgpu"], "cpu": ["zip", "curl"]},
  "default_mode": "CPU",
  "gcloud": {"project_id": "their-project", "cloud_key": "/keys/theirs.json"},
  "build_time_credentials": true,
  "mlflow_config": {"project": "http://x"},
  "surprise": 1
}
"""


def test_what_is_meant_is_read_and_what_is_not_is_noted(tmp_path: Path) -> None:
    (tmp_path / ".calibanconfig.json").write_text(CONFIG)

    found = find_caliban_config(tmp_path)

    assert found is not None
    assert found.base_image == "cpu=host.example/base:cpu,gpu=host.example/base:gpu"
    assert found.apt_packages == {"cpu": ("zip", "curl"), "gpu": ("libgpu",)}
    assert (found.default_mode, found.project, found.cloud_key) == ("cpu", "their-project", "/keys/theirs.json")
    assert [note.split("`")[3] for note in found.notes] == ["build_time_credentials", "mlflow_config", "surprise"]


@pytest.mark.parametrize(
    ("asked", "variant", "image"),
    [
        ("dlvm:pytorch-cpu", "cpu", "pytorch-cpu"),
        ("dlvm:pytorch-gpu-1.4", "gpu", "pytorch-gpu.1-4"),
        ("dlvm:tf2-{}-2.1", "gpu", "tf2-gpu.2-1"),
        ("cpu=dlvm:tf-cpu-1.15,gpu=dlvm:tf-gpu", "cpu", "tf-cpu.1-15"),
    ],
)
def test_short_names_of_googles_images_are_the_names_that_they_have(asked: str, variant: str, image: str) -> None:
    found = choose_base(asked, variant, "3.11")

    assert str(found) == f"gcr.io/deeplearning-platform-release/{image}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON"),
        ("[]", "the file is []"),
        ('{"base_image": 3}', "base_image is 3"),
        ('{"base_image": {"tpu": "x"}}', "base_image is"),
        ('{"apt_packages": "curl"}', "apt_packages is"),
        ('{"default_mode": "tpu"}', 'default_mode is "tpu"'),
        ('{"default_mode": null}', "default_mode is null"),
        ('{"gcloud": "p"}', "gcloud is"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_name_of_the_file(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / ".calibanconfig.json").write_text(text)

    with pytest.raises(UsageError) as caught:
        find_caliban_config(tmp_path)

    assert words in caught.value.message
    assert ".calibanconfig.json" in caught.value.message


def test_it_says_who_pays_only_after_a_yes(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    file = tmp_path / "project" / ".calibanconfig.json"
    file.write_text(CONFIG)
    user_file = tmp_path / "user" / "config.toml"

    before = load({}, {}, tmp_path / "project", user_file)
    trust(file, tmp_path / "user")
    after = load({}, {}, tmp_path / "project", user_file)
    file.write_text(CONFIG.replace("their-project", "another"))
    changed = load({}, {}, tmp_path / "project", user_file)

    assert [one["project"] for one in (before, after, changed)] == ["", "their-project", ""]
    assert after["cloud-key"] == "/keys/theirs.json"
    assert before["base-image"] == "cpu=host.example/base:cpu,gpu=host.example/base:gpu"
    assert load({"base-image": "mine:1"}, {}, tmp_path / "project", user_file)["base-image"] == "mine:1"


def test_a_build_uses_it_and_says_what_it_leaves_out(user: User, base: str, registry_place: str) -> None:
    del user.env["OUTLAST_BASE_IMAGE"]
    user.write("train.py", "print(1)\n")
    user.write(
        ".calibanconfig.json",
        f'{{"base_image": "{base}", "julia_version": "1.5", "gcloud": {{"project_id": "p-theirs"}}}}',
    )

    said = user.outlast("container", "build", "train.py")

    assert said.code == 0, said.err
    assert said.out.startswith(f"{registry_place}/work@sha256:")
    assert "note: `.calibanconfig.json`: `julia_version` means nothing here" in said.err
    assert "it counts after `outlast config --trust`" in said.err
