"""Inside a new machine's namespaces: its root, its devices, its network, and then its init."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import sys
import termios
from pathlib import Path
from typing import Any

from outlast_emulator.machines import furniture, linux
from outlast_emulator.machines.init import GOOGLES, Init, Script, everybody_else
from outlast_emulator.machines.lines import Lines

NAMESPACES = linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWUTS | linux.CLONE_NEWIPC
METADATA_ADDRESS = "169.254.169.254"
BACKLOG = 256
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DEVICES = {"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9}
READ_ONLY = ("proc/sys", "proc/irq", "proc/bus", "proc/fs")
MASKED = ("proc/sysrq-trigger", "proc/kcore", "proc/keys", "proc/timer_list", "proc/kmsg")
"""What the kernel lets any root do to the whole computer, or shows of it."""


def run(launcher: Lines, spec: dict[str, Any]) -> int:
    """The exit code of the machine's init. Raises OSError where the machine cannot be made."""
    os.umask(0o022)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    linux.unshare(NAMESPACES)
    linux.mount("", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    root = _mount_root(spec)
    own = _own_scripts(root)
    mount_system(root)
    for place, path in spec["shown"].items():
        target = made(root, place)
        linux.bind(path, target, read_only=True)
    _write_network_names(root, spec["name"])
    linux.set_hostname(spec["name"])
    sockets = _listen(spec["api_port"])
    os.chdir(spec["directory"])
    linux.pivot_root(root)
    console = _open_console()
    launcher.send({"listening": True}, [console, *(sock.fileno() for sock in sockets)])
    os.close(console)
    for sock in sockets:
        sock.close()
    os.setsid()
    linux.drop_capabilities()
    launcher.receive()  # "go": the sockets are being served
    environment = {"PATH": PATH, "LANG": "C.UTF-8", **spec["environment"]}
    return Init(launcher, environment, own, everybody_else).run()


def _mount_root(spec: dict[str, Any]) -> str:
    """The overlay, by names relative to the data directory: they need no escaping, and many fit into one page.

    This computer's root cannot lie below a layer that is one of its own directories, but an overlay of it can: so the
    furniture is on a file system of its own, and images lie on the two together.
    """
    disk = f"disks/{spec['disk']}"
    for name in ("work", "root", "furniture", "below"):
        shutil.rmtree(f"{disk}/{name}", ignore_errors=True)
        os.makedirs(f"{disk}/{name}", mode=0o700)
    linux.mount("furniture", f"{disk}/furniture", "tmpfs", options="mode=755,size=1m")
    furniture.make(Path(disk, "furniture"), spec["hidden"])
    layers = [f"{disk}/furniture", "/"]
    if spec["layers"]:
        linux.mount(
            "below", f"{disk}/below", "overlay", linux.MS_RDONLY, f"lowerdir={':'.join(layers)},redirect_dir=on"
        )
        layers = [*(f"layers/{layer}" for layer in spec["layers"]), f"{disk}/below"]
    top = _small(disk, spec["room_bytes"]) if spec["room_bytes"] else disk
    options = f"lowerdir={':'.join(layers)},upperdir={top}/upper,workdir={top}/work,redirect_dir=on,index=off"
    try:
        linux.mount("machine", f"{disk}/root", "overlay", options=options + ",volatile")
    except OSError:  # a kernel before 5.10: each fsync inside goes to the disk
        linux.mount("machine", f"{disk}/root", "overlay", options=options)
    empty(os.path.join(disk, "root", "tmp"))
    return os.path.abspath(f"{disk}/root")


def _small(disk: str, room_bytes: int) -> str:
    """A place for so many bytes, and new at every boot: for tests of what happens when a disk is full."""
    place = f"{disk}/small"
    os.makedirs(place, mode=0o700, exist_ok=True)
    linux.mount("small", place, "tmpfs", options=f"mode=700,size={room_bytes}")
    os.makedirs(f"{place}/upper", mode=0o755)
    os.makedirs(f"{place}/work", mode=0o700)
    return place


def _own_scripts(root: str) -> Script | None:
    """Ours, loaded while this computer's library can still be read; None: the machine has Google's program."""
    if os.access(root + GOOGLES, os.X_OK):
        return None
    from outlast_emulator.machines import own_scripts

    return own_scripts.run


def mount_system(root: str) -> None:
    safe = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    linux.mount("proc", made(root, "proc"), "proc", safe)
    linux.mount("sysfs", made(root, "sys"), "sysfs", safe | linux.MS_RDONLY)
    linux.mount("run", made(root, "run"), "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=755,size=20%")
    linux.mount("dev", made(root, "dev"), "tmpfs", linux.MS_NOSUID, "mode=755,size=1m")
    for name, minor in DEVICES.items():
        _node(f"{root}/dev/{name}", 1, minor)
    _node(f"{root}/dev/tty", 5, 0)
    linux.mount("devpts", made(root, "dev/pts"), "devpts", options="newinstance,ptmxmode=0666,mode=620")
    linux.mount("shm", made(root, "dev/shm"), "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=1777")
    for name, target in (
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ):
        os.symlink(target, f"{root}/dev/{name}")
    for name in READ_ONLY:
        if os.path.exists(f"{root}/{name}"):
            linux.bind(f"{root}/{name}", f"{root}/{name}", read_only=True)
    for name in MASKED:
        if os.path.exists(f"{root}/{name}"):
            linux.bind(f"{root}/dev/null", f"{root}/{name}")
    os.makedirs(f"{root}/run/lock", mode=0o1777)


def _open_console() -> int:
    """The serial port: a terminal whose far end the launcher reads. Its near end is our input and output."""
    far = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
    near = os.open(_unlocked(far), os.O_RDWR | os.O_NOCTTY)
    attributes = termios.tcgetattr(near)
    attributes[3] &= ~termios.ECHO  # what nobody types nobody must see
    termios.tcsetattr(near, termios.TCSANOW, attributes)
    for name in ("ttyS0", "console"):
        with open(f"/dev/{name}", "wb"):
            pass
        linux.bind(os.ttyname(near), f"/dev/{name}")
    for number in (0, 1, 2):
        os.dup2(near, number)
    os.close(near)
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  it is ours until the machine ends
    return far


def _unlocked(far: int) -> str:
    import fcntl
    import struct

    fcntl.ioctl(far, getattr(termios, "TIOCSPTLCK", 0x40045431), struct.pack("i", 0))
    (number,) = struct.unpack("I", fcntl.ioctl(far, getattr(termios, "TIOCGPTN", 0x80045430), struct.pack("I", 0)))
    return f"/dev/pts/{number}"


def _write_network_names(root: str, name: str) -> None:
    hosts = f"127.0.0.1 localhost {name}\n{METADATA_ADDRESS} metadata.google.internal metadata\n"
    for path, text in (("hosts", hosts), ("resolv.conf", "nameserver 127.0.0.1\n"), ("hostname", f"{name}\n")):
        target = f"{root}/etc/{path}"
        if os.path.lexists(target):
            os.unlink(target)
        with open(target, "w") as file:
            file.write(text)


def _listen(api_port: int) -> list[socket.socket]:
    linux.raise_loopback(METADATA_ADDRESS)
    places = [(METADATA_ADDRESS, 80)]
    if api_port:
        places.append(("127.0.0.1", api_port))
    return [socket.create_server(place, backlog=BACKLOG) for place in places]


def made(root: str, place: str) -> str:
    path = os.path.join(root, place.lstrip("/"))
    os.makedirs(path, exist_ok=True)
    return path


def _node(path: str, major: int, minor: int) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
    os.chmod(path, 0o666)  # noqa: S103  a device of everybody, whatever the mask


def empty(directory: str) -> None:
    """As a boot does with `/tmp`."""
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)
