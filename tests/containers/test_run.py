"""`outlast run --on local --container`: the trainer in its image, and everything else as without one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from outlast.machine import container_guard, container_run
from tests.cli.user import User
from tests.containers.conftest import podman
from tests.waiting import SECONDS_MAX, until

SECRET = "open-sesame-and-more"
TRAINING = """\
import os, time, outlast, tool
state = outlast.State(total=0)
print("host", os.uname().nodename, os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize >> 20, "MB")
print("a secret of", len(os.environ.get("TOKEN", "")), flush=True)
print("in a container:", os.path.exists("/opt/outlast/agent"), "tool", tool.version, os.environ.get("GREETING"), flush=True)
for step in outlast.steps(int(os.environ.get("STEPS", 4)), state, save_steps=5):
    state.total += step
    time.sleep(float(os.environ.get("PAUSE", 0)))
    print("step", step, "total", state.total, flush=True)
with open(os.path.join(os.environ["OUTLAST_OUTPUT_DIR"], "total.txt"), "w") as file:
    file.write(str(state.total))
"""


@pytest.fixture
def project(user: User) -> User:
    del user.env["OUTLAST_REGISTRY"]
    user.write("train.py", TRAINING)
    user.write("requirements.txt", "tool\n")
    return user


def test_a_job_runs_in_its_image_without_any_registry(project: User, podman_env: dict[str, str]) -> None:
    said = project.outlast(
        "run",
        "--on",
        "local",
        "--container",
        "--env",
        "GREETING=hello",
        "--container-args",
        "--hostname box --shm-size 8m",
        "train.py",
    )

    assert said.code == 0, said.err
    assert "in a container: True tool 1.0 hello\n" in said.out
    assert "host box 8 MB\n" in said.out
    assert "step 3 total 6" in said.out
    assert "layers, pushed" in said.err
    job = project.outlast("jobs", "--json").json[0]["job"]
    assert re.search(r"\n  image +`sha256:[0-9a-f]{64}`, run by podman\n", project.outlast("show", job).out)
    assert (Path(project.env["OUTLAST_HOME"]) / "jobs" / job / "outputs").is_dir()
    assert podman(podman_env, "ps", "--all", "--quiet") == ""


def test_a_job_in_a_container_is_stopped_killed_and_resumed_like_any_other(
    project: User, podman_env: dict[str, str]
) -> None:
    """A killed runner's container does not live on, and the next attempt goes on from the checkpoint."""
    options: tuple[str, ...] = (
        "--container",
        "--env",
        "STEPS=100000",
        "--env",
        "PAUSE=0.02",
        "--job-id",
        "contained-1",
    )
    options += ("--secret", "TOKEN=env:MINE")
    said = project.outlast("run", "--detach", *options, "train.py", MINE=SECRET)
    assert said.code == 0, said.err
    until(lambda: "step 12 " in project.outlast("logs", "contained-1").out)

    assert f"a secret of {len(SECRET)}\n" in project.outlast("logs", "contained-1").out
    running = podman(podman_env, "ps", "--quiet").split()
    assert SECRET not in podman(podman_env, "inspect", *running), "what a runtime is told, it keeps and shows"

    os.kill(runner_of(project), signal.SIGKILL)
    until(lambda: "attempt 2, resumed from step" in project.outlast("logs", "contained-1").err)
    until(lambda: len(podman(podman_env, "ps", "--quiet").split()) == 1)

    stopped = project.outlast("stop", "contained-1")
    assert "stopped" in stopped.err
    until(lambda: podman(podman_env, "ps", "--quiet") == "")


def _processes() -> list[tuple[int, bytes]]:
    found = []
    for name in os.listdir("/proc"):
        try:
            found.append((int(name), Path("/proc", name, "cmdline").read_bytes()))
        except (OSError, ValueError):
            continue
    return found


def processes_of(user: User) -> list[tuple[int, bytes]]:
    return [(pid, command) for pid, command in _processes() if os.fsencode(user.outlast_dir) in command]


def runner_of(user: User) -> int:
    return next(pid for pid, command in processes_of(user) if b"container_run.py" in command)


