"""Where docker is the only builder and the only runtime here: a real daemon, of the tests' own."""

from __future__ import annotations

import itertools
import json
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast.host.machine_dir import Assignment, MachineDir
from outlast.machine.container_command import contained, docker_user
from outlast.spec.spec import Container
from tests.cli.user import User
from tests.containers.conftest import only_programs
from tests.containers.docker_server import docker, docker_running
from tests.containers.test_builder import DOCKERFILE
from tests.containers.test_run import SECRET, TRAINING, processes_of, runner_of
from tests.waiting import until

GPU_OPTIONS = ("--gpus", "--device")


@pytest.fixture(scope="session")
def docker_env() -> Iterator[dict[str, str]]:
    with docker_running(Path(tempfile.mkdtemp(prefix="dock-", dir="/tmp"))) as env:
        yield env


@pytest.fixture
def project(user: User, docker_env: dict[str, str]) -> User:
    only_programs(user, "docker", "tar")
    user.env.update(docker_env)
    user.write("requirements.txt", "tool\n")
    user.write("Dockerfile", DOCKERFILE)
    return user


def test_docker_builds_what_an_image_begins_with_for_a_registry_and_for_itself(
    project: User, docker_env: dict[str, str]
) -> None:
    project.write("train.py", "import tool\nprint(open('/made').read(), tool.version)\n")

    pushed = project.outlast("container", "build", "--dockerfile", "Dockerfile", "train.py", "--json")

    assert pushed.code == 0, pushed.err
    assert ", built just now" in pushed.err
    command = ("run", "--rm", "--network", "host", pushed.json["image"], "cat", "/made", "/opt/declared.txt")
    assert docker(docker_env, *command) == "by a buildertool\n"

    del project.env["OUTLAST_REGISTRY"]
    run = ("run", "--on", "local", "--container", "--dockerfile", "Dockerfile", "train.py")
    first, again = project.outlast(*run), project.outlast(*run)

    assert (first.code, first.out) == (0, "by a builder 1.0\n"), first.err
    assert (again.code, again.out) == (0, "by a builder 1.0\n"), again.err
    assert ", built just now" in first.err
    assert ", built just now" not in again.err
    assert docker(docker_env, "ps", "--all", "--quiet") == ""


def test_a_job_that_docker_runs_is_killed_resumed_and_stopped_like_any_other(
    project: User, docker_env: dict[str, str]
) -> None:
    """The container of a killed runner does not live on, though a daemon of root's has started it."""
    del project.env["OUTLAST_REGISTRY"]
    project.write("train.py", TRAINING)
    options = ("--container", "--env", "STEPS=100000", "--env", "PAUSE=0.02", "--job-id", "docked-1")
    said = project.outlast("run", "--detach", *options, "--secret", "TOKEN=env:MINE", "train.py", MINE=SECRET)
    assert said.code == 0, said.err
    until(lambda: "step 12 " in project.outlast("logs", "docked-1").out, lambda: _found(project, docker_env))
    assert f"a secret of {len(SECRET)}\n" in project.outlast("logs", "docked-1").out
    (running,) = docker(docker_env, "ps", "--quiet").split()
    assert SECRET not in docker(docker_env, "inspect", running), "what a runtime is told, it keeps and shows"

    for attempt in (2, 3, 4):  # more than once: how far its daemon is with removing what was killed is chance
        os.kill(runner_of(project), signal.SIGKILL)
        running = _next(project, docker_env, attempt, running)
    assert "stopped" in project.outlast("stop", "docked-1").err
    until(lambda: docker(docker_env, "ps", "--all", "--quiet") == "")


def _next(user: User, env: dict[str, str], attempt: int, before: str) -> str:
    """The container of `attempt`, when it is the only one that runs."""
    resumed = f"attempt {attempt}, resumed from step"
    until(lambda: resumed in user.outlast("logs", "docked-1").err, lambda: _found(user, env))

    def alone() -> str:
        running = docker(env, "ps", "--quiet").split()
        return running[0] if len(running) == 1 and running != [before] else ""

    return until(alone, lambda: _found(user, env))


def _found(user: User, env: dict[str, str]) -> str:
    """For whoever must find out why nothing came."""
    processes = [" ".join(map(str, one)) for one in processes_of(user)]
    said = [user.outlast(*words) for words in (("logs", "docked-1"), ("show", "docked-1"))]
    return "\n".join((*processes, docker(env, "ps", "--all"), *(f"{one.out}\n{one.err}" for one in said)))


def test_whoever_is_not_root_has_a_name_and_a_place_of_his_own_in_the_container(
    docker_env: dict[str, str], base: str
) -> None:
    """Root's are the image's; what was asked for with `--env` stays as it is."""
    asked = ("run", "--rm", "--network", "host", *docker_user(1000, 100, set()), base)

    said = docker(docker_env, *asked, "sh", "-c", "id -u; echo $USER; : > ~/mine && echo written")

    assert said == "1000\noutlast\nwritten\n"
    assert docker_user(0, 0, set()) == ["--user", "0:0"]
    assert docker_user(1000, 100, {"USER"}) == ["--user", "1000:100", "--env", "HOME=/tmp", "--env", "LOGNAME=outlast"]


@pytest.mark.parametrize(
    ("runtime", "gpus", "expected"),
    [
        ("docker", ("0", "2"), ["--gpus", "all"]),
        ("podman", ("0", "2"), ["--device", "nvidia.com/gpu=all"]),
        ("docker", (), []),
        ("podman", None, []),
    ],
)
def test_a_container_has_the_gpus_of_its_job_and_is_told_which(
    tmp_path: Path, runtime: str, gpus: tuple[str, ...] | None, expected: list[str]
) -> None:
    assignment = Assignment("home", "job", 1, "launch", 0, 1, 1, 0.0, gpus=gpus)
    container = Container("image", f"/usr/bin/{runtime}", (), ("--shm-size", "8g"), {})
    paths = MachineDir(tmp_path)
    Path(paths.run).mkdir(parents=True)

    argv = contained(container, assignment, paths, ("python3", "train.py"), {"A"}, ())
    order = json.loads(Path(argv[-1]).read_text())
    options = order["command"][: order["command"].index("image")]

    assert order["gpus"] is bool(gpus)
    given = [[option, value] for option, value in itertools.pairwise(options) if option in GPU_OPTIONS]
    assert given == ([expected] if expected else [])
    assert ("CUDA_VISIBLE_DEVICES" in options) == (gpus is not None), "all are in there, and one job's are told to it"
    assert options[-2:] == ["--shm-size", "8g"]


def test_gpus_that_docker_cannot_give_are_answered_with_what_gives_them(project: User) -> None:
    """This computer has none: what its daemon says of them is real, and the option reaches it."""
    del project.env["OUTLAST_REGISTRY"]
    project.write("train.py", "print('never')\n")

    said = project.outlast("run", "--container", "--gpus", "1", "train.py", OUTLAST_LOCAL_GPUS="1")

    assert said.code == 1, said.err
    assert "could not select device driver" in said.err + said.out
    assert "nvidia-ctk runtime configure --runtime=docker" in said.err + said.out
