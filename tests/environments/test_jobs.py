"""Whole jobs with environments, as people type them: real processes, from the command to the trainer's own words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.user import User, stop_everything
from tests.environments.conftest import find_uv, offline
from tests.environments.wheels import make_wheel

TRAIN = "import alpha, beta, sys\nprint('alpha', alpha.version, 'beta', beta.version, sys.prefix, flush=True)\n"


@pytest.fixture
def user(tmp_path: Path, links: Path) -> Iterator[User]:
    env = offline(tmp_path, links, "uv")
    env["PATH"] += os.pathsep + os.path.dirname(find_uv())
    one = User(tmp_path, env=env)
    one.work.mkdir()
    make_wheel(links, "alpha", requires=["beta"])
    make_wheel(
        links,
        "beta",
        files={"beta.py": "version = '1.0'\ndef main(): print('tool of beta')\n"},
        entry_points="[console_scripts]\nbeta-tool = beta:main\n",
    )
    one.write("requirements.txt", "alpha\n")
    one.write("train.py", TRAIN)
    yield one
    stop_everything(one)


def forget_index(links: Path) -> None:
    for wheel in links.iterdir():
        wheel.unlink()


def test_a_job_has_what_it_declares(user: User, links: Path) -> None:
    said = user.outlast("run", "--requirements", "requirements.txt", "train.py")
    assert said.code == 0, said.err
    assert said.out.startswith("alpha 1.0 beta 1.0 ") and str(user.outlast_dir / "cache" / "environments") in said.out
    assert (
        "2 packages, resolved by uv" in said.err
        and "requirements.txt" in said.err
        and "python3 on the PATH" in said.err
    )
    forget_index(links)
    again = user.outlast("run", "--requirements", "requirements.txt", "train.py")
    assert again.code == 0, again.err
    assert again.out == said.out
    assert "2 packages, from the home" in again.err


DRILLED = """
import alpha, outlast, time
state = outlast.State(total=0)
for step in outlast.steps(12, state, save_steps=2):
    state.total += step
    time.sleep(0.02)