def test_an_image_that_is_there_is_run_as_it_is(project: User, registry_place: str) -> None:
    image = project.outlast("container", "build", "train.py", "--registry", registry_place).out.strip()

    said = project.outlast("run", "--container", "--image-tag", image, "--dir", ".", "train.py")

    assert said.code == 0, said.err
    assert "step 3 total 6" in said.out
    assert "ignored: `--dir`, " in said.err


def test_an_image_that_is_nowhere_is_not_submitted(project: User, registry_place: str) -> None:
    words = ["--container", "--job-id", "nowhere", "--image-tag", f"{registry_place}/none:v1"]
    said = project.outlast("run", *words, "train.py")

    assert said.code == 3, said.err
    assert f"there is no image `{registry_place}/none:v1`" in said.err and "nothing was submitted" in said.err
    assert project.outlast("show", "nowhere").code == 3


def test_a_registry_that_cannot_be_asked_is_no_reason_to_refuse(project: User) -> None:
    said = project.outlast("run", "--container", "--detach", "--image-tag", "127.0.0.1:1/none", "train.py")

    assert said.code == 0, said.err
    assert "warning: whether image `127.0.0.1:1/none` is there could not be asked" in said.err


def test_an_image_that_only_the_runtime_has_needs_no_registry(project: User, podman_env: dict[str, str]) -> None:
    podman(podman_env, "pull", "--quiet", "--tls-verify=false", project.env["OUTLAST_BASE_IMAGE"])
    podman(podman_env, "tag", project.env["OUTLAST_BASE_IMAGE"], "only-here")
    project.write("plain.py", "print('inside')\n")

    said = project.outlast("run", "--container", "--image-tag", "localhost/only-here", "plain.py")

    assert said.code == 0, said.err
    assert "could not be asked" not in said.err
    assert "inside" in said.out


def test_without_a_runtime_the_answer_names_one(project: User, tmp_path: Path) -> None:
    said = project.outlast("run", "--container", "train.py", PATH=f"{tmp_path}/programs")

    assert said.code == 3
    assert "neither `podman` nor `docker` is on the PATH" in said.err
    assert "hint: `sudo apt-get install podman`" in said.err


def test_a_rehearsal_builds_nothing(project: User) -> None:
    said = project.outlast("run", "--container", "--dry-run", "train.py")

    assert said.code == 0, said.err
    assert not (project.outlast_dir / "cache" / "containers").exists()
    assert "pushed" not in said.err
    assert f"A container would run it, of an image on `{project.env['OUTLAST_BASE_IMAGE']}`" in said.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--on", "compute", "--project", "p", "--container"), "has machines of its own"),
        (("--container", "--setup", "train.py"), "an image is built here"),
    ],
)
def test_what_does_not_go_together_with_a_container_is_refused(
    project: User, options: tuple[str, ...], words: str
) -> None:
    said = project.outlast("run", *options, "train.py")

    assert said.code != 0
    assert words in said.err


def test_what_a_killed_machine_has_left_in_the_runtime_is_swept_by_the_next_one(
    project: User, podman_env: dict[str, str], base: str, tmp_path: Path
) -> None:
    """A container whose lock nobody holds is nobody's; one whose lock is held is left alone."""
    import fcntl

    from outlast.machine.container_run import LABEL

    held = open(tmp_path / "held", "w")  # noqa: SIM115
    fcntl.flock(held, fcntl.LOCK_EX)
    for name in ("held", "gone"):
        create = ("create", "--quiet", "--tls-verify=false", "--network", "host", "--name", f"{tmp_path.name}-{name}")
        podman(podman_env, *create, "--label", f"{LABEL}={tmp_path / name}", base, "python3")
    try:
        assert project.outlast("run", "--container", "train.py").code == 0
        left = podman(podman_env, "ps", "--all", "--format", "{{.Names}}").split()
        assert [one for one in left if one.startswith(tmp_path.name)] == [f"{tmp_path.name}-held"]
    finally:
        held.close()
        podman(podman_env, "rm", "--force", f"{tmp_path.name}-held")


def ordered(tmp_path: Path, podman: str, **changes: object) -> list[str]:
    """A trainer's process in a container, by a stand-in for the runtime: the words of a shell script."""
    fake = tmp_path / "podman"
    fake.write_text(f"#!/bin/sh\n{podman}")
    fake.chmod(0o755)
    order: dict[str, object] = {"runtime": str(fake), "name": "x", "image": "y", "load": [], "environ": {}}
    order |= {"lock": str(tmp_path / "lock"), "secrets": [], "gpus": False, "command": [str(fake), "run"]}
    (tmp_path / "order.json").write_text(json.dumps(order | changes))
    return [sys.executable, "-I", container_run.__file__, str(tmp_path / "order.json")]


