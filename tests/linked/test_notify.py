"""`--notify`: the job's own machine tells of its end and of a stall: without a laptop, at most once, and never to the job's harm."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from outlast.errors import NotFound, OutlastError, UsageError
from outlast.host import system
from outlast.jobs.asked import Asked
from outlast.jobs.job import Job
from outlast.jobs.notify import list_notifications
from outlast.jobs.resume import resume
from outlast.jobs.submit import submit
from outlast.jobs.watch import wait
from outlast.machine.post import post, refused
from outlast.spec.notify import check_notify
from outlast.testing import crash
from outlast.testing.crash import BOOT, Point
from tests.cli.user import User
from tests.crash.conftest import Laptop, wait_for_quiet

TELL = """#!/bin/sh
# One line for each time that it is called.
cat > "$0.$$.json"
echo "$OUTLAST_EVENT $OUTLAST_JOB $OUTLAST_STATE $OUTLAST_EXIT_CODE $OUTLAST_WHY" >> "$0.told"
"""


def told(laptop: Laptop) -> list[str]:
    path = laptop.work / "tell.sh.told"
    return path.read_text().splitlines() if path.exists() else []


def ask(laptop: Laptop, script: str, *notify: str) -> Asked:
    (laptop.work / "job.py").write_text(script)
    tell = laptop.work / "tell.sh"
    if not tell.exists():
        tell.write_text(TELL)
        tell.chmod(0o755)
    return replace(laptop.asked("job", "job.py"), notify=notify or ("./tell.sh",))


def run(laptop: Laptop, asked: Asked) -> Job:
    """To its end, and to the end of its machines."""
    job = submit(laptop.world(), asked).job
    wait(laptop.world(), job)
    assert not wait_for_quiet(laptop)
    return job


@pytest.mark.parametrize(
    ("script", "line"),
    [("pass", "ended job succeeded 0 "), ("raise SystemExit(3)", "ended job failed 3 the trainer exited with 3")],
)
def test_a_command_is_told_of_the_end_with_the_facts(laptop: Laptop, script: str, line: str) -> None:
    job = run(laptop, ask(laptop, script))
    assert told(laptop) == [line]
    (document,) = [json.loads(path.read_text()) for path in laptop.work.glob("tell.sh.*.json")]
    assert (document["job"], document["attempts"], document["folder"]) == ("job", 1, job.folder_url)
    (shown,) = list_notifications(job)
    assert shown["event"] == "end-000001"
    assert shown["told"] == [{"to": str(laptop.work / "tell.sh"), "problem": None}]


def test_each_launch_has_its_own_end(laptop: Laptop) -> None:
    job = run(laptop, ask(laptop, "raise SystemExit(3)"))
    resume(laptop.world(), job)
    wait(laptop.world(), job)
    assert not wait_for_quiet(laptop)
    assert [one["event"] for one in list_notifications(job)] == ["end-000001", "end-000002"]
    assert len(told(laptop)) == 2


def test_a_stall_is_told_before_the_next_attempt(laptop: Laptop) -> None:
    script = (
        "import os, time\nprint('begun', flush=True)\nif os.environ['OUTLAST_ATTEMPT'] == '1':\n    time.sleep(600)"
    )
    # Far more than a Python takes to say its first word.
    job = run(laptop, replace(ask(laptop, script), stall_seconds=5.0))
    assert [line.split()[:3] for line in told(laptop)] == [["stalled", "job", "stalled"], ["ended", "job", "succeeded"]]
    assert [one["event"] for one in list_notifications(job)] == ["stalled-000001", "end-000001"]


def test_a_job_that_is_stopped_tells_before_its_machine_is_taken_away(laptop: Laptop) -> None:
    from outlast.jobs.stop import stop

    asked = ask(laptop, "import time\nprint('begun', flush=True)\ntime.sleep(600)", "sh -c 'sleep 1; ./tell.sh'")
    job = submit(laptop.world(), asked).job
    while job.folder.read_head().head.state.value != "running":
        laptop.world().clock.sleep(0.02)
    assert stop(laptop.world(), job).state == "stopped"
    assert [line.split()[:3] for line in told(laptop)] == [["ended", "job", "stopped"]]


def test_what_is_told_hears_signals_as_from_a_shell(laptop: Laptop) -> None:
    job = run(laptop, ask(laptop, "pass", "timeout 1 sleep 60"))
    assert list_notifications(job)[0]["told"][0]["problem"] == "it ended with exit code 124"


def test_an_attempt_that_is_tried_again_is_no_end(laptop: Laptop) -> None:
    script = "import os, sys\nsys.exit(0 if os.environ['OUTLAST_ATTEMPT'] == '2' else 5)"
    run(laptop, replace(ask(laptop, script), retries=1))
    assert told(laptop) == ["ended job succeeded 0 "]


def test_a_command_that_fails_or_hangs_is_said_and_changes_nothing(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = laptop.work / "gone.sh"
    gone.write_text("#!/bin/sh\n")
    gone.chmod(0o755)
    asked = ask(laptop, "import os; os.unlink(os.environ['GONE'])", "sh -c 'exit 4'", "./gone.sh", "./tell.sh")
    job = run(laptop, replace(asked, env={"GONE": str(gone)}))
    assert wait(laptop.world(), job).state == "succeeded"
    (shown,) = list_notifications(job)
    problems = {Path(one["to"].split()[0]).name: one["problem"] for one in shown["told"]}
    assert problems["sh"] == "it ended with exit code 4"
    assert problems["gone.sh"] == "it could not be started: No such file or directory"
    assert problems["tell.sh"] is None and len(told(laptop)) == 1


def test_a_command_that_never_ends_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    from random import Random

    from outlast.folder.folder import Folder
    from outlast.machine.notify import Notifier
    from outlast.spec.spec import Provenance, Spec, Target, TargetKind
    from outlast.store.memory import MemoryStore

    spec = Spec(
        "j", "j", Target(TargetKind.SCRIPT, "t.py"), "b", "python3", Provenance("0", directory="/no/such/place"), 1.0
    )
    notifier = Notifier(Folder(MemoryStore(), "j", Random(1)), spec, "id", "m", tmp_path, {"PATH": "/usr/bin:/bin"})
    mark = tmp_path / "mark"
    words = ["sh", "-c", f"(sleep 3; touch {mark}) & sleep 600"]
    assert notifier._run(words, {"event": "ended"}, b"{}", 0.5) == "it was ended after 0 s"
    assert "exit code" in notifier._run(["sh", "-c", 'test -n "$OUTLAST_EVENT" && exit 3'], {"event": "x"}, b"{}", 5)
    assert notifier._run(["sh", "-c", "test $PWD = /"], {}, b"{}", 5) == ""
    assert not mark.exists()


# Killed.


@pytest.mark.parametrize("victim", ["agent", "machine"])
@pytest.mark.parametrize(("occurrence", "when"), [(1, "before"), (1, "after"), (2, "before"), (2, "after")])
def test_whoever_dies_an_end_is_told_at_most_once(laptop: Laptop, occurrence: int, when: str, victim: str) -> None:
    """The first write is the claim, the second says what became of it."""
    crash.plan(laptop.user_dir, Point("put", "notify", occurrence, when, victim))
    asked = ask(laptop, "print('trained')")
    job = submit(laptop.world(BOOT), asked).job
    assert wait(laptop.world(BOOT), job).state == "succeeded"
    assert not wait_for_quiet(laptop)
    assert (laptop.user_dir / crash.DONE).exists()
    claimed_and_dead = (occurrence, when) == (1, "after")
    assert len(told(laptop)) == (0 if claimed_and_dead else 1)
    (shown,) = list_notifications(job)
    assert (shown["told"] is None) == ((occurrence, when) in ((1, "after"), (2, "before")))


# URLs.


class Server:
    """A real one on this computer, that remembers what it was sent."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str, Any]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((self.path, self.headers["Content-Type"], json.loads(body)))
                if self.path == "/hang":
                    threading.Event().wait(60)
                self.send_response({"/moved": 302, "/broken": 500}.get(self.path, 204))
                if self.path == "/moved":
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *args: Any) -> None:
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.server.shutdown()
    one.server.server_close()