(outlast.output_dir() / "result.txt").write_text(f"{alpha.version} {state.total}")
"""


def test_a_drill_like_a_job_has_the_packages_of_that_job(user: User, links: Path) -> None:
    """Its own: whatever the files say by now that declared them, and without asking any index."""
    user.write("train.py", DRILLED)
    user.write("more.txt", "alpha\n")
    ran = user.outlast("run", "--requirements", "more.txt", "--job-id", "like-this", "train.py")
    assert ran.code == 0, ran.err
    forget_index(links)
    user.write("more.txt", "gamma\n")
    drilled = user.outlast("drill", "--like", "like-this", "--kills", "1", "--json")
    assert drilled.code == 0 and drilled.json["survived"], drilled.out + drilled.err
    other = user.outlast("drill", "--like", "like-this", "--requirements", "more.txt")
    assert other.code != 0 and "gamma" in other.err, "what is asked for now counts"


def test_another_computer_has_the_same_from_the_home_alone(user: User, links: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "shared")
    first = user.outlast("run", "--home", home, "--requirements", "requirements.txt", "train.py")
    forget_index(links)
    other = replace(user, root=tmp_path / "other")
    other.work.mkdir(parents=True)
    other.write("requirements.txt", "alpha\n")
    other.write("train.py", TRAIN)
    try:
        second = other.outlast("run", "--home", home, "--requirements", "requirements.txt", "train.py")
    finally:
        stop_everything(other)
    assert (first.code, second.code) == (0, 0), second.err
    assert "from the home" in second.err
    assert second.out.split()[:4] == first.out.split()[:4] and str(other.outlast_dir) in second.out


def test_every_attempt_has_the_environment_of_the_first(user: User) -> None:
    user.write(
        "train.py",
        f"{TRAIN}import os, shutil\n"
        "if os.environ['OUTLAST_ATTEMPT'] < '3':\n"
        "    open(os.path.join(os.path.dirname(alpha.__file__), 'alpha_plugin.py'), 'w').close()\n"
        "    sys.exit(1)\n"
        "import importlib.util\n"
        "print('plugin', importlib.util.find_spec('alpha_plugin'))\n",
    )
    said = user.outlast("run", "--retries", "2", "--requirements", "requirements.txt", "train.py")
    assert said.code == 0, said.err
    words = [line.split()[:4] for line in said.out.splitlines() if line.startswith("alpha")]
    assert words == [["alpha", "1.0", "beta", "1.0"]] * 3
    assert "plugin None" in said.out, "what an attempt has put into it is not there for the next"


def test_a_shell_script_finds_the_environments_programs(user: User) -> None:
    user.write("run.sh", "beta-tool\npython -c 'import alpha; print(alpha.version)'\necho $OUTLAST_ENVIRONMENT\n")
    said = user.outlast("run", "--requirements", "requirements.txt", "run.sh")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[:2] == ["tool of beta", "1.0"] and Path(lines[2]).is_dir()


def test_a_project_finds_its_own_package(user: User) -> None:
    user.write(
        "pyproject.toml",
        '[project]\nname = "mine"\ndependencies = []\n[project.optional-dependencies]\ntrain = ["alpha"]\n',
    )
    user.write("src/mine/__init__.py", "import alpha\nanswer = 42\n")
    user.write("scripts/train.py", "import mine, alpha\nprint(mine.answer, mine.__file__)\n")
    said = user.outlast("run", "--extras", "train", "scripts/train.py")
    assert said.code == 0, said.err
    answer, where = said.out.split()
    assert answer == "42" and not where.startswith(str(user.work)), "the bundle's, not what lies here now"


def test_a_setup_runs_once_and_its_words_are_in_the_log(user: User) -> None:
    user.write(
        "setup.sh",
        "#!/bin/bash\nset -e\necho preparing\nwhich pip\npython -m pip --version\n"
        'packages=$(python -c "import alpha, os; print(os.path.dirname(alpha.__file__))")\n'
        'echo "made = True" > "$packages/prepared.py"\ntouch left-behind\n',
    )
    user.write("train.py", "import os, prepared\nprint(prepared.made, os.path.exists('left-behind'))\n")
    first = user.outlast("run", "--setup", "setup.sh", "--requirements", "requirements.txt", "train.py")
    second = user.outlast("run", "--setup", "setup.sh", "--requirements", "requirements.txt", "train.py")
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert f"outlast: setup: {user.outlast_dir}" in first.out and "outlast: setup: pip 2" in first.out
    assert "outlast: setup: preparing" in first.out and first.out.endswith("True False\n")
    assert second.out == "True False\n"


def test_a_setup_that_fails_is_the_jobs_end(user: User) -> None:
    user.write("setup.sh", "echo one\necho the reason >&2\nexit 3\n")
    said = user.outlast("run", "--retries", "5", "--setup", "setup.sh", "train.py")
    assert said.code == 1
    assert "the setup script `setup.sh` ended with exit code 3" in said.err and "the reason" in said.err
    assert said.out.count("the reason") == 1, "and not tried again and again"
    assert "outlast: setup: one" in user.outlast("logs").out
    assert not list((user.outlast_dir / "cache" / "environments").iterdir())


def test_a_setup_that_is_not_shipped_is_refused_before_anything_is_submitted(user: User) -> None:
    user.write("setup.sh", "true\n")
    user.write(".outlastignore", "setup.sh\n")
    said = user.outlast("run", "--setup", "setup.sh", "train.py")
    assert said.code == 2 and "`setup.sh` is there and is left out of the bundle" in said.err, said.err
    assert not (user.home / "jobs").exists()


def test_a_setup_that_is_killed_is_run_again(user: User) -> None:
    marker = user.root / "ran-before"
    user.write(
        "setup.sh", f"if [ ! -e {marker} ]; then touch {marker}; kill -9 $PPID; sleep 60; fi\necho second time\n"
    )
    user.write("train.py", "print('trained')\n")
    said = user.outlast("run", "--setup", "setup.sh", "train.py")
    assert said.code == 0, said.err
    assert "second time" in said.out and "trained" in said.out


@pytest.mark.parametrize(
    ("lines", "code"),
    [("no-such-package-anywhere\n", 2), ("beta==1.0\nbeta==2.0\n", 2), ("alpha==77\n", 2)],
)
def test_what_cannot_be_resolved_is_never_submitted(user: User, lines: str, code: int) -> None:
    user.write("requirements.txt", lines)
    said = user.outlast("run", "--requirements", "requirements.txt", "train.py")
    assert said.code == code
    assert "hint: " in said.err and "nothing was submitted" in said.err
    assert user.outlast("jobs", "--json").json == []


def test_an_import_that_nothing_provides_is_never_submitted(user: User) -> None:
    user.write("train.py", "import json\nimport yaml\n")
    said = user.outlast("run", "--requirements", "requirements.txt", "train.py")
    assert said.code == 2
    assert "`train.py` line 2 imports `yaml`" in said.err and "PyYAML" in said.err
    assert user.outlast("jobs", "--json").json == []


def test_a_rehearsal_tells_the_environment_and_makes_nothing(user: User) -> None:
    said = user.outlast("run", "--dry-run", "--requirements", "requirements.txt", "train.py")
    assert said.code == 0, said.err
    assert "put environments/" in said.out and "upload environments/parts/" in said.out
    assert "2 packages, resolved by uv" in said.err
    assert not user.home.exists()


def test_the_spec_says_what_the_job_ran_with(user: User) -> None:
    said = user.outlast("run", "--dry-run", "--json", "--requirements", "requirements.txt", "train.py")
    environment = said.json["spec"]["environment"]
    assert environment["packages"] == 2 and environment["source"] == "requirements.txt"
    assert len(environment["digest"]) == 64


def test_settings_may_name_requirements(user: User) -> None:
    user.write("outlast.toml", 'requirements = ["requirements.txt"]\n')
    said = user.outlast("run", "train.py")
    assert said.code == 0 and "requirements.txt" in said.err, said.err


def environments(user: User) -> list[str]:
    return sorted(
        str(path.relative_to(user.home)) for path in (user.home / "environments").rglob("*") if path.is_file()
    )


def test_a_prune_keeps_what_a_job_has_and_removes_what_none_has(user: User, links: Path) -> None:
    run = ("run", "--requirements", "requirements.txt", "train.py")
    assert user.outlast(*run, "--", "first").code == 0
    before = environments(user)
    assert user.outlast("prune", "--yes", "--keep-jobs").code == 0
    assert environments(user) == before
    forget_index(links)
    again = user.outlast(*run)
    assert again.code == 0 and "from the home" in again.err, again.err
    jobs = [row["job"] for row in user.outlast("jobs", "--json").json]
    assert user.outlast("delete", "--yes", *jobs).code == 0
    pruned = user.outlast("prune", "--yes")
    assert pruned.code == 0, pruned.err
    left = [path for path in environments(user) if (user.home / path).stat().st_size > len("deleted\n")]
    assert not [path for path in left if "/parts/" in path], left
    gone = user.outlast(*run)
    assert gone.code == 2 and "cannot be resolved" in gone.err, "nothing half is believed"


def test_a_drill_has_the_environment_too(user: User) -> None:
    user.write(
        "train.py",
        "import alpha, outlast, time\nstate = outlast.State(total=0)\n"
        "for step in outlast.steps(40, state, save_steps=5):\n    state.total += step\n    time.sleep(0.02)\n"
        "(outlast.output_dir() / 'total.txt').write_text(f'{state.total} {alpha.version}')\n",
    )
    said = user.outlast("drill", "--kills", "1", "--seed", "1", "--requirements", "requirements.txt", "train.py")
    assert said.code == 0, said.out + said.err


def test_show_tells_the_environment(user: User) -> None:
    assert user.outlast("run", "--requirements", "requirements.txt", "train.py").code == 0
    assert "2 packages of `requirements.txt`" in user.outlast("show").out
