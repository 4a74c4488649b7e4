"""The trainer's process as its parent sees it: how it is started, and what is written down about its end."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping

from outlast.dataclass import dataclass
from outlast.host import files, system
from outlast.host.machine_dir import MARK, MachineDir
from outlast.host.process import Process
from outlast.host.spawn import spawn

SPOOL_LOG = "log"
DISK_FULL_BYTES = 1 << 20
"""Less than this is left: a trainer that failed, failed for that."""

RESERVE_BYTES = 32 << 10
"""Held from the beginning, so that a trainer that fills the disk does not keep its own end from being written down."""

UMASK = 0o022
SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)
"""Which this process has set, and which a trainer finds as if it had been started from a shell."""

EXIT_NOT_FOUND = 127
EXIT_NOT_EXECUTABLE = 126


@dataclass(frozen=True)
class Order:
    """`trainer.json`."""

    attempt: int
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str


def read_order(paths: MachineDir) -> Order | None:
    document = files.read_json(paths.trainer)
    if document is None:
        return None
    return Order(document["attempt"], tuple(document["argv"]), document["env"], document["cwd"])


def write_order(paths: MachineDir, order: Order, secrets: Mapping[str, str]) -> None:
    """Secrets by themselves, and first: an order that is there can be obeyed. They are on this disk only until it is."""
    if secrets:
        files.put_json(paths.trainer_secrets, dict(secrets))
    files.put_json(
        paths.trainer, {"attempt": order.attempt, "argv": order.argv, "env": dict(order.env), "cwd": order.cwd}
    )


class Trainer:
    def __init__(self, paths: MachineDir, attempt: int, pid: int, oom_kills: int) -> None:
        self.paths = paths
        self.attempt = attempt
        self.pid = pid
        self.oom_kills = oom_kills

    def terminate(self) -> None:
        """Asks the whole group. Its number cannot be another's: the leader has not been reaped yet."""
        try:
            os.killpg(self.pid, signal.SIGTERM)
        except (ProcessLookupError, PermissionError):
            pass

    def conclude(self, status: int, *, killed_by_us: bool) -> None:
        """In place before anybody is told."""
        code = os.waitstatus_to_exitcode(status)
        # A shell says 137 of what it ran.
        killed = code in (-signal.SIGKILL, 128 + signal.SIGKILL) and not killed_by_us
        out_of_memory = killed and system.oom_kills() > self.oom_kills
        document = {
            "code": code if code >= 0 else 128 - code,
            "out_of_memory": out_of_memory,
            "killed": killed and not out_of_memory,
            "disk_full": code != 0 and not killed_by_us and _disk_full(self.paths.run),
        }
        try:
            files.put_json(self.paths.exit(self.attempt), document)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            files.remove(self.paths.reserve)
            files.put_json(self.paths.exit(self.attempt), document)


def start(paths: MachineDir, order: Order, machine: str) -> Trainer:
    oom_kills = system.oom_kills()
    secrets = files.read_json(paths.trainer_secrets) or {}
    env = {**order.env, **secrets, MARK: machine}
    if not os.path.isdir(paths.spool):
        os.mkdir(paths.spool, 0o700)
    if not os.path.exists(paths.reserve):
        files.put(paths.reserve, bytes(RESERVE_BYTES))
    log = f"{paths.spool}/{SPOOL_LOG}"
    pid = spawn(order.argv, env, order.cwd, log, umask=UMASK, signals=SIGNALS) or _fork(order, env, log)
    process = Process.of(pid) or Process(pid, "", system.boot_id())
    files.put(paths.trainer_process(order.attempt), process.encode())
    if secrets:
        files.remove(paths.trainer_secrets)
    return Trainer(paths, order.attempt, pid, oom_kills)


def _fork(order: Order, env: Mapping[str, str], log: str) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _exec(order, env, log, parent)
    try:
        os.setpgid(pid, pid)  # both sides do it: whoever comes first, nobody finds it outside its group
    except OSError:
        pass
    return pid


def _exec(order: Order, env: Mapping[str, str], log: str, parent: int) -> None:
    """The child's side; never returns."""
    code = EXIT_NOT_EXECUTABLE
    try:
        os.setpgid(0, 0)
        system.die_with(parent)
        signal.set_wakeup_fd(-1)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.umask(UMASK)
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 1)
        os.dup2(1, 2)
        os.chdir(order.cwd)
        os.execvpe(order.argv[0], order.argv, env)
    except (OSError, ValueError) as error:
        os.write(2, f"outlast: cannot start `{order.argv[0]}` in `{order.cwd}`: {error}\n".encode(errors="replace"))
        code = EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else EXIT_NOT_EXECUTABLE
    finally:
        os._exit(code)


def _disk_full(path: str) -> bool:
    try:
        seen = os.statvfs(path)
    except OSError:
        return False
    return seen.f_bavail * seen.f_frsize < DISK_FULL_BYTES or (seen.f_files > 0 and seen.f_favail == 0)
