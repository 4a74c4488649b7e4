"""Scripts are run by Google's own program where it is installed, and in the same way where it is not."""

from __future__ import annotations

import os

import pytest

from outlast_emulator.machines.init import GOOGLES
from tests.emulator_machines.conftest import TELL, Yard
from tests.waiting import until

HOSTILE = "$(touch /tmp/pwned) `touch /tmp/pwned`; touch /tmp/pwned # ' \" \\ $'\\n' && || ../../ %s \u00e4\u1234"


def test_googles_own_script_runner_is_installed_and_used(yard: Yard) -> None:
    assert os.access(GOOGLES, os.X_OK), "`sudo apt-get install google-guest-agent`"
    booted = yard.boot('tell parent "$(cat /proc/$PPID/cmdline | tr "\\0" " ")"; sleep 1000')
    assert booted.told("parent").strip() == f"{GOOGLES} startup"
    until(lambda: "Starting startup scripts (version" in booted.serial)


def test_without_googles_program_ours_does_the_same(yard: Yard) -> None:
    first = yard.boot(f"rm {GOOGLES}; tell up yes; sleep 1000", disk="d")
    first.told("up")
    first.machine.kill()
    again = yard.boot(
        'tell up "$0"; exit 4', disk="d", tree={"instance/attributes/shutdown-script": f"{TELL}tell down yes"}
    )
    assert again.told("up").endswith("/startup-script")
    until(lambda: "startup-script exit status 4" in again.serial)
    again.machine.soft_off(30)
    assert again.told("down") == "yes"
    assert "Starting startup scripts (version" not in again.serial.rpartition("Running startup-script")[2]


def test_a_projects_script_runs_only_where_the_instance_has_none(plain_yard: Yard) -> None:
    projects = {"project/attributes/startup-script": f"{TELL}tell project yes"}
    both = plain_yard.boot("tell instance yes", tree=projects)
    assert both.told("instance") == "yes"
    until(lambda: "Finished running startup scripts" in both.serial)
    assert "project" not in both.metadata.guest_attributes()["test"]
    only = plain_yard.boot("", tree={**projects, "instance/attributes/startup-script": " "})
    assert only.told("project") == "yes"


def test_a_machine_without_scripts_boots(either: Yard) -> None:
    booted = either.boot("", tree={"instance/attributes/startup-script": ""})
    until(lambda: "scripts" in booted.serial)
    assert booted.machine.alive()


@pytest.mark.parametrize("key", ["outlast", "name with spaces", "shutdown-script-x"])
def test_what_stands_in_other_attributes_is_never_run(either: Yard, key: str) -> None:
    booted = either.boot(
        """test -e "${TMPDIR:-/tmp}/pwned"; tell ran $?""", tree={f"instance/attributes/{key}": HOSTILE}
    )
    assert booted.told("ran") == "1"


def test_a_script_without_a_shebang_runs_and_one_with_another_is_run_by_that(either: Yard) -> None:
    python = """#!/usr/bin/env python3
import os, urllib.request
host = os.environ.get("GCE_METADATA_HOST", "169.254.169.254")
url = f"http://{host}/computeMetadata/v1/instance/guest-attributes/test/python"
urllib.request.urlopen(urllib.request.Request(url, b"yes", {"Metadata-Flavor": "Google"}, method="PUT"))
"""
    assert either.boot("", tree={"instance/attributes/startup-script": python}).told("python") == "yes"
    bare = TELL.partition("\n")[2] + "tell bare yes"
    assert either.boot("", tree={"instance/attributes/startup-script": bare}).told("bare") == "yes"
