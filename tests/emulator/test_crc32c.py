"""CRC32C without a compiled library."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from outlast_emulator.storage import crc32c


def _bit_by_bit(data: bytes) -> int:
    """The definition."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_the_known_values_come_out() -> None:
    for data, value in ((b"", 0), (b"a", 0xC1D04330), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA)):
        assert crc32c.extended_by_integers(0, data) == value == crc32c.extend(0, data)


@settings(max_examples=60, deadline=None)
@given(seed=st.binary(min_size=1, max_size=50), size=st.integers(0, 9000), cut=st.integers(0, 9000))
def test_folding_agrees_with_the_definition_and_with_itself_in_pieces(seed: bytes, size: int, cut: int) -> None:
    data = (seed * (size // len(seed) + 1))[:size]
    whole = _bit_by_bit(data)

    assert crc32c.extended_by_integers(0, data) == whole
    first, second = data[:cut], data[cut:]
    assert crc32c.extended_by_integers(crc32c.extended_by_integers(0, first), second) == whole
    one, other = crc32c.extend(0, first), crc32c.extend(0, second)
    assert crc32c.combined(one, other, len(second)) == whole
