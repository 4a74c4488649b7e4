"""CRC32C (Castagnoli): by google-crc32c where it is installed, else by arithmetic on large integers.

A checksum is the remainder of a polynomial over GF(2). Python's integers shift and xor megabytes at once, so a long message
is folded: its front half times x^n mod P is added to its back half, until little is left. That is some twenty times as fast
as a table walked byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable

_POLYNOMIAL = 0x82F63B78
"""Bits reversed: bit 31 is x^0, bit 0 is x^31; x^32 is left out."""

_SMALL_BYTES = 2048


def _make_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _make_table()


def _by_table(crc: int, data: bytes) -> int:
    table = _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc


def _times(one: int, other: int) -> int:
    """The product of two remainders, modulo P; bits reversed."""
    product = 0
    for bit in range(31, -1, -1):
        if one >> bit & 1:
            product ^= other
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
    return product


def _power_of_x(exponent: int) -> int:
    """x^exponent mod P; bits reversed."""
    result, square = 0x80000000, 0x40000000
    while exponent:
        if exponent & 1:
            result = _times(result, square)
        square = _times(square, square)
        exponent >>= 1
    return result


def combined(first: int, second: int, second_bytes: int) -> int:
    """The checksum of two pieces, one after the other, from their checksums."""
    return _times(first, _power_of_x(8 * second_bytes)) ^ second


def _fold(message: int, bits: int, distance: int) -> tuple[int, int]:
    """The same remainder in about `distance` bits: what is in front of them is multiplied by x^distance mod P and added.

    The lowest bit of `message` is the first that was sent, which has the highest power.
    """
    front_bits = bits - distance
    front = message & ((1 << front_bits) - 1)
    back = message >> front_bits
    factor = _power_of_x(distance)
    product = 0
    for shift in range(32):
        if factor >> shift & 1:
            product ^= front << shift
    return (product << distance - front_bits) ^ back << 31, distance + 31


def by_integers(crc: int, data: bytes) -> int:
    """The raw register after `data`, without the inversions of begin and end."""
    while len(data) > _SMALL_BYTES:
        head = bytes(a ^ b for a, b in zip(crc.to_bytes(4, "little"), data[:4], strict=True))
        message, bits = int.from_bytes(head + data[4:], "little"), 8 * len(data)
        crc = 0
        while bits > 8 * _SMALL_BYTES:
            message, bits = _fold(message, bits, (bits + 1) // 2)
        pad = -bits % 8
        data = (message << pad).to_bytes((bits + pad) // 8, "little")
    return _by_table(crc, data)


def extended_by_integers(crc: int, data: bytes) -> int:
    return by_integers(crc ^ 0xFFFFFFFF, data) ^ 0xFFFFFFFF


def _choose() -> Callable[[int, bytes], int]:
    try:
        import google_crc32c
    except ImportError:
        return extended_by_integers
    if google_crc32c.implementation != "c":
        return extended_by_integers
    found: Callable[[int, bytes], int] = google_crc32c.extend
    return found


extend = _choose()
"""extend(checksum of what came before, data) -> checksum of both; 0 is the checksum of nothing."""