@pytest.mark.parametrize(
    ("code", "gpus", "words"),
    [
        (125, False, "podman could not start the container; `--container-args`"),
        (126, True, "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`"),
        (126, False, ""),
    ],
)
def test_a_runtime_that_starts_nothing_is_told_from_a_trainer_that_fails(
    tmp_path: Path, code: int, gpus: bool, words: str
) -> None:
    """By a stand-in for podman that also notes what it is told."""
    podman = f"[ $1 = run ] || exit 0\nenv > {tmp_path}/env\ncat > {tmp_path}/stdin\nexit {code}\n"
    done = subprocess.run(
        ordered(tmp_path, podman, secrets=["TOKEN"], gpus=gpus),
        env={"PATH": os.environ["PATH"], "TOKEN": SECRET},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == code
    assert words in done.stderr if words else not done.stderr
    assert json.loads((tmp_path / "stdin").read_text()) == {"TOKEN": SECRET}
    assert SECRET not in (tmp_path / "env").read_text()


def test_who_is_asked_to_end_before_there_is_a_container_starts_none(tmp_path: Path) -> None:
    podman = f"[ $1 = rm ] && kill -TERM $PPID\n[ $1 = run ] && touch {tmp_path}/started\nexit 0\n"

    done = subprocess.run(ordered(tmp_path, podman), check=False)

    assert done.returncode == 128 + signal.SIGTERM
    assert not (tmp_path / "started").exists()


def test_a_runtime_that_hangs_over_an_old_container_is_asked_for_the_image_meanwhile(tmp_path: Path) -> None:
    asked, removed = tmp_path / "asked", tmp_path / "removed"
    podman = f"""case $1 in
        rm) while [ ! -e {asked} ]; do sleep 0.1; done; touch {removed};;
        image) touch {asked};;
    esac
    """
    assert subprocess.run(ordered(tmp_path, podman, load=["false"]), check=False).returncode == 0
    assert removed.exists(), "it was given up before the image was asked for"


def test_a_container_starts_when_the_one_before_it_is_removed_by_somebody_else(tmp_path: Path) -> None:
    """Docker's daemon removes what has ended by itself, refuses to be asked meanwhile, and has no room for another of that name."""
    looks, gone = tmp_path / "looks", tmp_path / "gone"
    podman = f"""case $1 in
        rm) exit 1;;
        container) echo >> {looks}; [ $(wc -l < {looks}) -lt 3 ] || {{ touch {gone}; exit 1; }};;
        run) [ -e {gone} ] || exit 125;;
    esac
    """
    assert subprocess.run(ordered(tmp_path, podman), check=False).returncode == 0


def test_who_is_asked_to_end_before_the_first_process_in_the_container_listens_ends_all_the_same(
    tmp_path: Path,
) -> None:
    """The kernel keeps signals from a container's first process that it has no function for yet: a file tells it."""
    import fcntl

    (tmp_path / f"lock{container_run.TOLD}").touch()
    with open(tmp_path / "lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        command = [sys.executable, "-I", container_guard.__file__, str(tmp_path / "lock"), "-", "sleep", "600"]
        done = subprocess.run(command, check=False, timeout=SECONDS_MAX)

    assert done.returncode == 128 + signal.SIGTERM
    assert container_guard.TOLD == container_run.TOLD


def test_a_secret_is_there_though_nobody_ends_what_it_comes_by(tmp_path: Path) -> None:
    import fcntl

    with open(tmp_path / "lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        guard = [sys.executable, "-I", container_guard.__file__, str(tmp_path / "lock"), container_guard.SECRETS]
        script = ("sh", "-c", "echo $TOKEN; cat")
        with subprocess.Popen([*guard, *script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(json.dumps({"TOKEN": SECRET}).encode() + b"\n")
            process.stdin.flush()
            assert process.wait(SECONDS_MAX) == 0, "what it reads is empty"
            assert process.stdout.read().decode() == f"{SECRET}\n"
