"""`outlast run --dataset` and `outlast push`: what a script sees of its data."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from outlast.bundle.dataset.http import look
from outlast.errors import NotFound
from tests.bad_input.surroundings import obey_modes, small_disk
from tests.cli.user import User
from tests.data.material import make, noise

SEES = """
import json, os, pathlib, sys
import outlast
seen = {name: value for name, value in os.environ.items() if name.startswith("OUTLAST_DATASET")}
for name, value in list(seen.items()):
    path = pathlib.Path(value)
    if path.is_dir():
        seen[name] = {str(one.relative_to(path)): one.read_text() for one in path.rglob("*") if one.is_file()}
    elif path.is_file():
        seen[name] = path.name + ": " + path.read_text()
print(json.dumps(seen))
"""


@pytest.fixture
def ready(user: User) -> User:
    user.write("train.py", SEES)
    make(user.work / "data", {"a.txt": b"one", "b/c.txt": b"two"})
    return user


def seen(user: User, *options: str) -> Any:
    said = user.outlast("run", *options, "train.py")
    assert said.code == 0, said.err
    return json.loads(said.out)


DATA = {"a.txt": "one", "b/c.txt": "two"}


def test_a_directory_is_seen_as_a_local_path(ready: User) -> None:
    assert seen(ready, "--dataset", "data") == {"OUTLAST_DATASET": DATA}
    assert seen(ready, "--dataset", "./data/") == {"OUTLAST_DATASET": DATA}
    assert seen(ready, "--dataset", f"file://{ready.work}/data") == {"OUTLAST_DATASET": DATA}


def test_a_file_is_seen_as_a_file(ready: User) -> None:
    assert seen(ready, "--dataset", "data/a.txt") == {"OUTLAST_DATASET": "a.txt: one"}


def test_several_datasets_have_names(ready: User) -> None:
    make(ready.work / "val set", {"v": b"three"})
    found = seen(ready, "--dataset", "train=data", "--dataset", "val-1=val set")
    assert found == {"OUTLAST_DATASET_TRAIN": DATA, "OUTLAST_DATASET_VAL_1": {"v": "three"}}
    assert seen(ready, "--dataset", "x=data") == {"OUTLAST_DATASET": DATA, "OUTLAST_DATASET_X": DATA}
    found = seen(ready, "--dataset", "data", "--dataset", "val=val set")
    assert found == {"OUTLAST_DATASET": DATA, "OUTLAST_DATASET_VAL": {"v": "three"}}


def test_what_was_pushed_is_found_by_its_name_and_older_ones_by_their_digest(ready: User) -> None:
    first = ready.outlast("push", "data", "--json").json
    assert first["name"] == "data" and first["files"] == 2 and first["uploaded_bytes"] > 0
    assert ready.outlast("push", "data", "mine").out == "mine\n"
    make(ready.work / "data", {"a.txt": b"newer"})
    assert ready.outlast("push", "data", "mine").code == 0
    make(ready.work, {"data/a.txt": b"newest"})
    assert seen(ready, "--dataset", "mine") == {"OUTLAST_DATASET": {**DATA, "a.txt": "newer"}}
    assert seen(ready, "--dataset", first["digest"]) == {"OUTLAST_DATASET": DATA}
    assert seen(ready, "--dataset", first["digest"][:12]) == {"OUTLAST_DATASET": DATA}
    unknown = ready.outlast("run", "--dataset", "yours", "train.py")
    assert unknown.code == 3 and "hint: `outlast push DIRECTORY yours`" in unknown.err


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--dataset", "./nowhere"], 3, "there is no `./nowhere`"),
        (["--dataset", "data", "--dataset", "data"], 2, "two datasets would both be `OUTLAST_DATASET`"),
        (["--dataset", "a-b=data", "--dataset", "a_b=data"], 2, "would both be `OUTLAST_DATASET_A_B`"),
        (["--dataset", "url=data"], 2, "a dataset cannot be called `url`"),
        (["--dataset", "data", "--dataset-mode", "url"], 2, "is for a dataset that is a URL"),
        (["--dataset-mode", "url"], 2, "without a dataset"),
        (["--dataset", "ftp://example.org/x"], 2, "`ftp:` is not known"),
        (["--dataset", "https://u:pass@example.org/x"], 2, "holds a secret"),
        (["--dataset", "https://example.org/x?X-Goog-Signature=abc"], 2, "holds a secret"),
        (["--dataset", "Not A Name"], 2, "cannot be a dataset's name"),
        (["--dataset", ""], 2, "is no dataset"),
    ],
)
def test_a_wrong_dataset_is_refused_before_anything_is_made(
    ready: User, options: list[str], code: int, words: str
) -> None:
    said = ready.outlast("run", *options, "train.py")
    assert said.code == code and words in said.err and "pass" not in said.err.replace("passed", "")
    assert ready.outlast("jobs", "--json").json == []


def test_a_dry_run_pushes_nothing(ready: User) -> None:
    said = ready.outlast("run", "--dry-run", "--dataset", "data", "train.py")
    assert said.code == 0 and "upload packs/" in said.out and "put datasets/" in said.out
    assert not ready.home.exists() or not list((ready.home).glob("datasets/*"))


def test_a_trainer_cannot_write_to_its_dataset_nor_to_the_home(ready: User) -> None:
    ready.become = obey_modes
    ready.write(
        "train.py",
        "import os, pathlib\nplace = pathlib.Path(os.environ['OUTLAST_DATASET'])\n"
        "for path in (place / 'a.txt', place / 'new'):\n"
        "    try:\n        path.write_text('changed')\n"
        "    except PermissionError:\n        print('refused')\n"
        "os.chmod(place / 'a.txt', 0o600)\n(place / 'a.txt').write_text('insi' + 'sted')\n",
    )
    said = ready.outlast("run", "--dataset", "data", "train.py")
    assert (said.code, said.out) == (0, "refused\nrefused\n"), said.err
    assert not [path for path in ready.home.rglob("*") if path.is_file() and b"insisted" in path.read_bytes()]


def test_nobody_else_may_look_at_any_of_it(ready: User) -> None:
    assert ready.outlast("push", "data", "mine").code == 0
    assert seen(ready, "--dataset", "mine")
    places = [ready.outlast_dir, *ready.outlast_dir.rglob("*")]
    trainers = [path for path in places if any(part.startswith("trainer-") for part in path.parts)]
    mine = [path for path in places if path not in trainers and not path.is_symlink()]
    open_ones = [path for path in mine if path.stat().st_mode & 0o077]
    assert [
        path for path in open_ones if "datasets" in path.parts or "home" in path.parts or "pushes" in path.parts
    ] == []
    assert ready.outlast_dir.stat().st_mode & 0o077 == 0


def test_a_home_that_is_full_in_the_middle_of_a_push_says_so_and_nothing_is_lost(ready: User) -> None:
    make(ready.work / "big", {f"{number}": noise(1 << 20, number) for number in range(12)})
    with small_disk(ready, ready.root / "disk", "20m") as disk:
        home = ["--home", str(disk.path / "home")]
        (disk.seen / "ballast").write_bytes(bytes(12 << 20))
        said = ready.outlast("push", "big", *home)
        assert said.code == 6 and "no space left" in said.err.lower() and "hint: " in said.err, said.err
        assert not list((disk.seen / "home").glob("datasets/*"))
        uploaded = sum(path.stat().st_size for path in (disk.seen / "home" / "packs").iterdir())
        assert uploaded >= 5 << 20
        disk.free()
        again = ready.outlast("push", "big", *home, "--json")
        assert again.code == 0, again.err
        assert again.json["uploaded_bytes"] < (12 << 20) - uploaded + 10_000


class Served(http.server.BaseHTTPRequestHandler):
    content = b"from afar"
    etag = '"1"'
    heads = True
    breaks = 0

    def do_HEAD(self) -> None:
        if not self.heads or self.path != "/data.csv":
            self.send_error(405)
            return
        self._begin(200, len(self.content))

    def do_GET(self) -> None:
        if self.path != "/data.csv":
            self.send_error(404 if self.path != "/secret" else 403)
            return
        content, status = self.content, 200
        if ranged := self.headers.get("Range"):
            first, _, last = ranged.removeprefix("bytes=").partition("-")
            content, status = content[int(first) : int(last) + 1 if last else None], 206
        self._begin(status, len(content), f"bytes x/{len(self.content)}" if ranged else "")
        if type(self).breaks:
            type(self).breaks -= 1
            content = content[: len(content) // 2]
        self.wfile.write(content)

    def _begin(self, status: int, size: int, ranged: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(size))
        self.send_header("ETag", self.etag)
        if ranged:
            self.send_header("Content-Range", ranged)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def served() -> Iterator[tuple[str, type[Served]]]:
    handler = type("One", (Served,), {})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", handler
    server.shutdown()
    server.server_close()


def test_a_url_is_copied_to_the_machine_once(ready: User, served: tuple[str, type[Served]]) -> None:
    url, handler = served
    handler.breaks = 1
    wanted = {"OUTLAST_DATASET": "data.csv: from afar", "OUTLAST_DATASET_URL": f"{url}/data.csv"}
    assert seen(ready, "--dataset", f"{url}/data.csv") == wanted
    handler.do_GET = lambda self: self.send_error(500)  # type: ignore[method-assign]
    assert seen(ready, "--dataset", f"{url}/data.csv") == wanted


def test_a_server_that_answers_no_head_is_asked_otherwise(ready: User, served: tuple[str, type[Served]]) -> None:
    url, handler = served
    handler.heads = False
    assert seen(ready, "--dataset", f"{url}/data.csv")["OUTLAST_DATASET"] == "data.csv: from afar"


def test_proxies_come_from_the_environment_alone(
    served: tuple[str, type[Served]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS has others, and whoever asks for them in a process that was forked, as an agent is, does not live on."""
    url, _ = served

    def ask_macos(*_: object) -> None:
        raise AssertionError("the system was asked for its proxies")

    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(urllib.request, "_opener", None)
    monkeypatch.setattr(urllib.request, "getproxies", ask_macos)
    monkeypatch.setattr(urllib.request, "proxy_bypass", ask_macos)
    assert look(f"{url}/data.csv").bytes == len(Served.content)
    monkeypatch.setattr(urllib.request, "proxy_bypass", lambda host: False)
    monkeypatch.setenv("http_proxy", url)
    with pytest.raises(NotFound):  # by this server, which is no proxy
        look("http://far.invalid/data.csv")


