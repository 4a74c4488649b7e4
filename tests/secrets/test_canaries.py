"""Planted secrets are found by the trainer alone: not in the home, the log, `--json`, an error, or the arguments of a process."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

from tests.cli.user import Said, User
from tests.waiting import until

BY_VARIABLE = "cnry-variable-6f1d0c"
BY_FILE = "cnry-file-line-one-77\ncnry-file-line-two-88"
BY_NAME = "cnry-name-pa$$'\"wörd"
CANARIES = (BY_VARIABLE, *BY_FILE.split("\n"), BY_NAME, "rry-variable-6f1d", "name-pa$$")

SCRIPT = """
import json, os, subprocess, sys, time
import outlast

(outlast.output_dir() / "seen.txt").write_text(str([len(os.environ[name]) for name in ("ONE", "TWO", "THREE")]))
print(dict(os.environ))
print(json.dumps(dict(os.environ)), file=sys.stderr)
sys.stdout.write(os.environ["ONE"][:9]); sys.stdout.flush()
time.sleep(0.2)
sys.stdout.write(os.environ["ONE"][9:] + "\\n"); sys.stdout.flush()
subprocess.run(["env"])
state = outlast.State(count=0)
for step in outlast.steps(6, state, save_steps=2):
    state.count += 1
    outlast.log(step, **{os.environ["ONE"]: 1.0, "loss": 0.5})
    with outlast.checkpoint(metrics={os.environ["THREE"]: 2.0, "accuracy": 0.5}):
        pass
while os.path.exists(GATE):
    time.sleep(0.02)
MODE = sys.argv[1] if len(sys.argv) > 1 else ""
if MODE == "fail":
    raise RuntimeError(f"cannot log in with {os.environ['TWO']!r}")
sys.stdout.write("the end " + os.environ["ONE"][:-1])
"""


def planted(user: User) -> tuple[str, ...]:
    user.env["MY_TOKEN"] = BY_VARIABLE
    gate = user.root / "gate"
    user.write("train.py", SCRIPT.replace("GATE", repr(str(gate))))
    (user.root / "token.txt").write_text(BY_FILE + "\n")
    kept = subprocess.run(
        [sys.executable, "-m", "outlast.cli", "secret", "set", "pass"],
        env=user.environ(),
        cwd=user.work,
        input=BY_NAME.encode(),
        check=True,
        capture_output=True,
    )
    assert BY_NAME.encode() not in kept.stdout + kept.stderr
    file = f"file:{user.root / 'token.txt'}"
    return ("--secret", "ONE=env:MY_TOKEN", "--secret", f"TWO={file}", "--secret", "THREE=secret:pass")


def read_everything(root: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in root.rglob("*"):
        found[f"name of {path}"] = os.fsencode(path.name)
        if path.is_file() and not path.is_symlink():
            found[str(path)] = path.read_bytes()
    return found


def forms(canary: str) -> set[bytes]:
    return {canary.encode(), json.dumps(canary)[1:-1].encode(), repr(canary)[1:-1].encode()}


def check_clean(found: dict[str, bytes]) -> None:
    for where, content in found.items():
        for canary in CANARIES:
            for form in forms(canary):
                assert form not in content, f"`{canary}` is in {where}"


def outside_of_secrets(user: User, *, running: bool = False) -> dict[str, bytes]:
    """While a trainer runs, what it says lies in its machine's own directory, which only its owner can read."""
    if not running:
        until(lambda: not list((user.outlast_dir / "local").rglob("spool")))
    private = [str(user.outlast_dir / "secrets"), *(["/spool/"] if running else [])]
    everything = read_everything(user.outlast_dir)
    return {where: content for where, content in everything.items() if not any(one in where for one in private)}


def as_bytes(said: Said) -> bytes:
    return said.out.encode() + said.err.encode()


def has_saved(user: User, job: str) -> bool:
    said = user.outlast("checkpoints", "--json", job)
    return said.code == 0 and any(one["step"] == 6 for one in said.json)


def words_of(user: User, *jobs: str) -> dict[str, bytes]:
    commands = [["jobs", "--json"], ["secret", "list", "--json"], ["config", "--json"]]
    for job in jobs:
        commands += [["show", job], ["show", "--json", job], ["logs", job], ["logs", "--json", job]]
        commands += [["checkpoints", "--json", job], ["pull", "--json", job, "--to", str(user.root / f"pulled-{job}")]]
    return {" ".join(command): as_bytes(user.outlast(*command)) for command in commands}


def arguments_of_processes() -> dict[str, bytes]:
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found[str(process)] = (process / "cmdline").read_bytes()
        except OSError:
            continue
    return found


def test_planted_secrets_are_seen_by_the_trainer_alone(user: User) -> None:
    secrets = planted(user)
    gate = user.root / "gate"
    gate.touch()
    said: dict[str, bytes] = {}
    rehearsed = user.outlast("run", *secrets, "--dry-run", "--json", "train.py")
    assert rehearsed.code == 0, rehearsed.err
    said["dry run"] = as_bytes(rehearsed)
    following = user.start("run", *secrets, "--job-id", "good", "train.py")
    failing = user.start("run", *secrets, "--job-id", "bad", "train.py", "--", "fail")
    until(lambda: has_saved(user, "good") and has_saved(user, "bad"))
    said.update({f"live: {where}": content for where, content in words_of(user, "good", "bad").items()})
    check_clean(arguments_of_processes())
    check_clean(outside_of_secrets(user, running=True))
    gate.unlink()
    for name, process in (("good", following), ("bad", failing)):
        out, err = process.communicate(timeout=60)
        said[f"run of {name}"] = out + err
        assert process.returncode == (0 if name == "good" else 1), err
    said.update(words_of(user, "good", "bad"))
    check_clean(said)
    check_clean(outside_of_secrets(user))
    check_clean(read_everything(user.root / "pulled-good"))
    lengths = str([len(BY_VARIABLE), len(BY_FILE), len(BY_NAME)])
    assert (user.root / "pulled-good" / "outputs" / "seen.txt").read_text() == lengths
    assert b"cannot log in with '***" in said["logs bad"]
    assert "*" * len(BY_VARIABLE) in said["logs good"].decode()
    assert said["logs good"].rstrip().endswith(b"*")
    until(lambda: not list((user.outlast_dir / "secrets" / "launches").iterdir()))


def test_what_is_kept_is_readable_by_its_owner_alone(user: User) -> None:
    secrets = planted(user)
    (user.root / "gate").touch()
    assert user.outlast("run", *secrets, "--detach", "--job-id", "one", "train.py").code == 0
    private = user.outlast_dir / "secrets"
    until(lambda: any((private / "launches").iterdir()))
    paths = [private, *private.rglob("*")]
    assert len(paths) >= 5
    for path in paths:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    (user.root / "gate").unlink()


def test_a_killed_agent_goes_on_covering(user: User) -> None:
    secrets = planted(user)
    (user.root / "gate").touch()
    assert user.outlast("run", *secrets, "--detach", "--job-id", "one", "train.py").code == 0
    until(lambda: has_saved(user, "one"))
    killed = 0
    for agent in (user.outlast_dir / "local").rglob("agent.json"):
        os.kill(json.loads(agent.read_bytes())["pid"], 9)
        killed += 1
    assert killed == 1
    (user.root / "gate").unlink()
    followed = user.outlast("logs", "-f", "one")
    assert followed.code == 0
    check_clean({"logs": as_bytes(followed), **outside_of_secrets(user)})
    assert b"*" * len(BY_VARIABLE) in as_bytes(followed)