def test_a_url_is_told_by_one_post_of_json(laptop: Laptop, server: Server) -> None:
    job = run(laptop, ask(laptop, "pass", f"{server.url}/hook?a=b"))
    ((path, kind, document),) = server.got
    assert (path, kind, document["state"], document["job"]) == ("/hook?a=b", "application/json", "succeeded", "job")
    assert list_notifications(job)[0]["told"][0]["problem"] is None


def test_a_url_that_is_a_secret_stands_in_no_record(
    laptop: Laptop, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", f"{server.url}/cnry-hook-77")
    job = run(laptop, ask(laptop, "pass", "env:HOOK"))
    assert [path for path, _, _ in server.got] == ["/cnry-hook-77"]
    for path in laptop.user_dir.rglob("*"):
        assert not path.is_file() or b"cnry-hook" not in path.read_bytes(), path
    assert list_notifications(job)[0]["told"] == [{"to": "env:HOOK", "problem": None}]


@pytest.fixture(params=[True, False], ids=["a copy", "a program"])
def sender(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that sends, as on Linux and as elsewhere."""
    monkeypatch.setattr(system, "LINUX", request.param)


@pytest.mark.usefixtures("sender")
def test_redirects_and_errors_are_problems_and_are_not_followed(server: Server) -> None:
    assert post(f"{server.url}/hook", b'{"two":\n"lines"}') == ""
    assert post(f"{server.url}/moved", b"{}") == "the server answered 302"
    assert post(f"{server.url}/broken", b"{}") == "the server answered 500"
    assert [path for path, _, _ in server.got] == ["/hook", "/moved", "/broken"]
    assert post("http://127.0.0.1:9/", b"{}") == "Connection refused"
    assert post("https://no-such-host.invalid/", b"{}") == "the server's name is not known"


@pytest.mark.usefixtures("sender")
def test_a_server_that_never_answers_is_not_waited_for(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlast.machine.post.POST_SECONDS_MAX", 0.5)
    assert post(f"{server.url}/hang", b"{}") in ("no answer in time", "TimeoutError")


def test_a_server_without_a_valid_certificate_is_told_nothing(server: Server) -> None:
    secure = server.url.replace("http://", "https://")
    assert post(secure, b"{}") != ""
    assert server.got == []


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        "224.0.0.1",
        "0.0.0.0",
        "::",
        "240.0.0.1",
        "ff02::1",
    ],
)
def test_addresses_that_nothing_is_sent_to(address: str) -> None:
    assert refused(address, secure=True)


def test_plain_http_stays_on_this_network() -> None:
    assert refused("8.8.8.8", secure=False) and not refused("8.8.8.8", secure=True)
    assert not refused("127.0.0.1", secure=False) and not refused("192.168.1.4", secure=False)


# What is refused.


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "ftp://x/y",
        "https://",
        "https:///path",
        "http://a b/",
        "https://user:cnry-pass@host/",
        "https://host:0/",
        "https://host:99999/",
        "no-such-program x",
        "./missing.sh",
        "echo 'open",
        "env:NOT A NAME",
        "x" * 5000,
        "a\0b",
    ],
)
def test_what_cannot_be_told_is_refused_before_anything_starts(text: str, tmp_path: Path) -> None:
    with pytest.raises(OutlastError) as error:
        check_notify(text, tmp_path, "/usr/bin:/bin")
    assert isinstance(error.value, UsageError | NotFound)
    assert "cnry-pass" not in error.value.message + error.value.hint


def test_a_reference_that_holds_no_url_is_refused_and_not_repeated(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", "cnry-not-a-url")
    with pytest.raises(UsageError) as refusal:
        submit(laptop.world(), ask(laptop, "pass", "env:HOOK"))
    assert "cnry" not in refusal.value.message


def test_a_cloned_repository_may_not_say_who_is_told(user: User) -> None:
    user.write("job.py", "pass")
    user.write("outlast.toml", 'notify = ["touch stolen"]\n')
    refusal = user.outlast("run", "job.py")
    assert refusal.code == 2 and "sets notify" in refusal.err
    assert user.outlast("run", "--notify", "true", "job.py").code == 0
    assert user.outlast("config", "--trust").code == 0
    assert user.outlast("run", "--job-id", "two", "job.py").code == 0
    assert user.outlast("show", "--json", "two").json["spec"]["notify"] == ["touch stolen"]


def test_show_says_who_was_told_in_vain(user: User) -> None:
    user.write("job.py", "pass")
    assert user.outlast("run", "--job-id", "one", "--notify", "false", "job.py").code == 0
    for _ in range(200):
        shown = user.outlast("show", "one").out
        if "end-000001: told" in shown:
            break
    assert "end-000001: told false, in vain: it ended with exit code 1" in shown
    assert user.outlast("show", "--json", "one").json["notifications"][0]["told"][0]["to"] == "false"
