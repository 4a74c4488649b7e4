"""JSON web tokens, as service account keys sign them and as foreign identity providers give them out."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, NamedTuple

from outlast_emulator.iam import rsa


class Jwt(NamedTuple):
    header: dict[str, Any]
    claims: dict[str, Any]
    signed: bytes
    signature: bytes

    def verifies(self, modulus: int) -> bool:
        return self.header.get("alg") == "RS256" and rsa.verifies(modulus, self.signed, self.signature)


def parse(text: str) -> Jwt | None:
    """None: not a token of this kind at all."""
    parts = text.split(".")
    if len(parts) != 3:
        return None
    try:
        header, claims = (json.loads(unpad(part)) for part in parts[:2])
        signature = unpad(parts[2])
    except (ValueError, binascii.Error, RecursionError):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    return Jwt(header, claims, f"{parts[0]}.{parts[1]}".encode(), signature)


def unpad(text: str) -> bytes:
    """URL-safe base64 without its `=`."""
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


def pad_less(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
