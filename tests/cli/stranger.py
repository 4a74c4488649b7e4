"""A system that is not Linux, as far as one can be had on Linux: its own calls are gone, and so are its own files.

What no other Unix has is taken out of Python's modules in every process, and Python says that it runs on macOS; `/proc` and `/sys` cannot
be read, Linux's own programs are missed, `ps` takes what POSIX says, `poll` tells less, and a forked copy of a process dies when it asks
for an address. Names of files that differ by case alone are one, a link leads to all that is the user's, as `/tmp` and `/var` do there,
and a process may have 256 files open.
"""

from __future__ import annotations

import os
import resource
import shutil
import sysconfig
import venv

import pytest

from tests import folding
from tests.cli.user import User
from tests.project.project_files import LINUX_ALONE

SITE = f"""
import fcntl, importlib, os, runpy, select, signal, socket, stat, sys, time
for name, attributes in {LINUX_ALONE!r}.items():
    module = importlib.import_module(name)
    for attribute in attributes:
        if hasattr(module, attribute):
            delattr(module, attribute)

def refuse(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(("/proc", "/sys/", "/dev/shm")):
        raise FileNotFoundError(2, "there is no such thing elsewhere", arguments[0])

sys.addaudithook(refuse)

class Poll:  # tells what can be read, and never that nobody is left who could write into a pipe with a name
    def __init__(self):
        self.real = real_poll()
        self.register, self.unregister = self.real.register, self.real.unregister

    def poll(self, timeout=None):
        until = None if timeout is None else time.monotonic() + timeout / 1000
        while True:
            left = None if until is None else max(0, until - time.monotonic()) * 1000
            found = self.real.poll(left)
            told = [(file, event) for file, event in found if event & select.POLLIN or not named_pipe(file)]
            if told or not found:
                return told
            time.sleep(0.01)

def named_pipe(file):
    return stat.S_ISFIFO(os.fstat(file).st_mode) and not os.readlink(f"/proc/self/fd/{{file}}").startswith("pipe:")

real_poll, select.poll = select.poll, Poll

def asked(*arguments, **options):  # no copy of a process may ask for an address, before it has become a program
    if copies:
        os.kill(os.getpid(), signal.SIGSEGV)
    return real_ask(*arguments, **options)

copies = []
os.register_at_fork(after_in_child=lambda: copies.append(os.getpid()))
real_ask, socket.getaddrinfo = socket.getaddrinfo, asked
sys.platform = "darwin"
fcntl.F_FULLFSYNC = 51
"""

FOLDING = """
runpy.run_path({module!r})["install"]({root!r})
"""

PS = """#!/bin/sh
# POSIX: what follows `=` is the heading, to the end of the argument. One keyword for each `-o`, then.
for word in "$@"; do
    case "$word" in *=*,*) echo "$word" >> {refused}; exit 2;; esac
done
exec {ps} "$@"
"""

PROGRAMS = (
    "setpriv",
    "setsid",
    "timeout",
    "nproc",
    "flock",
    "getent",
    "ldconfig",
    "lscpu",
    "free",
    "unshare",
    "nsenter",
    "pidof",
)
"""Of Linux, and not of a Mac."""

FILES_MAX = 256
"""What a Mac's shell gives each process to begin with."""


def estranged(user: User, monkeypatch: pytest.MonkeyPatch) -> User:
    """The same user, whose commands, machines and trainings run there from now on."""
    link = user.root.with_name(f"{user.root.name}-linked")
    link.symlink_to(user.root)
    user.root = link
    ps = shutil.which("ps")
    assert ps is not None
    tools = user.root / "tools"
    tools.mkdir()
    (tools / "ps").write_text(PS.format(ps=ps, refused=tools / "refused"))
    for name in PROGRAMS:
        (tools / name).write_text(f"#!/bin/sh\necho {name} >> {tools / 'refused'}; exit 127\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    venv.create(user.root / "venv", symlinks=True)
    (site,) = (user.root / "venv/lib").glob("python*/site-packages")
    (site / "all.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    folds = FOLDING.format(module=folding.__file__, root=str(user.root))
    (site / "sitecustomize.py").write_text(SITE + folds)
    monkeypatch.setattr("tests.cli.user.OUTLAST", [str(user.root / "venv/bin/python"), "-m", "outlast.cli"])
    # A program each time: what is forked from this process is Linux.
    user.become = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_MAX, FILES_MAX))
    user.env = {
        **user.env,
        "OUTLAST_SYSTEM": "posix",
        "VIRTUAL_ENV": str(user.root / "venv"),
        "PATH": f"{tools}:{os.environ['PATH']}",
    }
    return user
