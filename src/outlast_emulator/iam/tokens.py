"""Access tokens that need no table: who, which scopes, until when, signed by this emulator, so that they survive its restart."""

from __future__ import annotations

import binascii
import hashlib
import hmac
import json
from typing import NamedTuple

from outlast_emulator.iam.jwt import pad_less, unpad

PREFIX = "ya29.emulated."
LIFETIME_SECONDS = 3600
CACHE_ENTRIES_MAX = 1000

CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"


class Token(NamedTuple):
    member: str
    """`user:...`, `serviceAccount:...` or `principal://...`."""
    scopes: tuple[str, ...]
    issued_at: float
    expires_at: float
    quota_project: str = ""


class Mint:
    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._known: dict[str, Token] = {}

    def issue(self, token: Token) -> str:
        claims = [token.member, list(token.scopes), token.issued_at, token.expires_at]
        body = pad_less(json.dumps(claims, separators=(",", ":")).encode())
        return f"{PREFIX}{body}.{self._signature(body)}"

    def read(self, text: str) -> Token | None:
        """None: begins like one of ours and is none. Whether it is expired is for the caller to say."""
        found = self._known.get(text)
        if found is not None:
            return found
        body, _, signature = text.removeprefix(PREFIX).partition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._signature(body).encode()):
            return None
        try:
            member, scopes, issued_at, expires_at = json.loads(unpad(body))
        except (ValueError, binascii.Error):
            return None
        token = Token(member, tuple(scopes), issued_at, expires_at)
        if len(self._known) >= CACHE_ENTRIES_MAX:
            self._known.clear()
        self._known[text] = token
        return token

    def _signature(self, body: str) -> str:
        return pad_less(hmac.new(self._secret, body.encode("utf-8", "replace"), hashlib.sha256).digest()[:18])
