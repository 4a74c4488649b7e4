"""Where the project's own files are, for tests about the project itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "outlast"

LINUX_ALONE = {
    "os": (
        "pidfd_open", "sched_getaffinity", "sched_setaffinity", "sched_setscheduler", "copy_file_range", "splice", "memfd_create",
        "eventfd", "eventfd_read", "eventfd_write", "timerfd_create", "setxattr", "getxattr", "listxattr", "removexattr", "getrandom",
        "unshare", "setns", "pipe2", "fdatasync", "posix_fadvise", "posix_fallocate", "getresuid", "getresgid", "setresuid", "setresgid",
        "waitid", "sched_getscheduler", "sched_getparam", "sched_setparam", "sched_rr_get_interval", "posix_openpt", "login_tty",
        "O_DIRECT", "O_PATH", "O_TMPFILE", "O_NOATIME", "O_RSYNC", "O_LARGEFILE",
    ),
    "signal": ("pidfd_send_signal", "sigwaitinfo", "sigtimedwait", "SIGRTMIN", "SIGRTMAX", "SIGPWR", "SIGPOLL", "SIGSTKFLT", "SIGCLD"),
    "select": ("epoll", "EPOLLIN", "EPOLLOUT", "POLLRDHUP"),
    "socket": (
        "SOCK_CLOEXEC", "SOCK_NONBLOCK", "SO_PEERCRED", "SO_BINDTODEVICE", "AF_NETLINK", "AF_VSOCK", "AF_PACKET", "MSG_CMSG_CLOEXEC",
        "TCP_USER_TIMEOUT", "TCP_QUICKACK", "TCP_KEEPIDLE", "TCP_CORK", "TCP_INFO", "TCP_DEFER_ACCEPT", "MSG_NOSIGNAL", "MSG_MORE",
        "SO_MARK", "SO_PASSCRED", "SO_PROTOCOL",
    ),
    "fcntl": ("F_ADD_SEALS", "F_GETPIPE_SZ", "F_SETPIPE_SZ", "F_NOTIFY", "F_OFD_SETLK", "F_SETLEASE", "F_SETSIG"),
    "mmap": ("MADV_HUGEPAGE", "MADV_DONTFORK", "MADV_DONTDUMP", "MADV_REMOVE", "MAP_POPULATE", "MAP_STACK"),
    "resource": ("prlimit", "RLIMIT_MSGQUEUE", "RLIMIT_NICE", "RLIMIT_RTPRIO", "RLIMIT_SIGPENDING", "RLIMIT_OFILE", "RUSAGE_THREAD"),
    "time": ("CLOCK_BOOTTIME", "CLOCK_TAI"),
    "errno": (
        "EUCLEAN", "EREMOTEIO", "ECOMM", "ENOKEY", "EKEYEXPIRED", "EKEYREVOKED", "EKEYREJECTED", "ENOMEDIUM", "EBADFD", "ENONET",
        "ERESTART", "ERFKILL",
    ),
}  # fmt: skip
"""What Python's modules have on Linux and not on macOS, by module."""


def tracked_files(*patterns: str) -> list[Path]:
    """What git tracks, or would track after `git add`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def contract(contract_id: str) -> dict[str, Any]:
    contracts = settings()["tool"]["importlinter"]["contracts"]
    (found,) = [contract for contract in contracts if contract["id"] == contract_id]
    return dict(found)


def children() -> set[str]:
    """The packages and modules right below `outlast`."""
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    modules = {path.stem for path in SOURCE.glob("*.py")}
    return packages | modules - {"__init__", "__main__"}
