"""A machine's life: it boots, runs its scripts, and ends as it is told to, or dies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlast_emulator.machines.errors import DiskInUse, MachineError, NoSuchDisk
from outlast_emulator.machines.host import Boot
from outlast_emulator.machines.metadata import Metadata
from tests.emulator_machines.conftest import TELL, Yard
from tests.waiting import until


def test_the_startup_script_runs_and_its_output_is_the_serial_output(either: Yard) -> None:
    booted = either.boot("echo canary-1; echo canary-2 >&2; tell up yes; sleep 1000")
    assert booted.told("up") == "yes"
    until(lambda: "canary-1" in booted.serial and "canary-2" in booted.serial)
    assert booted.machine.alive()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("poweroff", "off"),
        ("poweroff -f", "off"),
        ("halt -f", "off"),
        ("halt", "off"),
        ("shutdown -h now", "off"),
        ("shutdown now", "off"),
        ("reboot", "reboot"),
        ("shutdown -r now", "reboot"),
        ("/sbin/poweroff", "off"),
        ("sh -c poweroff", "off"),
        ('python3 -c \'import os; os.execlp("shutdown", "shutdown", "-P", "+0")\'', "off"),
    ],
)
def test_a_machine_turns_itself_off(yard: Yard, words: str, why: str) -> None:
    booted = yard.boot(f"{words}\nsleep 1000")
    assert booted.machine.wait(60)
    until(lambda: booted.exits)
    assert booted.exits == [why]


@pytest.mark.parametrize(("words", "why"), [("poweroff", "off"), ("halt -f", "off"), ("reboot -f", "reboot")])
def test_a_plain_machine_turns_itself_off_even_if_its_script_sets_the_path(
    plain_yard: Yard, words: str, why: str
) -> None:
    booted = plain_yard.boot(f"export PATH=/usr/sbin:/usr/bin:/sbin:/bin\n{words}\nsleep 1000")
    assert booted.machine.wait(60)
    until(lambda: booted.exits)
    assert booted.exits == [why]


def test_the_system_call_that_reboots_ends_the_machine_and_nothing_else(yard: Yard) -> None:
    off = 0x4321FEDC
    call = f"import ctypes; ctypes.CDLL(None).reboot({off})"
    booted = yard.boot(f"python3 -c '{call}'; sleep 1000")
    assert booted.machine.wait(60)
    until(lambda: booted.exits)
    assert booted.exits == ["off"]


def test_a_shutdown_that_was_scheduled_can_be_cancelled(yard: Yard) -> None:
    booted = yard.boot(
        "shutdown -h +1; pid=$(cat /run/shutdown.pid); shutdown -c; while kill -0 $pid; do sleep 0.05; done; tell left $pid"
    )
    assert int(booted.told("left"))
    assert booted.machine.alive()


def test_a_startup_script_that_fails_leaves_the_machine_running(either: Yard) -> None:
    booted = either.boot("tell up yes; exit 3")
    booted.told("up")
    until(lambda: "exit status 3" in booted.serial)
    assert booted.machine.alive()


def test_soft_off_runs_the_shutdown_script_before_anything_is_told_to_end(either: Yard) -> None:
    stopping = 'tell order "told before: $(cat "$HOME/told" 2>/dev/null)"'
    # Whoever reads its output is told to end as well: what writes into a pipe then dies of that.
    script = """exec >/dev/null 2>&1; export HOME=${HOME:-/root}
    trap 'echo x > $HOME/told; tell term yes; exit' TERM
    tell up yes; while :; do sleep 0.05; done
    """
    booted = either.boot(
        script,
        tree={"instance/attributes/shutdown-script": f"{TELL}export HOME=${{HOME:-/root}}\n{stopping}"},
    )
    booted.told("up")
    booted.machine.soft_off(30)
    assert not booted.machine.alive()
    assert booted.told("order") == "told before: "
    assert booted.told("term") == "yes"
    until(lambda: booted.exits)
    assert booted.exits == ["off"]


def test_what_does_not_end_in_time_is_killed(either: Yard) -> None:
    booted = either.boot("trap '' TERM; tell up yes; while :; do sleep 0.05; done")
    booted.told("up")
    booted.machine.soft_off(0.5)
    assert not booted.machine.alive()


def test_a_kill_ends_all_of_it_and_calls_nobody(either: Yard) -> None:
    inner = "trap '' TERM HUP INT; while :; do sleep 0.05; done"
    booted = either.boot(
        f'for i in 1 2 3; do (setsid bash -c "{inner}" canary-{os.getpid()} &) ; done; tell up yes; sleep 1000'
    )
    booted.told("up")
    assert len(_with_words(f"canary-{os.getpid()}")) >= 3
    booted.machine.kill()
    assert not booted.machine.alive() and booted.machine.ended == "killed"
    assert _with_words(f"canary-{os.getpid()}") == []
    assert booted.exits == []


def test_a_process_whose_name_is_no_text_is_ended_like_all_others(either: Yard) -> None:
    names_itself = "import ctypes, time; ctypes.CDLL(None).prctl(15, bytes([255, 195, 40]), 0, 0, 0); "
    program = (
        f'/usr/bin/python3 -c \'{names_itself}open("named", "w").close(); time.sleep(1000)\' canary-name-{os.getpid()}'
    )
    booted = either.boot(
        f"cd $(mktemp -d); (setsid {program} &) ; until [ -e named ]; do sleep 0.02; done; tell up yes; sleep 1000"
    )
    booted.told("up")
    assert _with_words(f"canary-name-{os.getpid()}")
    booted.machine.kill()
    assert _with_words(f"canary-name-{os.getpid()}") == []


def test_killing_or_turning_off_what_is_gone_is_not_an_error(either: Yard) -> None:
    booted = either.boot("tell up yes; sleep 1000")
    booted.machine.kill()
    booted.machine.kill()
    booted.machine.soft_off(1)
    assert not booted.machine.alive()


def test_a_disk_that_is_in_use_can_neither_be_booted_nor_deleted(either: Yard) -> None:
    booted = either.boot("sleep 1000", disk="d")
    with pytest.raises(DiskInUse, match="runs on disk `d`"):
        either.boot("sleep 1000", disk="d")
    with pytest.raises(DiskInUse):
        either.host.delete_disk("d")
    booted.machine.kill()
    either.host.delete_disk("d")


def test_booting_from_a_disk_that_is_not_there_says_so(either: Yard) -> None:
    with pytest.raises(NoSuchDisk, match="`nothing`"):
        either.host.boot(Boot("m", "nothing", Metadata(), 0), lambda: None)


def test_the_serial_output_goes_on_from_boot_to_boot_and_keeps_its_offset(yard: Yard) -> None:
    first = yard.boot(
        "head -c 6000000 /dev/zero | tr '\\0' x | fold -w 100 >/dev/ttyS0; echo done-1; tell up yes", disk="d"
    )
    first.told("up")
    until(lambda: "done-1" in first.serial)
    first.machine.kill()
    offset, data = first.machine.serial()
    assert offset > 4_000_000 and len(data) <= 1 << 20
    second = yard.boot("echo done-2; tell up yes", disk="d")
    second.told("up")
    until(lambda: "done-2" in second.serial)
    assert second.machine.serial()[0] >= offset and "done-1" in second.serial


def test_opening_the_serial_port_anew_does_not_lose_what_was_written(yard: Yard) -> None:
    booted = yard.boot("for i in 1 2 3; do echo canary-$i | tee /dev/ttyS0 >/dev/null; done; tell up yes; sleep 1000")
    booted.told("up")
    until(lambda: all(f"canary-{number}" in booted.serial for number in (1, 2, 3)))


def _with_words(words: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def test_a_machine_that_cannot_be_made_says_why_and_frees_its_disk(yard: Yard) -> None:
    yard.host.make_disk("d")
    upper = yard.host.disks.path("d") / "upper"
    upper.rename(upper.with_name("elsewhere"))
    with pytest.raises(MachineError, match=r"(?s)mount of overlay at disks/d/root: No such file.*hint: .*--data"):
        yard.boot("sleep 1000", disk="d")
    upper.with_name("elsewhere").rename(upper)
    assert yard.boot("tell up yes", disk="d").told("up") == "yes"


def test_plain_machines_are_said_to_be_plain_once(plain_yard: Yard, capfd: pytest.CaptureFixture[str]) -> None:
    first, _ = plain_yard.boot("sleep 1000"), plain_yard.boot("sleep 1000")
    assert capfd.readouterr().err.count("not isolated") == 1
    until(lambda: "not isolated" in first.serial)
