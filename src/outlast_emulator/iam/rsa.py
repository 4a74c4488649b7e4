"""RSA keys of service accounts in pure Python: made for a key file, and used to verify what was signed with it."""

from __future__ import annotations

import base64
import hashlib
import secrets

KEY_BITS = 2048
EXPONENT = 65537
_ROUNDS = 20
_SMALL = tuple(n for n in range(3, 2000, 2) if all(n % d for d in range(3, int(n**0.5) + 1, 2)))
_SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")


def make_key() -> tuple[int, str]:
    """(modulus, private key as PEM); takes about a second."""
    while True:
        p, q = _prime(KEY_BITS // 2), _prime(KEY_BITS // 2)
        phi = (p - 1) * (q - 1)
        if p != q and (p * q).bit_length() == KEY_BITS and phi % EXPONENT:
            break
    d = pow(EXPONENT, -1, phi)
    numbers = (0, p * q, EXPONENT, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))
    inner = _der(0x30, b"".join(_integer(number) for number in numbers))
    algorithm = bytes.fromhex("300d06092a864886f70d0101010500")
    outer = _der(0x30, _integer(0) + algorithm + _der(0x04, inner))
    lines = base64.encodebytes(outer).decode().replace("\n", "")
    body = "\n".join(lines[at : at + 64] for at in range(0, len(lines), 64))
    return p * q, f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"


def verifies(modulus: int, message: bytes, signature: bytes) -> bool:
    """RSASSA-PKCS1-v1_5 with SHA-256, which is JWT's RS256."""
    size = (modulus.bit_length() + 7) // 8
    number = int.from_bytes(signature, "big")
    if len(signature) != size or number >= modulus:
        return False
    digest = _SHA256_PREFIX + hashlib.sha256(message).digest()
    padded = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    return pow(number, EXPONENT, modulus).to_bytes(size, "big") == padded


def _prime(bits: int) -> int:
    while True:
        # The two highest bits are set, so that a product of two has all its bits.
        candidate = secrets.randbits(bits) | (3 << (bits - 2)) | 1
        if all(candidate % small for small in _SMALL) and _is_probably_prime(candidate):
            return candidate


def _is_probably_prime(number: int) -> bool:
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(_ROUNDS):
        value = pow(secrets.randbelow(number - 3) + 2, odd, number)
        if value in (1, number - 1):
            continue
        for _ in range(twos - 1):
            value = value * value % number
            if value == number - 1:
                break
        else:
            return False
    return True


def _integer(number: int) -> bytes:
    return _der(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content
