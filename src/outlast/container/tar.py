"""Headers of a tar archive, byte for byte the same on every machine and with every version of Python."""

from __future__ import annotations

BLOCK_BYTES = 512
NAME_BYTES_MAX = 100
OCTAL_BYTES_MAX = 8**11 - 1
"""A larger size is written in binary, as GNU tar does."""

MADE_AT = 315532800
"""1980-01-01: the first day that a zip archive can hold, since people zip what they find in an image."""

FILE, LINK, DIRECTORY, LONG_NAME, LONG_LINK = b"0", b"2", b"5", b"L", b"K"


def header(name: bytes, kind: bytes, mode: int, size: int = 0, link: bytes = b"") -> bytes:
    """One entry's head; what is too long for it stands in entries of its own before it."""
    before = b""
    if len(link) > NAME_BYTES_MAX:
        before += _long(link, LONG_LINK)
    if len(name) > NAME_BYTES_MAX:
        before += _long(name, LONG_NAME)
    return before + _block(name[:NAME_BYTES_MAX], kind, mode, size, link[:NAME_BYTES_MAX])


def padding(size: int) -> bytes:
    return b"\0" * (-size % BLOCK_BYTES)


def _long(text: bytes, kind: bytes) -> bytes:
    data = text + b"\0"
    return _block(b"././@LongLink", kind, 0, len(data), b"") + data + padding(len(data))


def _block(name: bytes, kind: bytes, mode: int, size: int, link: bytes) -> bytes:
    parts = (
        name.ljust(NAME_BYTES_MAX, b"\0"),
        b"%07o\0" % mode,
        b"%07o\0" % 0,  # owner and group: root
        b"%07o\0" % 0,
        b"%011o\0" % size if size <= OCTAL_BYTES_MAX else b"\x80" + size.to_bytes(11, "big"),
        b"%011o\0" % MADE_AT,
        b" " * 8,  # the checksum, of a block in which it is blank
        kind,
        link.ljust(NAME_BYTES_MAX, b"\0"),
        b"ustar  \0",
        b"root".ljust(32, b"\0"),
        b"root".ljust(32, b"\0"),
    )
    block = b"".join(parts).ljust(BLOCK_BYTES, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]
