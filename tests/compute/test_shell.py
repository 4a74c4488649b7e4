"""A machine to work on, and a machine that lingers: they are there as long as they were asked to be, and not longer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running
from tests.cli.user import User, end_processes
from tests.compute.renting import ANN, listed, ready, rented
from tests.gcloud import need_gcloud
from tests.waiting import until

TIME_SCALE = 0.02


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "google", time_scale=TIME_SCALE, process=True) as found:
        yield found


@pytest.fixture
def user(emulator: Running, tmp_path: Path) -> Iterator[User]:
    one = ready(emulator, tmp_path / "ada", "--ssh")
    yield one
    end_processes(one)


def state(user: User, job: str) -> str:
    return str(user.outlast("show", job, "--json").json["state"])


def test_a_rented_machine_to_work_on_says_how_to_enter_and_goes_when_nobody_comes(
    emulator: Running, user: User
) -> None:
    user.write("notes.txt", "mine\n")
    run = ("run", "--on", "compute", "--shell", "--linger", "3s", "--max-run", "1h", "--job-id", "bench")
    ran = user.outlast(*run)
    assert ran.code == 0, ran.err
    assert "ends after 1 h at the latest" in ran.err
    assert "`outlast ssh bench` enters it" in ran.err
    assert "this machine waits for you: `outlast ssh bench`" in ran.out
    until(lambda: not rented(emulator), "the machine is gone")


def test_a_member_gets_into_a_rented_machine_and_lands_in_the_job_with_its_environment(
    emulator: Running, user: User, tmp_path: Path
) -> None:
    """By gcloud, through the tunnel, to an sshd whose accounts Google's agent makes; where only `init --ssh` lets the tunnel in."""
    need_gcloud()
    assert emulator.call("DELETE", "/compute/v1/projects/emulated/global/firewalls/default-allow-ssh").status == 200
    token = emulator.call("POST", "/_emulator/iam/tokens", {"email": ANN}).json()["access_token"]
    user.env |= {"CLOUDSDK_AUTH_ACCESS_TOKEN": token, "CLOUDSDK_CONFIG": str(tmp_path / "gcloud")}
    user.write("notes.txt", "it's mine\n")
    assert user.outlast("run", "--on", "compute", "--shell", "--linger", "1h", "--job-id", "desk", "--detach").code == 0
    until(lambda: "waits for you" in user.outlast("logs", "desk").out, "it waits")
    said: list[str] = []

    def visited() -> bool:
        """gcloud gives a new key a minute to get there, and then says: try again."""
        asked = "cat notes.txt; printf '%s|' \"$OUTLAST_JOB\" 'a  b' $(id -un); exit 7"
        visit = user.outlast("ssh", "desk", "--", asked)
        said.append(visit.out)
        return visit.code == 7

    until(visited, "somebody gets in")
    assert said[-1].endswith("it's mine\ndesk|a  b|root|")  # after what ssh-keygen says
    words = user.outlast("ssh", "desk", "--", "printf", "%s|", "a  b", "$HOME", ";false")
    assert (words.code, words.out) == (0, "a  b|$HOME|;false|"), words.err
    assert user.outlast("stop", "desk").code == 0
    assert not rented(emulator)


def test_a_machine_to_work_on_is_there_while_somebody_is(tmp_path: Path) -> None:
    """On this computer: the directory of the job, its name, and a visit that is longer than the wait for one."""
    user = User(tmp_path)
    user.write("notes.txt", "mine\n")
    try:
        for number in range(1, 9):
            desk = f"desk-{number}"
            started = user.outlast("run", "--shell", "--linger", "10s", "--job-id", desk, "--detach")
            assert started.code == 0, started.err
            assert "ends after 12 h at the latest" in started.err
            until(lambda: "waits for you" in user.outlast("logs", desk).out, "it waits")  # noqa: B023
            visit = user.outlast("ssh", desk, "--", "cat notes.txt; echo $OUTLAST_JOB; sleep 12; echo still here")
            if visit.code != 3:  # on a busy computer nobody was there in time, and it has gone
                break
        assert visit.out.split("\n")[:3] == ["mine", desk, "still here"], visit.err
        assert state(user, desk) == "running"
        until(lambda: state(user, desk) == "succeeded", "nobody is there any more")
    finally:
        end_processes(user)


def test_shell_takes_no_target(tmp_path: Path) -> None:
    user = User(tmp_path)
    user.write("train.py", "")
    both = user.outlast("run", "--shell", "train.py")
    assert both.code == 2 and "`--shell` runs nothing" in both.err
    neither = user.outlast("run")
    assert neither.code == 2 and "TARGET" in neither.err and "--shell" in neither.err


def test_a_machine_lingers_as_long_as_it_was_asked_to_and_is_no_leak_meanwhile(emulator: Running, user: User) -> None:
    user.write("quick.py", "print('quick')\n")
    ran = user.outlast("run", "--on", "compute", "--linger", "40s", "--job-id", "quick", "quick.py")
    assert ran.code == 0, ran.err
    assert [one["status"] for one in listed(emulator, "instances")] == ["RUNNING"]
    audited = user.outlast("audit", "--json")
    assert audited.code == 0, audited.out + audited.err
    machines = [item for item in audited.json["items"] if item["kind"] == "machine"]
    assert [item["verdict"] for item in machines] == ["needed"] and "lingers" in machines[0]["why"]
    entered = user.outlast("ssh", "quick", "--", "true", PATH="/nonexistent")
    assert "gcloud" in entered.err, "the way to a machine that lingers is known: " + entered.err
    until(lambda: not rented(emulator) and not listed(emulator, "instances"), "it has lingered enough")
    gone = user.outlast("ssh", "quick")
    assert gone.code == 3 and "does not linger any more" in gone.err


def test_a_machine_that_is_taken_away_while_it_lingers_is_not_replaced_for_long(emulator: Running, user: User) -> None:
    user.write("quick.py", "print('quick')\n")
    ran = user.outlast("run", "--on", "compute", "--linger", "1h", "--job-id", "quick", "quick.py")
    assert ran.code == 0, ran.err
    (machine,) = listed(emulator, "instances")
    asked = {"instance": machine["name"], "notice_seconds": 0}
    assert emulator.call("POST", "/_emulator/preempt", asked).status == 200
    until(lambda: not rented(emulator), "nothing lingers that was not there before the end")
