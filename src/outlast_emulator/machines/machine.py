"""A machine that runs: the emulator's end of it."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from outlast_emulator.machines import visits
from outlast_emulator.machines.errors import MachineError
from outlast_emulator.machines.lines import Closed, Lines
from outlast_emulator.machines.serial import read_serial
from outlast_emulator.wire.gate import Gate

BOOT_SECONDS_MAX = 60.0
GRACE_SECONDS = 1.0
"""After the time of a soft-off is over: then it is killed from outside."""
FREEZE_SECONDS_MAX = 10.0

NEEDS = {
    "isolated": "\nhint: as root, machines need namespaces and a data directory on which an overlay can lie (`--data` on ext4, xfs, btrfs"
    " or tmpfs, not in a container's own file system); as any other user they are plain processes and need neither",
    "plain": "",
}
"""What whoever reads the kernel's words can do."""


class Machine:
    """All methods may be called at any time, also when the machine is long gone, by any thread."""

    def __init__(self, name: str, kind: str, launcher: subprocess.Popen[bytes], lines: Lines, disk: Path) -> None:
        self.name = name
        self.kind = kind
        self.pid = 0
        """Of its process number one, as this computer sees it."""
        self.ended = ""
        """Why: `off` (it powered itself off, or was told to), `reboot`, `killed`, `crashed`; "" while it runs."""
        self.gate = Gate()
        self.closers: list[Callable[[], None]] = []
        """Close what serves its sockets."""
        self.on_end: Callable[[], None] | None = None
        self._launcher = launcher
        self._lines = lines
        self._disk = disk
        self._gone = threading.Event()
        self._frozen = threading.Event()
        self._killed = False
        self._timer: threading.Timer | None = None
        self._listening = threading.Event()

    def alive(self) -> bool:
        return not self._gone.is_set()

    def serial(self) -> tuple[int, bytes]:
        """(offset of the first byte that is kept, the last megabyte of its serial output)."""
        return read_serial(self._disk)

    def soft_off(self, seconds: float) -> None:
        """Presses its power button and returns when it is off: shutdown script, then TERM to all; after `seconds`, KILL."""
        self.press_power(seconds)
        self._gone.wait()

    def press_power(self, seconds: float) -> None:
        """The same, without waiting."""
        self.tell({"off": max(seconds, 0.01)})
        self._timer = threading.Timer(seconds + GRACE_SECONDS, self._pull_the_plug)
        self._timer.daemon = True
        self._timer.start()

    def kill(self) -> None:
        """SIGKILL to all of it; returns when nothing of it is left. `on_exit` is not called: the caller knows."""
        self._killed = True
        self._pull_the_plug()
        self._gone.wait()

    def cut(self, is_cut: bool) -> None:
        """Its network, but for the metadata server: nothing it sends arrives, and nothing is answered."""
        if self.kind == "plain":
            raise MachineError(f"the network of `{self.name}` cannot be cut: without root it is that of this computer")
        if is_cut:
            self.gate.cut()
        else:
            self.gate.heal()

    def connect(self, port: int) -> socket.socket:
        """To one of its ports, from outside. OSError: nobody listens there, or its network is cut."""
        if self.kind == "plain" or self.gate.is_cut or not self.alive():
            raise ConnectionRefusedError(f"port {port} of `{self.name}` cannot be reached")
        return visits.connect(self.pid, port)

    def will_listen(self, port: int) -> bool:
        """Soon: for ssh it is told to, when somebody comes for the first time."""
        if port != visits.SSH_PORT or self.kind == "plain" or not visits.SSHD.exists() or not self.alive():
            return False
        if not self._listening.is_set():
            self._listening.set()
            self.tell({"run": visits.LISTEN})
        return True

    def wait(self, seconds: float | None = None) -> bool:
        """Until it is gone; False: it is still there."""
        return self._gone.wait(seconds)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """None of its processes runs meanwhile, so that its disk can be copied."""
        self._freeze(True)
        try:
            yield
        finally:
            self._freeze(False)

    # ------------------------------------------------------------------------------------------- for `MachineHost` alone

    def handshake(self) -> list[socket.socket]:
        """Its listening sockets: the metadata server's, then the API's. MachineError: it could not be made."""
        self._lines.sock.settimeout(BOOT_SECONDS_MAX)
        try:
            while True:
                message = self._lines.receive()
                if "pid" in message:
                    self.pid = int(message["pid"])
                if "failed" in message or "ended" in message:
                    what = message.get("failed", "it died")
                    raise MachineError(f"machine `{self.name}` could not be made: {what}{NEEDS[self.kind]}")
                if "listening" in message:
                    break
        except Closed as error:
            raise MachineError(f"machine `{self.name}` could not be made: its launcher died") from error
        self._lines.sock.settimeout(None)
        sockets = [socket.socket(fileno=number) for number in self._lines.files]
        self._lines.files.clear()
        return sockets

    def go(self, on_exit: Callable[[], None]) -> None:
        self.tell({"go": True})
        threading.Thread(target=self._watch, args=(on_exit,), name=f"machine-{self.name}", daemon=True).start()

    def abandon(self) -> None:
        """It never ran."""
        self._lines.sock.close()
        self._launcher.wait()
        self._gone.set()

    def _watch(self, on_exit: Callable[[], None]) -> None:
        try:
            while True:
                message = self._lines.receive()
                if "ended" in message:
                    self.ended = str(message["ended"])
                if "frozen" in message:
                    self._frozen.set()
        except Closed:
            pass
        self._launcher.wait()
        self.ended = self.ended or ("killed" if self._killed else "crashed")
        if self._timer is not None:
            self._timer.cancel()
        for close in self.closers:
            close()
        self._lines.sock.close()
        if self.on_end is not None:
            self.on_end()
        self._gone.set()
        if not self._killed:
            on_exit()

    def _pull_the_plug(self) -> None:
        """A machine ends with its connection."""
        try:
            self._lines.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it is gone already
        self._launcher.send_signal(signal.SIGTERM)

    def tell(self, message: dict[str, object]) -> None:
        try:
            self._lines.send(message)
        except Closed:
            pass

    def _freeze(self, wanted: bool) -> None:
        if not self.alive():
            return
        self._frozen.clear()
        self.tell({"freeze": wanted})
        self._frozen.wait(FREEZE_SECONDS_MAX)
