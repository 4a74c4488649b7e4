"""What a machine cannot see, signal, write or reach."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from outlast_emulator.testing import running
from tests.emulator_machines.conftest import Booted, Yard


def _answer(yard: Yard, command: str, **more: Any) -> str:
    booted: Booted = yard.boot(f'tell answer "$( {command} ) ($?)"; sleep 1000', **more)
    return booted.told("answer").strip()


def test_a_machine_sees_no_process_but_its_own(yard: Yard) -> None:
    seen = _answer(yard, "ls /proc | grep -c '^[0-9]'")
    assert int(seen.split()[0]) < 12


def test_a_machine_cannot_signal_processes_of_the_computer(yard: Yard) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        yard.boot(f"kill -9 {other.pid}; kill -9 -1; tell up yes")
        assert _answer(yard, f"kill -0 {other.pid}").endswith("(1)")
        assert other.poll() is None
    finally:
        other.communicate()


def test_what_a_machine_writes_stays_on_its_own_disk(yard: Yard, tmp_path: Path) -> None:
    mark = f"canary-{os.getpid()}"
    places = ("/etc", "/usr/lib", "/var/lib", "/opt", "/tmp", "/run", "/root", "/dev/shm", "/var/tmp")
    words = "; ".join(f"echo x > {place}/{mark} || exit 7" for place in places)
    assert _answer(yard, f"({words})") == "(0)"
    assert not [place for place in places if Path(place, mark).exists()]


def test_a_machine_cannot_mount_make_devices_or_reach_the_kernels_switches(yard: Yard) -> None:
    """Each would do no harm if it worked."""
    hostile = (
        "mount -t tmpfs x /mnt",
        "mknod /tmp/disk b 254 0",
        "echo h > /proc/sysrq-trigger",
        "cat /proc/sys/kernel/panic > /proc/sys/kernel/panic",
        'date -s "$(date)"',
        "nsenter -t 1 -n true && ip link set lo down",
    )
    words = "; ".join(f"({one}) >/dev/null 2>&1 && echo '{one.split()[0]} worked'" for one in hostile)
    assert _answer(yard, f"({words}; true)") == "(0)"


def test_the_computers_homes_and_this_checkout_are_not_to_be_seen(yard: Yard, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    checkout = Path(__file__).resolve().parents[2]
    hidden = [
        str(tmp_path),
        str(checkout),
        sys.prefix,
        os.environ["OUTLAST_DIR"],
        os.environ["HOME"],
        os.path.join("/root", ".bashrc"),
    ]
    words = "; ".join(f"test -e '{path}' && echo 'there: {path}'" for path in hidden if path != sys.base_prefix)
    assert _answer(yard, f"({words}; ls -A /root /home /tmp | grep -v metadata-scripts | tr -d '\\n')").startswith(
        "/home:/root:/tmp:"
    )


def test_a_machine_has_a_python_a_shell_and_a_name_of_its_own(yard: Yard) -> None:
    booted = yard.boot('tell answer "$(python3 -c "import socket; print(socket.gethostname(), 6 * 7)")"; sleep 1000')
    assert booted.told("answer").split() == [booted.machine.name, "42"]


def test_a_machine_reaches_nothing_outside(yard: Yard) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert _answer(yard, f"curl -s --max-time 5 http://127.0.0.1:{port}/").endswith("(7)")
    assert _answer(yard, "ls /sys/class/net") == "lo (0)"
    assert not _answer(yard, "curl -s --max-time 5 http://192.0.2.1/").endswith("(0)")
    assert not _answer(yard, "getent hosts example.com").endswith("(0)")


def test_two_machines_do_not_meet(yard: Yard) -> None:
    first = yard.boot("python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & tell up yes; sleep 1000")
    first.told("up")
    assert _answer(yard, "curl -s --max-time 5 http://127.0.0.1:8123/").endswith("(7)")


def test_the_emulators_port_answers_inside_until_the_network_is_cut(yard: Yard, tmp_path: Path) -> None:
    with running(tmp_path / "emulator") as emulator:
        assert emulator.inside is not None
        port = int(emulator.url.rpartition(":")[2])
        yard.host._listen = emulator.inside.listen
        emulator.make_bucket("bucket")
        script = f"""
        ask() {{ curl -s -o /dev/null -w '%{{http_code}}' --max-time "$1" http://127.0.0.1:{port}/storage/v1/b/bucket; }}
        tell first "$(ask 30)"
        until [ "$(ask 1)" = 000 ]; do :; done; tell cut yes
        until [ "$(ask 1)" = 200 ]; do :; done; tell healed yes
        sleep 1000
        """
        booted = yard.boot(script, api_port=port)
        assert booted.told("first") == "200"
        booted.machine.cut(True)
        assert booted.told("cut") == "yes"
        assert emulator.call("GET", "/storage/v1/b/bucket").status == 200
        booted.machine.cut(False)
        assert booted.told("healed") == "yes"
        booted.machine.kill()


def test_what_is_shown_to_a_machine_can_be_read_and_not_written(yard: Yard, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "a").write_text("canary")
    shown = {"/srv/library": str(tmp_path / "library")}
    assert _answer(yard, "cat /srv/library/a; touch /srv/library/b 2>/dev/null", shown=shown) == "canary (1)"


def test_a_plain_machine_has_its_directories_in_its_own(plain_yard: Yard) -> None:
    booted = plain_yard.boot('tell places "$HOME:$TMPDIR:$OUTLAST_BASE"; sleep 1000')
    root = str(plain_yard.host.disks.path("disk-1") / "upper")
    assert all(place.startswith(f"{root}/") for place in booted.told("places").split(":"))
