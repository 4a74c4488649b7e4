"""A machine without root: a tree of processes with a private directory, and nothing more.

It has the same scripts, the same metadata server (at `GCE_METADATA_HOST`), serial output, disk and images, and it dies as
a whole. What it has not: a root of its own, its own network (so that cannot be cut), and protection of this computer
from what it runs. `EMULATED_MACHINE_ROOT` says where its disk is.
"""

from __future__ import annotations

import os
import pty
import socket
import sys
import termios
from pathlib import Path
from typing import Any

from outlast_emulator.machines import furniture, own_scripts, tree
from outlast_emulator.machines.init import Init
from outlast_emulator.machines.lines import Lines

ROOT_VARIABLE = "EMULATED_MACHINE_ROOT"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def run(launcher: Lines, spec: dict[str, Any]) -> int:
    """The exit code of the machine's init."""
    os.setsid()
    tree.adopt_orphans()
    tree.forbid_new_rights()
    disk = Path(spec["directory"], "disks", spec["disk"])
    environment = _furnished(disk)
    _show(disk / "upper", spec["shown"])
    listener = socket.create_server(("127.0.0.1", 0))
    environment["GCE_METADATA_HOST"] = f"127.0.0.1:{listener.getsockname()[1]}"
    environment["GCE_METADATA_IP"] = environment["GCE_METADATA_HOST"]
    environment.update(spec["environment"])
    far = _open_console()
    launcher.send({"listening": True}, [far, listener.fileno()])
    os.close(far)
    listener.close()
    launcher.receive()  # "go": the socket is being served
    power = os.open(disk / "power", os.O_RDWR | os.O_NONBLOCK)
    sys.stderr.write(
        f"{spec['name']}: a plain machine: processes of this computer's user {os.getuid()}, not isolated\n"
    )
    sys.stderr.flush()
    os.chdir(environment["HOME"])
    return Init(launcher, environment, own_scripts.run, tree.signal_descendants, power).run()


def _furnished(disk: Path) -> dict[str, str]:
    """Its directories and programs; the environment that leads to them."""
    root = disk / "upper"
    for name in ("root", "tmp", "var/lib", "bin"):
        (root / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    power = disk / "power"
    power.unlink(missing_ok=True)
    os.mkfifo(power, 0o600)
    furniture.write_programs(root / "bin", tell=f"echo \"$number\" >'{_quoted(power)}'", run=_quoted(disk))
    found = {
        "PATH": f"{root / 'bin'}:{PATH}",
        "LANG": "C.UTF-8",
        "HOME": str(root / "root"),
        "TMPDIR": str(root / "tmp"),
        ROOT_VARIABLE: str(root),
        "OUTLAST_BASE": str(
            root / "var/lib/outlast"
        ),  # which scripts of `outlast` keep in /var/lib where that is theirs
        # Whoever asks this computer's systemd to turn it off is not to find it.
        "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
    }
    for name in furniture.POWER_NAMES:  # for scripts that set PATH: bash looks here first
        found[f"BASH_FUNC_{name}%%"] = f"() {{ '{_quoted(root / 'bin' / name)}' \"$@\"; }}"
    return found


def _show(root: Path, shown: dict[str, str]) -> None:
    """By links: nothing can be laid over a directory without rights."""
    for place, path in shown.items():
        link = root / place.strip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_symlink():
            link.unlink()
        if not link.exists():
            link.symlink_to(path)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "'\\''")


def _open_console() -> int:
    far, near = pty.openpty()
    attributes = termios.tcgetattr(near)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(near, termios.TCSANOW, attributes)
    for number in (0, 1, 2):
        os.dup2(near, number)
    os.close(near)
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  it is ours until the machine ends
    return far
