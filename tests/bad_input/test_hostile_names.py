"""Hostile names and words: they go through untouched, or are refused; no shell ever sees them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.user import User

CANARY = "canary"
WORDS: list[str | bytes] = [
    f"$(touch {CANARY})",
    f"`touch {CANARY}`",
    f"; touch {CANARY}",
    f"| touch {CANARY} &",
    f"\n touch {CANARY}\n",
    "a'b\"c\\d",
    "--",
    "--help",
    "-h",
    "",
    " ",
    "*",
    "~",
    "$HOME",
    "%s%n{0}",
    "../../../etc/passwd",
    "\x1b]0;title\x07\x1b[2J",
    "naïve 漢字 🎉 \u202e",
    "x" * 300,
    b"\xff\xfe not UTF-8",
]
BYTES = [word if isinstance(word, bytes) else word.encode() for word in WORDS]


def assert_no_canary(user: User) -> None:
    assert not [path for path in user.root.rglob("*") if path.name == CANARY]


@pytest.mark.parametrize("script", ["train.py", "train.sh"])
def test_arguments_go_through_byte_for_byte(user: User, script: str) -> None:
    texts = {
        "train.py": "import os, sys\nsys.stdout.buffer.write(b'\\0'.join(os.fsencode(one) for one in sys.argv[1:]))",
        "train.sh": 'first=""; for one in "$@"; do printf "$first%s" "$one"; first="\\\\0"; done',
    }
    user.write(script, texts[script])
    said = user.outlast("run", script, "--", *BYTES)
    assert said.code == 0, said.err
    assert said.raw.split(b"\0") == BYTES
    assert [os.fsencode(one) for one in user.outlast("show", "--json").json["args"]] == BYTES
    for command in ("show", "jobs"):
        shown = user.on_terminal(command, columns=2000).raw
        assert b"\x1b]" not in shown and b"\x1b[2J" not in shown and b"\n touch" not in shown
    assert_no_canary(user)


def test_variables_go_through_as_they_are_and_none_that_is_ours(user: User) -> None:
    user.write("train.py", "import os, sys\nsys.stdout.write(repr([os.environ[f'WORD_{n}'] for n in range(19)]))")
    words = [word for word in WORDS if isinstance(word, str)]
    given = [part for number, word in enumerate(words) for part in ("--env", f"WORD_{number}={word}")]
    said = user.outlast("run", *given, "train.py")
    assert said.code == 0 and said.out == repr(words)
    for bad in ("OUTLAST_JOB=x", "A B=c", "=x", "X", "1=2"):
        refused = user.outlast("run", "--env", bad, "train.py")
        assert refused.code == 2 and "hint: " in refused.err, bad
    assert user.outlast(b"run", b"--env", b"X=\xff", b"train.py").code == 2
    assert_no_canary(user)


@pytest.mark.parametrize(
    "name",
    [
        f"$(touch {CANARY}).py",
        f"; touch {CANARY};.py",
        f"a\ntouch {CANARY}\n.py",
        "quo'te\"s`.py",
        "-c.py",
        "--help.py",
        "naïve 漢字 🎉.py",
        "%s {} ~.py",
        "x" * 252 + ".py",
        "\x1b[2J.py",
        f"$(touch {CANARY}).sh",
    ],
)
def test_a_script_of_any_name_runs_under_that_name_alone(user: User, name: str) -> None:
    text = "printf '%s' \"$0\"" if name.endswith(".sh") else "import sys; sys.stdout.write(sys.argv[0])"
    user.write(name, text)
    said = user.outlast("run", "--job-id", "named", f"./{name}")
    assert said.code == 0 and os.path.basename(said.out) == name, (said.out, said.err)
    assert "\x1b" not in said.err
    assert user.outlast("show", "--json", "named").json["target"] == name
    assert_no_canary(user)


def test_the_name_of_a_job_is_made_of_any_target_and_given_names_are_refused(user: User) -> None:
    user.write("Größe 漢字 $(x).py", "")
    row = user.outlast("run", "--detach", "--json", "Größe 漢字 $(x).py").json
    assert set(row["job"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") and len(row["job"]) <= 40


NAMES = [
    b"plain.bin",
    b"new\nline",
    b"tab\tand \x1b[2J escape",
    b"back\\slash",
    f"quote'\"`$(touch {CANARY});".encode(),
    b"x" * 255,
    "漢".encode() * 85,
    "e\u0301".encode(),
    "\u00e9".encode(),
    b"..hidden",
    b"-rf",
    b"~",
    b"%2e%2e",
    b"a~1",
    b"head.json~7",
    b".nfs0001",
    b".DS_Store",
    b".tmp~",
    b"\x7f",
    b"\xff\xfe",
    b"con",
    b"trailing. ",
]
SAVES = """
import os, sys
for root in (os.environ["OUTLAST_CHECKPOINT_DIR"], os.environ["OUTLAST_OUTPUT_DIR"]):
    found = sorted(os.listdir(os.fsencode(root)))
    for name in {names!r}:
        assert not found or open(os.path.join(os.fsencode(root), name), "rb").read() == name
        with open(os.path.join(os.fsencode(root), name), "wb") as file:
            file.write(name)
