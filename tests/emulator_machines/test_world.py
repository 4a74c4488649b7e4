"""What machines are shown of this computer, by the control surface."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast_emulator.machines import world
from outlast_emulator.testing import running
from tests.emulator_machines.conftest import Yard


def test_what_the_world_shows_is_there_in_the_next_machine(yard: Yard, tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "a.whl").write_text("canary")
    shown = {"/srv/wheels": str(tmp_path / "wheels")}
    world.write(yard.host.data, world.parse({"shown": shown, "environment": {"PIP_FIND_LINKS": "/srv/wheels"}}))
    booted = yard.boot('tell read "$(cat "$PIP_FIND_LINKS/a.whl")"; sleep 1000')
    assert booted.told("read") == "canary"


def test_a_plain_machine_has_it_below_its_own_root(plain_yard: Yard, tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "a.whl").write_text("canary")
    world.write(plain_yard.host.data, world.parse({"shown": {"/srv/wheels": str(tmp_path / "wheels")}}))
    for _ in range(2):  # the second time it is there already
        booted = plain_yard.boot('tell read "$(cat "$EMULATED_MACHINE_ROOT/srv/wheels/a.whl")"; sleep 1000', disk="d")
        assert booted.told("read") == "canary"
        booted.machine.kill()


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"visible": {}}, "`visible`; there are shown, environment, room_bytes"),
        ({"shown": ["/x"]}, "`shown`"),
        ({"environment": {"A": 1}}, "`environment`"),
        ({"room_bytes": "1G"}, "`room_bytes`"),
        ({"room_bytes": -1}, "-1"),
        ({"shown": {"opt": "/usr"}}, "`opt`"),
        ({"shown": {"/": "/usr"}}, "`/`"),
        ({"shown": {"/a/../b": "/usr"}}, "`/a/../b`"),
        ({"shown": {"/opt": "/surely/nothing"}}, "`/surely/nothing`"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(tmp_path: Path, asked: dict[str, object], named: str) -> None:
    with running(tmp_path) as emulator:
        answer = emulator.call("POST", "/_emulator/world", asked)
        assert answer.status == 400 and named in answer.json()["error"]["message"]
        assert emulator.call("GET", "/_emulator/world").json() == {"shown": {}, "environment": {}, "room_bytes": 0}


def test_a_disk_can_be_full(yard: Yard) -> None:
    world.write(yard.host.data, world.parse({"room_bytes": 2 << 20}))
    booted = yard.boot(
        'head -c 5000000 /dev/zero > /var/lib/x 2>/run/why; tell why "$(head -c 200 /run/why) ($?)"; sleep 1000'
    )
    assert "No space left on device" in booted.told("why")


def test_it_is_the_same_after_a_restart(tmp_path: Path) -> None:
    asked = {"shown": {"/srv/x": str(tmp_path)}, "environment": {"A": "b"}, "room_bytes": 7}
    with running(tmp_path / "data") as emulator:
        assert emulator.call("POST", "/_emulator/world", asked).json() == asked
    with running(tmp_path / "data") as emulator:
        assert emulator.call("GET", "/_emulator/world").json() == asked
