"""What a builder makes below an image: by real builders, over a registry."""

from __future__ import annotations

import base64
import json
import os
import shutil
from pathlib import Path

import pytest

from outlast.container.builder import build_and_push, recipe
from outlast.container.reference import parse_reference
from outlast.errors import OutlastError
from outlast_emulator.testing import running
from tests.cli.user import User
from tests.containers import real_conda
from tests.containers.cloud_build_server import cloud_build
from tests.containers.conftest import only_programs, run_image
from tests.containers.registry_server import Server
from tests.gcloud import need_gcloud
from tools import take_discovery

DOCKERFILE = """\
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
COPY requirements.txt /opt/declared.txt
RUN python3 -c "open('/made', 'w').write('by a builder')"
USER 1000
"""
APT = """\
#!/bin/sh
mkdir -p /var/lib/installed
for word in "$@"; do case $word in -*|install|update) ;; *) echo "$word" > /var/lib/installed/$word ;; esac; done
"""


@pytest.fixture
def project(user: User) -> User:
    user.write("train.py", "print('trained')\n")
    user.write("requirements.txt", "tool\n")
    return user


def test_a_dockerfile_is_built_once_and_the_code_is_on_top_of_it(
    project: User, podman_env: dict[str, str], tmp_path: Path
) -> None:
    """By buildah; the tests below take podman, which comes first."""
    project.write("Dockerfile", DOCKERFILE)
    project.write("environment.yml", "dependencies: [tool]\n")
    only_programs(project, "buildah")
    options = ("container", "build", "train.py", "--dockerfile", "Dockerfile", "--json")

    first = project.outlast(*options)
    again = project.outlast(*options)

    assert first.code == 0, first.err
    assert ", built just now" in first.err
    assert "`--conda environment.yml` begins with it" in first.err
    assert ", built just now" not in again.err
    assert again.json["image"] == first.json["image"]
    said = run_image(podman_env, first.json["image"], "cat", "/made", "/opt/declared.txt", "train.py")
    assert said == "by a buildertool\nprint('trained')\n"
    assert run_image(podman_env, first.json["image"], "id", "-u") == "0\n", "jobs write where only root may"


def test_debian_packages_and_conda_environments_are_installed_by_the_builder(
    project: User, podman_env: dict[str, str], registry: Server, tmp_path: Path
) -> None:
    """By a real conda, from a channel in the base image; what stands in there for `apt-get` notes down what it is asked for."""
    base = real_conda.push(registry, "library/with-conda:1", {"apt-get": APT}, tmp_path / "layout")
    project.write("environment.yml", real_conda.environment("conda-tool"))
    options = ("--base-image", base, "--conda", "environment.yml", "--apt", "zip", "--apt", "curl")

    said = project.outlast("container", "build", *options, "--json")

    assert said.code == 0, said.err
    assert "begins with it" not in said.err
    ran = run_image(podman_env, said.json["image"], "sh", "-c", "ls /var/lib/installed; conda-tool")
    assert ran == "curl\nzip\nof conda\n"


def test_a_job_here_begins_with_what_a_builder_made_without_any_registry(project: User, tmp_path: Path) -> None:
    del project.env["OUTLAST_REGISTRY"]
    project.write("Dockerfile", DOCKERFILE)
    project.write("train.py", "print(open('/made').read())\n")
    command = ("run", "--on", "local", "--container", "--dockerfile", "Dockerfile", "train.py")

    first, again = project.outlast(*command), project.outlast(*command)

    assert (first.code, first.out) == (0, "by a builder\n"), first.err
    assert (again.code, again.out) == (0, "by a builder\n"), again.err
    assert ", built just now" in first.err
    assert ", built just now" not in again.err


def test_what_a_builder_says_last_is_shown_when_it_fails(project: User) -> None:
    project.write("Dockerfile", "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nRUN echo the end is near; sh -c 'exit 3'\n")

    said = project.outlast("container", "build", "--dockerfile", "Dockerfile")

    assert said.code == 1
    assert "the end is near" in said.err
    assert "no image was pushed" in said.err


def test_without_a_builder_the_answer_names_one(project: User, tmp_path: Path) -> None:
    project.write("Dockerfile", DOCKERFILE)
    only_programs(project, "cat")

    said = project.outlast("container", "build", "--dockerfile", "Dockerfile")

    assert said.code == 3
    assert "need a builder, and none is here" in said.err


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("RUN echo COPY this", False),
        ("copy . /x", True),
        ("  ADD a b", True),
        ("RUN --mount=type=bind,target=/src make", True),
        ("ENV A=1", False),
    ],
)
def test_a_recipe_that_reads_the_code_is_built_again_when_it_changes(line: str, reads: bool) -> None:
    made = recipe(parse_reference("x"), dockerfile=f"FROM x\n{line}\n", apt_packages=["zip"], conda=b"name: x\n")

    assert made.reads_code is reads


GCLOUD = """\
#!/bin/sh
while [ $# -gt 1 ]; do
  case $1 in --config) cp "$2" "$NOTED/config.json" ;; --project) echo "$2" > "$NOTED/project" ;; esac
  shift
done
cp -r "$1" "$NOTED/context"
echo it takes a while
exit 7
"""


