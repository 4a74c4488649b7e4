"""A self-signed certificate for 127.0.0.1 and localhost, made with nothing but the standard library.

Some clients (gsutil) speak only TLS. The key is on the curve P-256: a few milliseconds of plain arithmetic. It guards nothing:
what it serves is reachable on this machine without it.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
import ssl
import threading
from datetime import datetime, timedelta
from pathlib import Path

from outlast_emulator.clock import utc_now

_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)

_EC_KEY = bytes.fromhex("06072a8648ce3d0201")
_P256 = bytes.fromhex("06082a8648ce3d030107")
_ECDSA_SHA256 = bytes.fromhex("06082a8648ce3d040302")
_COMMON_NAME = bytes.fromhex("0603550403")
_ALT_NAMES = bytes.fromhex("0603551d11")
_CONSTRAINTS = bytes.fromhex("0603551d13")

DAYS = 3650

Point = tuple[int, int]


def _added(one: Point | None, other: Point | None) -> Point | None:
    if one is None:
        return other
    if other is None:
        return one
    if one[0] == other[0]:
        if (one[1] + other[1]) % _P == 0:
            return None
        slope = (3 * one[0] * one[0] - 3) * pow(2 * one[1], -1, _P)
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, _P)
    x = (slope * slope - one[0] - other[0]) % _P
    return x, (slope * (one[0] - x) - one[1]) % _P


def _times(number: int, point: Point) -> Point:
    result: Point | None = None
    added: Point | None = point
    while number:
        if number & 1:
            result = _added(result, added)
        added = _added(added, added)
        number >>= 1
    assert result is not None
    return result


def _signature(key: int, message: bytes) -> bytes:
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    while True:
        nonce = secrets.randbelow(_N - 1) + 1
        r = _times(nonce, _G)[0] % _N
        s = pow(nonce, -1, _N) * (digest + r * key) % _N
        if r and s:
            return _sequence(_integer(r), _integer(s))


def _der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    if len(body) < 128:
        return bytes([tag, len(body)]) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + body


def _sequence(*parts: bytes) -> bytes:
    return _der(0x30, *parts)


def _integer(number: int) -> bytes:
    return _der(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _bits(data: bytes) -> bytes:
    return _der(0x03, b"\0", data)


def _time(moment: datetime) -> bytes:
    return _der(0x17, f"{moment:%y%m%d%H%M%SZ}".encode())


def _pem(name: str, data: bytes) -> str:
    text = base64.b64encode(data).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {name}-----", *lines, f"-----END {name}-----", ""])


def made() -> tuple[str, str]:
    """(certificate, key), each as PEM."""
    key = secrets.randbelow(_N - 1) + 1
    x, y = _times(key, _G)
    public = b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")
    name = _sequence(_der(0x31, _sequence(_COMMON_NAME, _der(0x0C, b"outlast emulator"))))
    now = utc_now()
    names = _sequence(_der(0x82, b"localhost"), _der(0x87, bytes([127, 0, 0, 1])))
    extensions = _sequence(
        _sequence(_CONSTRAINTS, _der(0x01, b"\xff"), _der(0x04, _sequence(_der(0x01, b"\xff")))),
        _sequence(_ALT_NAMES, _der(0x04, names)),
    )
    content = _sequence(
        _der(0xA0, _integer(2)),
        _integer(secrets.randbits(64) | 1),
        _sequence(_ECDSA_SHA256),
        name,
        _sequence(_time(now - timedelta(days=2)), _time(now + timedelta(days=DAYS))),
        name,
        _sequence(_sequence(_EC_KEY, _P256), _bits(public)),
        _der(0xA3, extensions),
    )
    certificate = _sequence(content, _sequence(_ECDSA_SHA256), _bits(_signature(key, content)))
    private = _sequence(_integer(1), _der(0x04, key.to_bytes(32, "big")), _der(0xA0, _P256), _der(0xA1, _bits(public)))
    return _pem("CERTIFICATE", certificate), _pem("EC PRIVATE KEY", private)


class Tls:
    """The server's context, made when the first encrypted connection asks for it, and kept in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.certificate_path = folder / "certificate.pem"
        self._key_path = folder / "key.pem"
        self._context: ssl.SSLContext | None = None
        self._lock = threading.Lock()

    def __call__(self) -> ssl.SSLContext:
        with self._lock:
            if self._context is None:
                self.ensure()
                self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                self._context.load_cert_chain(self.certificate_path, self._key_path)
            return self._context

    def ensure(self) -> None:
        """Certificate and key are on disk afterwards."""
        if self.certificate_path.exists() and self._key_path.exists():
            return
        self.certificate_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        certificate, key = made()
        for path, text in ((self._key_path, key), (self.certificate_path, certificate)):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(text)
