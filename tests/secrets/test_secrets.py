"""Where a secret may come from, what is refused before anything starts, and how long it is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from outlast.errors import NotFound, OutlastError, UsageError
from outlast.host import secrets as kept
from outlast.host.secrets import LaunchSecrets
from outlast.jobs.asked import Asked
from outlast.jobs.delete import delete
from outlast.jobs.resume import resume
from outlast.jobs.secrets import secrets_unneeded
from outlast.jobs.stop import stop
from outlast.jobs.submit import submit
from outlast.jobs.watch import wait
from outlast.spec.environment import check_env, parse_env, parse_env_plain
from outlast.spec.secrets import parse_secret
from outlast.testing.crash import killed_at
from tests.cli.user import OUTLAST, SECONDS_MAX, Terminal, User
from tests.crash.conftest import Laptop, wait_for_quiet

VALUE = "cnry-0123456789"


def with_secret(laptop: Laptop, job: str = "job", reference: str = "env:CANARY") -> Asked:
    (laptop.work / "say.py").write_text("import os, time\nprint(len(os.environ['TOKEN']), flush=True)\ntime.sleep(0.1)")
    return Asked("say.py", directory=str(laptop.work), job_id=job, secrets={"TOKEN": reference})


@pytest.fixture
def short(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> Asked:
    monkeypatch.setenv("CANARY", VALUE)
    asked = with_secret(laptop)
    (laptop.work / "say.py").write_text("import os\nassert len(os.environ['TOKEN']) == 15\n")
    return asked


def launches(laptop: Laptop) -> list[str]:
    return [launch for launch, _ in kept.launches(laptop.user_dir)]


def gone_with_its_machine(laptop: Laptop) -> bool:
    """The machine forgets what it was given when it leaves, and that is after the job's end."""
    return not wait_for_quiet(laptop) and launches(laptop) == []


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "WANDB_API_KEY", "MY_PASSWORD", "DB_PASSPHRASE"])
def test_what_looks_like_a_key_is_refused_as_a_plain_variable_unless_somebody_insists(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_env(f"{name}={VALUE}")
    assert VALUE not in refused.value.message + refused.value.hint
    assert f"--secret {name}=env:{name}" in refused.value.hint
    assert parse_env_plain(f"{name}={VALUE}") == (name, VALUE)
    with pytest.raises(UsageError):
        check_env(name, VALUE)


@pytest.mark.parametrize(
    "text",
    [
        f"TOKEN={VALUE}",
        f"TOKEN=http://{VALUE}",
        VALUE,
        f"TOKEN=env:{VALUE} x",
        f"TOKEN=secret:../{VALUE}/x",
        "TOKEN=",
        "=env:X",
    ],
)
def test_a_value_that_was_typed_in_the_place_of_a_reference_is_not_repeated(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_secret(text, Path("/"))
    said = refused.value.message + refused.value.hint
    assert VALUE not in said
    assert "env:" in said or not text.partition("=")[0]


def test_files_are_found_by_their_absolute_path(tmp_path: Path) -> None:
    assert parse_secret("A=file:x/../y", tmp_path) == ("A", f"file:{tmp_path}/y")


@pytest.mark.parametrize("reference", ["env:NOT_THERE", "file:/no/such/file", "secret:nobody", "file:/proc/self"])
def test_a_value_that_is_not_there_is_an_error_before_anything_is_written(laptop: Laptop, reference: str) -> None:
    with pytest.raises(OutlastError) as missing:
        submit(laptop.world(), with_secret(laptop, reference=reference))
    assert reference in missing.value.message
    assert "nothing was started" in missing.value.state
    home = laptop.world().home()
    assert [entry.key for entry in home.store.list("")] == []


@pytest.mark.parametrize("value", ["", "abc", "ab\0cd", "x" * 40_000])
def test_values_that_cannot_be_masked_or_passed_on_are_refused(laptop: Laptop, value: str) -> None:
    path = laptop.work.parent / "value"
    path.write_text(value)
    with pytest.raises(OutlastError) as refused:
        submit(laptop.world(), with_secret(laptop, reference=f"file:{path}"))
    assert value[:20] not in refused.value.message or not value


def test_a_file_that_holds_a_secret_is_not_shipped_with_the_rest(laptop: Laptop) -> None:
    (laptop.work / "keys").mkdir()
    (laptop.work / "keys" / "token.txt").write_text(VALUE)
    (laptop.work / "other.txt").write_text("shipped")
    (laptop.work / "keys" / "token.txt.example").write_text("shipped, though its name begins like that")
    asked = with_secret(laptop, reference="file:keys/token.txt")
    (laptop.work / "say.py").write_text(
        "import os\nassert os.environ['TOKEN'] and os.path.exists('other.txt') and os.listdir('keys') == ['token.txt.example']"
    )
    submitted = submit(laptop.world(), asked)
    assert wait(laptop.world(), submitted.job).state == "succeeded"
    for path in (laptop.user_dir / "home").rglob("*"):
        assert not path.is_file() or VALUE.encode() not in path.read_bytes(), path


def test_the_same_name_as_variable_and_as_secret_is_refused(laptop: Laptop, short: Asked) -> None:
    with pytest.raises(UsageError, match="`TOKEN` is given twice"):
        submit(laptop.world(), replace(short, env={"TOKEN": "12345"}))


def test_every_attempt_has_what_the_first_one_had(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", VALUE)
    asked = with_secret(laptop)
    (laptop.work / "say.py").write_text(
        "import os, sys\nassert os.environ['TOKEN'] == os.environ['EXPECTED'][::-1]\n"
        "sys.exit(75 if int(os.environ['OUTLAST_ATTEMPT']) < 3 else 0)"
    )
    job = submit(laptop.world(), replace(asked, env={"EXPECTED": VALUE[::-1]})).job
    monkeypatch.setenv("CANARY", "something else entirely")
    status = wait(laptop.world(), job)
    assert (status.state, len(status.attempts)) == ("succeeded", 3)


def test_a_value_goes_with_its_job_and_a_resume_reads_it_again(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch, short: Asked
) -> None:
    (laptop.work / "say.py").write_text("import os, sys\nsys.exit(0 if os.environ['TOKEN'] == 'another value' else 3)")
    job = submit(laptop.world(), short).job
    assert wait(laptop.world(), job).state == "failed"
    assert gone_with_its_machine(laptop)
    monkeypatch.delenv("CANARY")
    with pytest.raises(NotFound) as missing:
        resume(laptop.world(), job)
    assert "needs its secrets again" in missing.value.message and "env:CANARY" in missing.value.message
    assert job.folder.read_head().head.launch == 1
    monkeypatch.setenv("CANARY", "another value")
    resume(laptop.world(), job)
    assert wait(laptop.world(), job).state == "succeeded"
    assert gone_with_its_machine(laptop)


def test_a_job_that_a_command_ends_leaves_no_value_and_neither_does_one_that_is_deleted(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", VALUE)
    asked = with_secret(laptop)
    (laptop.work / "say.py").write_text("import time\ntime.sleep(600)")
    job = submit(laptop.world(), asked).job
    assert len(launches(laptop)) == 1
    stop(laptop.world(), job)
    assert launches(laptop) == []
    delete(laptop.world(), job)
    again = submit(laptop.world(), asked).job
    assert len(launches(laptop)) == 1
    stop(laptop.world(), again)
    assert launches(laptop) == []


def test_a_value_that_was_removed_from_the_disk_ends_the_job_with_words(laptop: Laptop, short: Asked) -> None:
    (laptop.work / "say.py").write_text("import sys\nsys.exit(75)")
    job = submit(laptop.world(), short).job
    while not (found := launches(laptop)):
        pass
    kept.forget_launch(laptop.user_dir, found[0])
    status = wait(laptop.world(), job)
    assert status.state == "failed"
    assert "the value of `TOKEN` is not on this machine any more" in status.why


def test_a_submit_killed_at_any_write_can_be_given_again(laptop: Laptop, short: Asked) -> None:
    wait(laptop.world(), submit(laptop.world(), short).job)
    delete(laptop.world(), laptop.job("job"))
    points = killed_at(laptop.world(), lambda world: submit(world, short), None)
    wait(laptop.world(), laptop.job("job"))
    assert points >= 10
    for point in range(points):
        delete(laptop.world(), laptop.job("job"))
        assert killed_at(laptop.world(), lambda world: submit(world, short), point) == -1
        submit(laptop.world(), short)
        assert wait(laptop.world(), laptop.job("job")).state == "succeeded"
    assert gone_with_its_machine(laptop)


def test_prune_finds_what_no_launch_needs_and_spares_what_is_young(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", VALUE)
    asked = with_secret(laptop)
    (laptop.work / "say.py").write_text("import time\ntime.sleep(600)")
    job = submit(laptop.world(), asked).job
    (needed,) = launches(laptop)
    for launch_id in ("left-behind", "young"):
        kept.put_launch(laptop.user_dir, launch_id, LaunchSecrets(job.home.url, "job", {"TOKEN": VALUE}))
    kept.put_launch(laptop.user_dir, "homeless", LaunchSecrets(str(laptop.work / "gone"), "job", {"TOKEN": VALUE}))
    for launch_id in (needed, "left-behind", "homeless"):
        os.utime(kept.launch_path(laptop.user_dir, launch_id), (1, 1))
    assert {path.stem for path in secrets_unneeded(laptop.world())} == {"left-behind", "homeless"}
    stop(laptop.world(), job)


def test_what_is_kept_is_not_shipped_from_a_directory_that_holds_it(user: User) -> None:
    user.write("say.py", "import os\nprint(sorted(os.listdir('.')))")
    assert user.outlast("jobs").code == 0
    kept.put_kept(user.outlast_dir, "A", VALUE)
    said = user.outlast("run", "work/say.py", cwd=user.root)
    assert "['work']" in said.out, said.err
    (user.work / "say.py").rename(user.outlast_dir / "say.py")
    said = user.outlast("run", "say.py", cwd=user.outlast_dir)
    assert "'say.py'" in said.out and "'secrets'" not in said.out and "'local'" not in said.out, said.err
    assert not [path for path in user.home.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()]


def test_names_are_listed_and_values_are_not(user: User) -> None:
    def keep(name: str, value: bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*OUTLAST, "secret", "set", name], env=user.environ(), input=value, capture_output=True, cwd=user.work
        )

    assert keep("B", VALUE.encode() + b"\n").returncode == 0
    assert keep("A", VALUE.encode()).returncode == 0
    assert kept.read_kept(user.outlast_dir, "B") == VALUE.encode()
    listed = user.outlast("secret", "list", "--json")
    assert listed.json == [{"name": "A"}, {"name": "B"}]
    assert user.outlast("secret", "list").out == "A\nB\n"
    for bad in (b"abc", b"", b"\xff\xfe\xfd\xfc", b"a\0bcdef", b"x" * 50_000):
        refused = keep("C", bad)
        assert refused.returncode == 2 and b"error:" in refused.stderr
    gone = user.outlast("secret", "delete", "A", "NOBODY")
    assert gone.code == 3 and user.outlast("secret", "list").out == "A\nB\n"
    assert user.outlast("secret", "delete", "A", "B").code == 0
    assert user.outlast("secret", "list").out == ""


@pytest.mark.parametrize("args", [("set", "A", VALUE), ("set", f"A={VALUE}"), (VALUE,), ("set", f"../{VALUE}/../x")])
def test_a_value_in_the_arguments_is_refused_and_not_repeated(user: User, args: tuple[str, ...]) -> None:
    said = user.outlast("secret", *args)
    assert said.code == 2 and "hint:" in said.err
    assert VALUE not in said.out + said.err
    assert not (user.outlast_dir / "secrets").exists()


def test_a_value_that_is_typed_is_not_shown(user: User) -> None:
    terminal = Terminal(user, "secret", "set", "TYPED")
    terminal.read_until(b"Value of TYPED", SECONDS_MAX)
    terminal.press(VALUE.encode() + b"\n")
    assert terminal.wait() == 0
    assert VALUE.encode() not in terminal.seen
    assert kept.read_kept(user.outlast_dir, "TYPED") == VALUE.encode()


def test_another_user_of_this_computer_can_read_none_of_it(user: User) -> None:
    user.outlast_dir.mkdir(mode=0o755)
    kept.put_kept(user.outlast_dir, "A", VALUE)
    os.chmod(user.outlast_dir / "secrets", 0o755)
    kept.put_kept(user.outlast_dir, "B", VALUE)
    assert (user.outlast_dir / "secrets").stat().st_mode & 0o077 == 0, "it is made private again"
    if os.getuid() == 0:
        os.chmod(user.root, 0o755)
        path = user.outlast_dir / "secrets" / "kept" / "A"
        script = f"import os; os.setuid(12345); print(open({str(path)!r}).read())"
        tried = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert tried.returncode != 0 and VALUE not in tried.stdout
