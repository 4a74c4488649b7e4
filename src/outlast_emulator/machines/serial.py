"""A machine's serial output: a file that keeps the last of it, and knows how much there was before."""

from __future__ import annotations

from pathlib import Path

KEPT_BYTES = 1 << 20
"""Google keeps the last megabyte."""
FILE_BYTES_MAX = 4 * KEPT_BYTES
PREFIX = "serial-"


class SerialWriter:
    """Appends to `serial-<offset of its first byte>`; begins a new file where one grows too long."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        found = _newest(directory)
        self._path = found or directory / f"{PREFIX}0"
        self._file = self._path.open("ab")

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()
        if self._file.tell() > FILE_BYTES_MAX:
            self._begin_again()

    def close(self) -> None:
        self._file.close()

    def _begin_again(self) -> None:
        size = self._file.tell()
        self._file.close()
        with self._path.open("rb") as file:
            file.seek(size - KEPT_BYTES)
            kept = file.read()
        path = self._directory / f"{PREFIX}{_offset(self._path) + size - KEPT_BYTES}"
        beside = self._directory / "new-serial"
        beside.write_bytes(kept)
        beside.replace(path)
        self._path.unlink()
        self._path, self._file = path, path.open("ab")


def read_serial(directory: Path) -> tuple[int, bytes]:
    """(offset of the first byte, the last megabyte)."""
    while True:
        path = _newest(directory)
        if path is None:
            return 0, b""
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                start = max(0, size - KEPT_BYTES)
                file.seek(start)
                return _offset(path) + start, file.read(KEPT_BYTES)
        except FileNotFoundError:
            continue  # just replaced by a newer one


def _newest(directory: Path) -> Path | None:
    return max(directory.glob(f"{PREFIX}*"), key=_offset, default=None)


def _offset(path: Path) -> int:
    return int(path.name.removeprefix(PREFIX))
