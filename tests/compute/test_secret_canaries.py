"""A secret of Secret Manager is found by the trainer on its rented machine, and nowhere else."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.cli.user import OUTLAST
from tests.compute.renter import BUCKET, Renter
from tests.secrets.test_canaries import arguments_of_processes
from tests.waiting import until

CANARY = "cnry-rented-5d0e6a'\"$(x)-wörd"
FORMS = {CANARY.encode(), json.dumps(CANARY)[1:-1].encode(), repr(CANARY)[1:-1].encode(), b"rented-5d0e6a"}
REFERENCE = "sm:projects/emulated/secrets/HF_TOKEN"
SCRIPT = """
import json, os, subprocess, sys, time
import outlast

(outlast.output_dir() / "seen.txt").write_text(str(len(os.environ["HF_TOKEN"])))
print(dict(os.environ)); print(json.dumps(dict(os.environ)), file=sys.stderr, flush=True)
subprocess.run(["env"])
state = outlast.State(count=0)
for step in outlast.steps(40, state, save_steps=2):
    state.count += 1
    outlast.log(step, **{os.environ["HF_TOKEN"]: 1.0})
    time.sleep(0.1)
if sys.argv[1:] == ["fail"]:
    raise RuntimeError(f"cannot log in with {os.environ['HF_TOKEN']!r}")
"""


def check_clean(where: str, content: bytes) -> None:
    for form in FORMS:
        assert form not in content, f"{form!r} is in {where}: {content[max(0, content.index(form) - 200) :][:400]!r}"


def set_token(renter: Renter) -> None:
    said = subprocess.run(
        [*OUTLAST, "secret", "set", "HF_TOKEN", "--on", "compute"],
        env=renter.user.environ(),
        input=f"{CANARY}\n".encode(),
        capture_output=True,
        cwd=renter.user.work,
    )
    assert said.returncode == 0, said.stderr
    check_clean("secret set", said.stdout + said.stderr)


def check_google(renter: Renter) -> None:
    """Instances, templates, groups, disks, serial output, the record of requests."""
    call = renter.emulator.call
    base = "/compute/v1/projects/emulated"
    for one in renter.machines():
        instance = f"{base}/zones/{one['zone']}/instances/{one['instance']}"
        check_clean("serial output", json.dumps(call("GET", f"{instance}/serialPort").json()).encode())
        check_clean("serial output", call("GET", f"{instance}/serialPort").body)
        check_clean("guest attributes", call("GET", f"{instance}/getGuestAttributes?queryPath=outlast/").body)
    for kind in ("instances", "instanceTemplates", "disks", "instanceGroupManagers"):
        check_clean(kind, call("GET", f"{base}/aggregated/{kind}").body)
    for kind in ("requests", "operations", "ledger", "usage"):
        check_clean(kind, call("GET", f"/_emulator/{kind}").body)


def check_bucket(renter: Renter) -> None:
    for one in objects(renter):
        check_clean("the name of an object", json.dumps(one).encode())
        check_clean(one["name"], renter.emulator.get(BUCKET, one["name"], alt="media").body)


def objects(renter: Renter) -> list[dict[str, Any]]:
    return list(renter.emulator.call("GET", f"/storage/v1/b/{BUCKET}/o?maxResults=1000").json().get("items", []))


def check_files(renter: Renter) -> None:
    """The user's own, with all caches; not the emulator's, in which Google keeps the secret itself."""
    for path in renter.user.outlast_dir.rglob("*"):
        if path.is_file():
            check_clean(str(path), path.read_bytes())


def check_processes() -> None:
    """Of machines too: seen from here."""
    for where, content in arguments_of_processes().items():
        check_clean(f"the arguments of {where}", content)


@pytest.mark.parametrize("how", ["succeeds", "fails", "is taken away"])
def test_a_secret_is_seen_by_the_trainer_alone(renter: Renter, how: str) -> None:
    renter.ready("roles/owner")
    set_token(renter)
    renter.user.write("train.py", SCRIPT)
    words = [
        "--secret",
        f"HF_TOKEN={REFERENCE}",
        "--job-id",
        "one",
        "train.py",
        *(["--", "fail"] if how == "fails" else []),
    ]
    planned = renter.user.outlast("run", "--on", "compute", "--dry-run", "--json", *words)
    assert planned.code == 0, planned.err
    check_clean("dry run", (planned.out + planned.err).encode())
    following = renter.user.start("run", "--on", "compute", *words)
    until(lambda: any("/checkpoints/" in one["name"] for one in objects(renter)), "it trains")
    if how == "is taken away":
        renter.post("preempt", instance=renter.machine("one"), notice_seconds=0)
    check_processes()
    check_google(renter)
    check_bucket(renter)
    out, err = following.communicate(timeout=120)
    check_clean("run", out + err)
    assert following.returncode == (1 if how == "fails" else 0), err
    renter.wait_until_nothing_is_paid_for()
    for command in (["show"], ["show", "--json"], ["logs"], ["logs", "--json"], ["checkpoints", "--json"]):
        said = renter.user.outlast(*command, "one")
        assert said.code == 0, said.err
        check_clean(" ".join(command), (said.out + said.err).encode())
    check_google(renter)
    check_bucket(renter)
    check_files(renter)
    seen = renter.emulator.get(BUCKET, "jobs/one/outputs/seen.txt", alt="media").body
    assert seen == str(len(CANARY)).encode() or how == "fails"
