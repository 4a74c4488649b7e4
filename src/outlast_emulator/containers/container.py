"""A container that runs: the emulator's end of it."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from typing import IO

from outlast_emulator.machines.lines import Closed, Lines

LINE_BYTES_MAX = 64 << 10
"""What a program writes without an end of line is cut into pieces of this."""

OnLine = Callable[[str, str], None]
"""(`stdout` or `stderr`, a line without its end)."""


class Container:
    """All methods may be called at any time, also when it is long gone, by any thread."""

    def __init__(self, name: str, launcher: subprocess.Popen[bytes], lines: Lines) -> None:
        self.name = name
        self.pid = 0
        """Of its process number one, as this computer sees it."""
        self.code: int | None = None
        """What it exited with; 128 plus a signal's number if that ended it; None: it runs, or could not be made."""
        self.failure = ""
        """Why it could not be made."""
        self._launcher = launcher
        self._lines = lines
        self._gone = threading.Event()

    def begin(self, spec: dict[str, object], files: list[int]) -> None:
        """Tells its launcher what to make; if that is gone already, `on_exit` says so."""
        try:
            self._lines.send(spec, files)
        except Closed:
            pass

    def alive(self) -> bool:
        return not self._gone.is_set()

    def signal(self, number: int) -> None:
        """To its process number one, which hears only what it has asked for, but for SIGKILL."""
        try:
            self._lines.send({"signal": int(number)})
        except Closed:
            pass

    def kill(self) -> None:
        """SIGKILL to all of it; returns when nothing of it is left."""
        self.signal(signal.SIGKILL)
        try:
            self._lines.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it is gone already
        self._gone.wait()

    def wait(self, seconds: float | None = None) -> bool:
        """Until it is gone; False: it is still there."""
        return self._gone.wait(seconds)

    def watch(self, on_line: OnLine, on_exit: Callable[[Container], None]) -> None:
        """`on_exit` is called once, after the last line."""
        assert self._launcher.stdout is not None and self._launcher.stderr is not None
        readers = [
            threading.Thread(target=_read, args=(pipe, kind, on_line), name=f"{self.name}-{kind}", daemon=True)
            for kind, pipe in (("stdout", self._launcher.stdout), ("stderr", self._launcher.stderr))
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=self._watch, args=(readers, on_exit), name=self.name, daemon=True).start()

    def _watch(self, readers: list[threading.Thread], on_exit: Callable[[Container], None]) -> None:
        try:
            while True:
                message = self._lines.receive()
                self.pid = int(message.get("pid", self.pid))
                self.failure = str(message.get("failed", self.failure))
                if "ended" in message:
                    self.code = int(message["ended"])
        except Closed:
            pass
        self._launcher.wait()
        for reader in readers:
            reader.join()
        self._lines.sock.close()
        if self.code is None and not self.failure:
            self.failure = "its launcher died"
        on_exit(self)
        self._gone.set()


def _read(pipe: IO[bytes], kind: str, on_line: OnLine) -> None:
    held = b""
    with pipe:
        while piece := pipe.read1(1 << 16):  # type: ignore[attr-defined]
            *lines, held = (held + piece).split(b"\n")
            for line in lines:
                on_line(kind, line.rstrip(b"\r").decode("utf-8", "replace"))
            while len(held) > LINE_BYTES_MAX:
                on_line(kind, held[:LINE_BYTES_MAX].decode("utf-8", "replace"))
                held = held[LINE_BYTES_MAX:]
        if held:
            on_line(kind, held.decode("utf-8", "replace"))