print(len(found), "were there", flush=True)
sys.exit(int(sys.argv[1]) if not found else 0)
"""


def listed(directory: Path) -> list[bytes]:
    return sorted(os.listdir(os.fsencode(directory)))


def test_files_of_any_name_are_kept_restored_and_pulled(user: User) -> None:
    user.write("train.py", SAVES.format(names=NAMES))
    assert user.outlast("run", "--job-id", "files", "train.py", "--", "3").code == 1
    resumed = user.outlast("resume", "files")
    assert resumed.code == 0 and f"{len(NAMES)} were there" in resumed.out, resumed.out + resumed.err
    pulled = user.outlast("pull", "files", "--to", "to")
    assert pulled.code == 0, pulled.err
    for kind in ("checkpoint", "outputs"):
        assert listed(user.work / "to" / kind) == sorted(NAMES)
        assert all((user.work / "to" / kind / os.fsdecode(name)).read_bytes() == name for name in NAMES)
    shown = user.on_terminal("pull", "files", "--to", "again", columns=400)
    assert shown.code == 0 and b"\x1b[2J" not in shown.raw
    named = user.outlast("pull", "files", "back\\slash", "--to", "third", "--json").json["files"]
    assert named in (["outputs/back\\slash", "checkpoint/back\\slash"], [])  # as a pattern, `\s` is what it is
    assert_no_canary(user)


def test_files_of_any_name_are_shipped(user: User) -> None:
    for name in NAMES:
        (user.work / os.fsdecode(name)).write_bytes(name)
    user.write(
        "train.py",
        "import os, sys\nnames = sorted(os.listdir(b'.'))\n"
        "assert all(open(name, 'rb').read() == name for name in names if name != b'train.py')\n"
        "sys.stdout.buffer.write(b'\\0'.join(names))",
    )
    said = user.outlast("run", "train.py")
    assert said.code == 0, said.err
    shipped = set(said.raw.split(b"\0"))
    left_out = {name for name in NAMES if name not in shipped}
    assert left_out <= {b".DS_Store", b"back\\slash"} and "\x1b" not in said.err
    assert b"back\\slash" not in left_out or "left out `back\\slash`" in said.err
    assert_no_canary(user)


LEADS_OUT = """
import os, pathlib, shutil, sys, time
for variable in ("OUTLAST_CHECKPOINT_DIR", "OUTLAST_OUTPUT_DIR"):
    directory = pathlib.Path(os.environ[variable])
    shutil.rmtree(directory)
    directory.symlink_to(sys.argv[1])
(directory / "mine.bin").write_text("mine")
signs = pathlib.Path(sys.argv[2])
while not signs.exists():
    time.sleep(0.01)