def test_a_url_is_passed_on_where_that_is_asked(ready: User, served: tuple[str, type[Served]]) -> None:
    url, _ = served
    found = seen(ready, "--dataset", f"x={url}/data.csv", "--dataset-mode", "url")
    assert found == {"OUTLAST_DATASET_URL": f"{url}/data.csv", "OUTLAST_DATASET_URL_X": f"{url}/data.csv"}


def test_a_url_that_leads_nowhere_is_refused_at_submit(ready: User, served: tuple[str, type[Served]]) -> None:
    url, _ = served
    missing = ready.outlast("run", "--dataset", f"{url}/nothing", "train.py")
    assert missing.code == 3 and "there is nothing at" in missing.err
    closed = ready.outlast("run", "--dataset", f"{url}/secret", "train.py")
    assert closed.code == 4 and "may not be read" in closed.err
    gone = ready.outlast("run", "--dataset", "http://127.0.0.1:9/x", "train.py")
    assert gone.code == 6 and "cannot be reached" in gone.err


def test_a_url_that_holds_something_else_than_at_submit_is_not_trained_with(
    ready: User, served: tuple[str, type[Served]]
) -> None:
    url, handler = served
    ready.write("train.py", "raise SystemExit(1)")
    assert ready.outlast("run", "--dataset", f"{url}/data.csv", "--job-id", "j", "train.py").code == 1
    handler.etag, handler.content = '"2"', b"something else"
    shutil.rmtree(ready.outlast_dir / "cache" / "datasets")
    again = ready.outlast("resume", "j")
    assert again.code == 1 and "is not what it was when the job was submitted" in again.err


def test_names_can_be_listed_and_forgotten(ready: User) -> None:
    for name in ("one", "two"):
        assert ready.outlast("push", "data", name).code == 0
    listed = ready.outlast("push", "--list", "--json").json
    assert [(row["name"], row["files"], row["bytes"]) for row in listed] == [("one", 2, 6), ("two", 2, 6)]
    assert "one" in ready.outlast("push", "--list").out
    assert ready.outlast("push", "--forget", "one").code == 0
    assert [row["name"] for row in ready.outlast("push", "--list", "--json").json] == ["two"]
    assert ready.outlast("push", "--forget", "one").code == 3
    for wrong in ([], ["data", "--list"], ["--list", "--forget", "two"]):
        assert ready.outlast("push", *wrong).code == 2
