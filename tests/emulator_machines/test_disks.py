"""Disks keep what a machine has written; images are saved disks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from outlast_emulator.machines.disks import Disks
from outlast_emulator.machines.errors import MachineError, NoSuchDisk, NoSuchImage
from tests.emulator_machines.conftest import Yard
from tests.waiting import until

AT = 'at=${EMULATED_MACHINE_ROOT:-}/var/lib; mkdir -p "$at"; cd "$at"\n'
WRITE = AT + "echo canary > x; rm -f gone; tell up yes; sleep 1000"
READ = AT + 'tell read "$(cat x 2>/dev/null || echo nothing)"; sleep 1000'


def _written(yard: Yard, disk: str) -> None:
    booted = yard.boot(WRITE, disk=disk)
    booted.told("up")
    booted.machine.kill()


def test_a_stopped_machine_finds_its_disk_as_it_left_it(either: Yard) -> None:
    booted = either.boot(AT + "echo canary > x; tell up yes; sleep 1000", disk="d")
    booted.told("up")
    booted.machine.kill()
    again = either.boot(READ, disk="d")
    assert again.told("read") == "canary"


def test_tmp_is_empty_after_a_boot(yard: Yard) -> None:
    first = yard.boot("mkdir -p /tmp/a/b; echo > /tmp/a/b/c; tell up yes; sleep 1000", disk="d")
    first.told("up")
    first.machine.kill()
    again = yard.boot('tell read "$(ls -A /tmp | grep -vc metadata-scripts)"; sleep 1000', disk="d")
    assert again.told("read") == "0"


def test_a_new_disk_is_empty(either: Yard) -> None:
    _written(either, "one")
    assert either.boot(READ, disk="two").told("read") == "nothing"


def test_a_deleted_disk_is_gone_and_its_name_is_free(either: Yard) -> None:
    _written(either, "d")
    assert either.host.disk_bytes("d") > 0
    either.host.delete_disk("d")
    either.host.delete_disk("d")
    with pytest.raises(NoSuchDisk):
        either.host.disk_bytes("d")
    assert either.boot(READ, disk="d").told("read") == "nothing"


def test_an_image_is_a_saved_disk_and_outlives_it(either: Yard) -> None:
    _written(either, "d")
    either.host.copy_image("d", "i")
    either.host.delete_disk("d")
    booted = either.boot(READ, disk="new", image="i")
    assert booted.told("read") == "canary"
    booted.machine.kill()
    either.host.delete_image("i")
    assert either.boot(READ, disk="new").told("read") == "canary"
    with pytest.raises(NoSuchImage, match="`i`"):
        either.host.make_disk("other", "i")


def test_an_image_of_an_image_has_the_deletions_of_both(yard: Yard) -> None:
    first = yard.boot(
        "mkdir /var/lib/d; echo 1 > /var/lib/d/a; echo 1 > /var/lib/d/b; rm /etc/fstab /etc/motd; tell up yes",
        disk="one",
    )
    first.told("up")
    first.machine.kill()
    yard.host.copy_image("one", "first")
    script = "rm /var/lib/d/a; echo 2 > /var/lib/d/c; rm -r /var/lib/dpkg; mkdir /var/lib/dpkg; mv /var/lib/d /var/lib/e; tell up yes"
    second = yard.boot(script, disk="two", image="first")
    second.told("up")
    second.machine.kill()
    yard.host.copy_image("two", "second")
    yard.host.delete_image("first")
    for disk in ("one", "two"):
        yard.host.delete_disk(disk)
    look = "cd /var/lib; echo $(ls -A e) / $(ls -A dpkg) / $(ls -d d /etc/fstab 2>/dev/null)"
    booted = yard.boot(f'tell read "$({look})"; sleep 1000', disk="three", image="second")
    assert booted.told("read").split() == ["b", "c", "/", "/"]


def test_an_image_of_a_running_machine_is_taken_while_it_stands_still(
    either: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted = either.boot(AT + "tell up yes; while :; do echo >> x; done", disk="d")
    booted.told("up")
    counter = either.host.disks.path("d") / "upper" / "var" / "lib" / "x"
    save, seen = either.host.disks.save, []

    def watched(disk_id: str, image_id: str) -> None:
        seen.append(counter.stat().st_size)
        save(disk_id, image_id)
        time.sleep(0.2)
        seen.append(counter.stat().st_size)

    until(counter.exists)
    monkeypatch.setattr(either.host.disks, "save", watched)
    either.host.copy_image("d", "i")
    assert seen[0] == seen[1]
    until(lambda: counter.stat().st_size > seen[1])
    found = either.boot(AT + 'tell read "$(wc -c < x)"; sleep 1000', disk="new", image="i")
    assert found.told("read") == str(seen[0])


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    disks = Disks(tmp_path)
    for name in ("", "../x", "a/b", "-x", "x" * 129, "a:b", "a,b"):
        with pytest.raises(MachineError):
            disks.make(name, None)
        with pytest.raises(MachineError):
            disks.delete_image(name)


def test_a_layer_goes_with_the_last_that_names_it(tmp_path: Path) -> None:
    disks = Disks(tmp_path)
    disks.make("d", None)
    (tmp_path / "disks" / "d" / "upper" / "x").write_text("x")
    disks.save("d", "i")
    disks.make("e", "i")
    disks.delete_image("i")
    assert len(list((tmp_path / "layers").iterdir())) == 1
    disks.delete("e")
    assert list((tmp_path / "layers").iterdir()) == []
    assert list((tmp_path / "gone").iterdir()) == []


def test_what_a_kill_left_half_made_is_gone_after_the_next_start(tmp_path: Path) -> None:
    disks = Disks(tmp_path)
    disks.make("d", None)
    disks.save("d", "i")
    (tmp_path / "gone" / "new-half").mkdir()
    (tmp_path / "gone" / "half").mkdir()
    (tmp_path / "layers" / "unnamed").mkdir()
    Disks(tmp_path).clean()
    assert list((tmp_path / "gone").iterdir()) == []
    assert [path.name for path in (tmp_path / "layers").iterdir()] == disks.image_layers("i")
    disks.make("e", "i")


def test_an_image_that_is_saved_again_is_the_newer_one(either: Yard) -> None:
    for word in ("first", "second"):
        booted = either.boot(AT + f"echo {word} > x; tell up {word}; sleep 1000", disk="d")
        booted.told("up")
        booted.machine.kill()
        either.host.copy_image("d", "i")
    assert either.boot(READ, disk="new", image="i").told("read") == "second"