def test_googles_builder_is_told_all_where_no_other_is_here(tmp_path: Path) -> None:
    """By a stand-in for gcloud: what it would be given, as the API's own description has it."""
    noted, context = tmp_path / "noted", tmp_path / "context"
    noted.mkdir()
    context.mkdir()
    (context / "train.py").write_text("print()\n")
    (tmp_path / "gcloud").write_text(GCLOUD)
    (tmp_path / "gcloud").chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "NOTED": str(noted)}
    target = parse_reference("us-central1-docker.pkg.dev/my-project/outlast/work:base-1")
    base = parse_reference("python:3.11")
    made = recipe(base, dockerfile="", apt_packages=["zip"], conda=None)
    lines: list[str] = []

    with pytest.raises(OutlastError, match="`gcloud` ended with exit code 7"):
        build_and_push(
            str(tmp_path / "gcloud"),
            made,
            context,
            target,
            base,
            "linux/amd64",
            environ,
            no_cache=True,
            on_line=lines.append,
        )

    config = json.loads((noted / "config.json").read_text())
    schemas = take_discovery.take("cloudbuild.v1")["schemas"]
    assert config.keys() <= schemas["Build"]["properties"].keys()
    assert config["images"] == [str(target)]
    (step,) = config["steps"]
    assert step.keys() <= schemas["BuildStep"]["properties"].keys()
    assert {"--no-cache", "--platform", "linux/amd64", str(target)} <= set(step["args"])
    assert (noted / "project").read_text() == "my-project\n"
    assert (noted / "context" / "train.py").is_file()
    assert "install --yes --no-install-recommends zip " in (noted / "context" / "outlast.Dockerfile").read_text()
    assert lines == ["it takes a while"]


@pytest.mark.soak
def test_googles_own_command_line_has_it_built_and_pushed(
    tmp_path: Path, registry: Server, base: str, podman_env: dict[str, str]
) -> None:
    """A real gcloud, for half a minute where it is cold; what it asks for is checked by Google's description, and built."""
    need_gcloud()
    context = tmp_path / "context"
    context.mkdir()
    (context / "train.py").write_text("print()\n")
    target = parse_reference(f"{registry.host}/emulated/outlast/work:base-1")
    made = recipe(
        parse_reference(base),
        dockerfile="ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY train.py /opt/train.py\nRUN cp /opt/train.py /opt/again.py\n",
        apt_packages=(),
        conda=None,
    )
    with running(tmp_path / "google") as emulator, cloud_build(emulator, podman_env) as (url, builds):
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **emulator.variables}
        environ["CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDBUILD"] = url
        words = (str(shutil.which("gcloud")), made, context, target, parse_reference(base), "linux/amd64", environ)
        build_and_push(*words, no_cache=False, on_line=lambda _: None)
        assert builds.build["status"] == "SUCCESS", builds.said
    assert run_image(podman_env, str(target), "cat", "/opt/again.py") == "print()\n"


NOTING = """\
#!/bin/sh
for word in "$@"; do
  case $before in --config) cat "$word/config.json" "$word/plugins/here" ;; --authfile) cat "$word" ;; esac
  before=$word
done
exit 3
"""


@pytest.mark.parametrize("builder", ["docker", "podman"])
def test_a_builder_has_our_login_to_google_and_all_of_its_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, builder: str
) -> None:
    """Who pushes to Google may begin with an image of another private registry's, and have docker elsewhere."""
    monkeypatch.setattr("outlast.container.builder.login_for", lambda host, environ: ("oauth2accesstoken", "of Google"))
    target = parse_reference("us-central1-docker.pkg.dev/my-project/outlast/work:base-1")
    own = tmp_path / ".docker"
    (own / "plugins").mkdir(parents=True)
    (own / "plugins" / "here").write_text("\n")
    auths = {"ghcr.io": {"auth": "bWU6bWluZQ=="}, "quay.io": {}, target.host: {}}
    config = {"auths": auths, "credsStore": "desktop", "credHelpers": {target.host: "gcloud"}, "currentContext": "far"}
    (own / "config.json").write_text(json.dumps(config))
    (tmp_path / builder).write_text(NOTING)
    (tmp_path / builder).chmod(0o755)
    (tmp_path / "context").mkdir()
    lines: list[str] = []

    with pytest.raises(OutlastError, match="exit code 3"):
        build_and_push(
            str(tmp_path / builder),
            recipe(target, dockerfile="FROM ghcr.io/mine/base", apt_packages=[], conda=None),
            tmp_path / "context",
            target,
            target,
            "linux/amd64",
            {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            no_cache=False,
            on_line=lines.append,
        )

    told = json.loads(lines[0])
    assert base64.b64decode(told["auths"].pop(target.host)["auth"]) == b"oauth2accesstoken:of Google"
    assert told["auths"] == {"ghcr.io": auths["ghcr.io"]}
    assert told["credHelpers"] == {"quay.io": "desktop"}
    assert told["currentContext"] == "far"
    assert "credsStore" not in told
