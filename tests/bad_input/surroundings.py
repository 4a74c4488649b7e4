"""Where a test of bad input takes place: small disks, rights that are lacking, and a look at what still runs."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.user import User
from tests.waiting import until

PR_CAPBSET_DROP = 24
CAPABILITIES_OVER_FILES = (1, 2, 3)
"""DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER: what lets root read and write whatever the modes say."""

BLOCK = b"x" * 4096
_LIBC = ctypes.CDLL(None, use_errno=True)


def obey_modes() -> None:
    """For a child before its exec: also root is refused what a file's mode refuses."""
    if os.geteuid() == 0:
        for capability in CAPABILITIES_OVER_FILES:
            if _LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                os._exit(111)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state not in (b"Z", b"X")


def processes(user: User) -> list[str]:
    """All of this user's, by name: whatever was started has the user's directory in its environment or its arguments."""
    mark = os.fsencode(user.root)
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name = (process / "comm").read_text().strip()
            words = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        except OSError:
            continue
        if mark in words and int(process.name) != os.getpid() and alive(int(process.name)):
            found.append(f"{name} {process.name}")
    return found


def machines(user: User) -> list[str]:
    """But the supervisor, which ends by itself when it is idle."""
    return [name for name in processes(user) if not name.startswith("outlast-super")]


def assert_nothing_runs(user: User) -> None:
    """Whoever is just leaving may take its time."""
    try:
        until(lambda: not machines(user), "the end of all machines")
    except AssertionError:
        raise AssertionError(f"still running: {machines(user)}") from None


class SmallDisk:
    """A file system of a given size in a mount namespace of its own: whoever calls `enter` sees it, nobody else."""

    def __init__(self, path: Path, size: str) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        mount = 'mount -t tmpfs -o size="$2",mode=700 tmpfs "$1" && echo mounted && exec sleep infinity'
        rights = [] if os.geteuid() == 0 and _may_mount() else ["--user", "--map-root-user"]
        command = ["unshare", "--mount", "--propagation", "private", *rights, "sh", "-c", mount, "sh", str(path), size]
        self._holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert self._holder.stdout is not None
        said = self._holder.stdout.readline()
        assert said == b"mounted\n", f"a disk cannot be mounted here, not even in a user namespace: {said!r}"
        kinds = ["user", "mnt"] if rights else ["mnt"]
        self._namespaces = [os.open(f"/proc/{self._holder.pid}/ns/{kind}", os.O_RDONLY) for kind in kinds]

    @property
    def seen(self) -> Path:
        """Where the test itself, outside of the namespace, finds it."""
        return Path(f"/proc/{self._holder.pid}/root{self.path}")

    def enter(self) -> None:
        """For a child before its exec; it stays in its directory."""
        here = os.getcwd()
        for namespace in self._namespaces:
            if _LIBC.setns(namespace, 0) != 0:
                os._exit(112)
        os.chdir(here)

    def remount(self, option: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{option}", str(self.path)], preexec_fn=self.enter, check=True)

    def fill(self) -> None:
        """To the last byte."""
        for size in (len(BLOCK), 1):
            with open(self.seen / "ballast", "ab", buffering=0) as ballast:
                try:
                    while True:
                        ballast.write(BLOCK[:size])
                except OSError as error:
                    assert error.errno == errno.ENOSPC

    def free(self) -> None:
        (self.seen / "ballast").unlink()

    def close(self) -> None:
        for namespace in self._namespaces:
            os.close(namespace)
        self._holder.kill()
        self._holder.wait()
        assert self._holder.stdout is not None
        self._holder.stdout.close()


def _may_mount() -> bool:
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return tried.returncode == 0


@contextmanager
def small_disk(user: User, path: Path, size: str) -> Iterator[SmallDisk]:
    """All that this user starts from now on finds the disk at `path`."""
    disk = SmallDisk(path, size)
    user.become = disk.enter
    try:
        yield disk
    finally:
        disk.close()