"""


@pytest.mark.parametrize("options", [[], ["--checkpoint-dir", "a/b", "--output-dir", "out"]])
def test_a_directory_that_the_trainer_leads_elsewhere_is_not_followed_and_that_is_told(
    user: User, options: list[str]
) -> None:
    outside = user.root / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    user.write("train.py", LEADS_OUT)
    said = user.outlast(
        "run", "--detach", "--job-id", "led", *options, "train.py", "--", str(outside), str(user.root / "go")
    )
    assert said.code == 0, said.err
    follower = user.start("logs", "-f", "led")
    assert follower.stdout is not None
    told = follower.stdout.readline()
    assert b"leads out of this machine's directory, and nothing in it is kept" in told
    (user.root / "go").touch()
    assert follower.wait(60) == 0
    document = user.outlast("show", "--json", "led").json
    assert document["checkpoints"] == [] and user.outlast("pull", "led", "--json").json["files"] == []
    assert sorted(path.name for path in outside.iterdir()) == ["mine.bin", "secret"]
    assert not [path for path in user.home.rglob("*") if path.is_file() and path.read_bytes() == b"secret"]


LINKS = """
import os, pathlib
for variable in ("OUTLAST_CHECKPOINT_DIR", "OUTLAST_OUTPUT_DIR"):
    root = pathlib.Path(os.environ[variable])
    (root / "ckpt-7.bin").write_bytes(b"seven")
    (root / "last.bin").symlink_to("ckpt-7.bin")
    (root / "passwd").symlink_to("/etc/passwd")
    (root / "etc").symlink_to("/etc")
    (root / "up").symlink_to("..")
    (root / "self").symlink_to("self")
    (root / "zero").symlink_to("/dev/zero")
    (root / "nowhere").symlink_to("/nowhere/at/all")
    os.mkfifo(root / "pipe")
    (root / "round").mkdir()
    (root / "round" / "and").symlink_to("..")
"""


def test_links_pipes_and_circles_among_the_results_are_passed_over(user: User) -> None:
    user.write("train.py", LINKS)
    assert user.outlast("run", "--job-id", "links", "train.py").code == 0
    pulled = user.outlast("pull", "links", "--to", "to", "--json").json["files"]
    assert sorted(pulled) == [
        f"{kind}/{name}" for kind in ("checkpoint", "outputs") for name in ("ckpt-7.bin", "last.bin")
    ]


@pytest.mark.parametrize("option", ["--checkpoint-dir", "--output-dir"])
def test_a_directory_of_the_scripts_own_must_be_one_that_can_be_made(user: User, option: str) -> None:
    user.write("train.py", "")
    for value in ("/etc", "a/../../x", ".", "train.py/x", "x" * 300, "d/" * 2000):
        said = user.outlast("run", option, value, "train.py")
        assert said.code == 2 and "hint: " in said.err and "Traceback" not in said.err, (value, said.err)
    for odd in ("naïve 漢字".encode(), f"$(touch {CANARY})\n-x".encode(), b"\xff"):
        said = user.outlast("run", option, odd, "train.py")
        assert said.code == 0, (odd, said.err)
    assert_no_canary(user)


def test_what_was_pulled_never_leaves_its_directory(user: User) -> None:
    user.write(
        "train.py", "import os, pathlib; (pathlib.Path(os.environ['OUTLAST_OUTPUT_DIR']) / 'x').write_text('new')"
    )
    assert user.outlast("run", "--job-id", "one", "train.py").code == 0
    victim = user.root / "victim"
    victim.write_text("old")
    for trap in ("to/outputs/x", "to/outputs/.x.pulling", "to/outputs"):
        path = user.work / trap
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(victim if "x" in trap.rpartition("/")[2] else user.root)
        said = user.outlast("pull", "one", "--to", "to")
        assert said.code == (0 if "pulling" in trap else 4), said.err
        assert victim.read_text() == "old" and not (user.root / "x").exists()
        subprocess.run(["rm", "-rf", str(user.work / "to")], check=True)


def test_a_repository_that_wants_to_run_something_does_not(user: User) -> None:
    git = ["git", "-C", str(user.work)]
    user.write("train.py", "print('trained')")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "train.py"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    trap = user.root / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {user.root / CANARY}\n")
    trap.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.hooksPath",
        "core.pager",
        "filter.x.clean",
        "filter.x.process",
        "core.sshCommand",
    ):
        subprocess.run([*git, "config", name, str(trap.parent if "Path" in name else trap)], check=True)
    (user.root / "post-index-change").write_text(trap.read_text())
    (user.root / "post-index-change").chmod(0o755)
    user.write(".gitattributes", "* filter=x\n")
    user.write("train.py", "print('changed')")
    said = user.outlast("run", "train.py")
    assert said.code == 0 and said.out == "changed\n"
    assert_no_canary(user)
