"""The system calls that make a machine, which Python 3.10 does not offer itself."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8913, 0x8914, 0x8916, 0x891C
IFF_UP = 1
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
"""Numbers of a call that the C library has no function for."""

CAPABILITY_LAST = 40
CAPABILITY_VERSION = 0x20080522
KEPT_CAPABILITIES = frozenset(
    {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 18, 22, 23, 24, 29, 31}
    # chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw, ipc_lock, ipc_owner,
    # sys_chroot, sys_boot (ends the machine's own namespace only), sys_nice, sys_resource, audit_write, setfcap
)
"""The rest reaches beyond a namespace: devices, mounts, modules, the clock, file handles, the network's settings."""

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags), "unshare")


def enter_namespace(file: int, kind: int) -> None:
    _checked(_libc.setns(file, kind), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    made = _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    _checked(made, f"mount of {kind or source} at {target}")


def bind(source: str, target: str, *, read_only: bool = False) -> None:
    mount(source, target, flags=MS_BIND | MS_REC)
    if read_only:
        mount("", target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY)


def unmount(target: str) -> None:
    _checked(_libc.umount2(target.encode(), MNT_DETACH), f"umount of {target}")


def pivot_root(directory: str) -> None:
    """Makes `directory`, a mount, the root of this mount namespace; nothing of the former root can be reached any more."""
    os.chdir(directory)
    _checked(_libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."), f"pivot_root to {directory}")
    unmount(".")
    os.chdir("/")


def prctl(option: int, value: int) -> None:
    _checked(_libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0), f"prctl {option}")


def drop_capabilities() -> None:
    """Of this process and of all that it will ever start."""
    for capability in range(CAPABILITY_LAST + 1):
        if capability not in KEPT_CAPABILITIES:
            prctl(PR_CAPBSET_DROP, capability)
    kept = sum(1 << capability for capability in KEPT_CAPABILITIES)
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    sets = ctypes.create_string_buffer(24)  # effective, permitted, inheritable: twice, for 32 bits each
    _checked(_libc.capget(header, sets), "capget")
    had = struct.unpack("6I", sets)
    low, high = had[1] & kept, had[4] & kept >> 32
    _checked(_libc.capset(header, struct.pack("6I", low, low, 0, high, high, 0)), "capset")


def set_hostname(name: str) -> None:
    raw = name.encode()[:64]
    _checked(_libc.sethostname(raw, len(raw)), "sethostname")


def raise_loopback(address: str) -> None:
    """Brings `lo` up, with a second address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for name, ip in (("lo", "127.0.0.1"), ("lo:0", address)):
            raw = struct.pack("16sHH4s8x", name.encode(), socket.AF_INET, 0, socket.inet_aton(ip))
            fcntl.ioctl(sock, SIOCSIFADDR, raw)
            flags = struct.unpack("16sH22x", fcntl.ioctl(sock, SIOCGIFFLAGS, struct.pack("16sH22x", name.encode(), 0)))[
                1
            ]
            fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH22x", name.encode(), flags | IFF_UP))
        mask = struct.pack("16sHH4s8x", b"lo:0", socket.AF_INET, 0, socket.inet_aton("255.255.255.255"))
        fcntl.ioctl(sock, SIOCSIFNETMASK, mask)
