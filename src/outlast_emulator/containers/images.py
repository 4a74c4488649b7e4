"""Images on this computer: each layer is fetched and unpacked once, however many images and containers it has.

layers/<first 32 of its digest>     an overlay's layer
flat/<first 32 of the manifest's>   all layers of an image in one, where there are no overlays
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outlast_emulator.clock import utc_now
from outlast_emulator.containers.pull import NoImage, Puller, address_of
from outlast_emulator.containers.unpack import BadLayer, unpack
from outlast_emulator.registry import base

NAME_CHARACTERS = 32
KEPT_SECONDS = 7 * 24 * 3600.0
"""What no container has begun with for so long is fetched again when it is needed."""


@dataclass(frozen=True)
class Image:
    digest: str
    layers: tuple[str, ...]
    """Their directories below `layers`, uppermost first; of a flat image none."""
    flat: str
    """Its directory below `flat`; "" if it has layers."""
    config: dict[str, Any]
    """`Env`, `Entrypoint`, `Cmd`, `WorkingDir`, `User`."""
    on_computer: bool
    """It begins with the emulator's own base: this computer's root lies below."""


class Images:
    """Thread-safe. What is half fetched has another name until it is whole."""

    def __init__(self, data: Path, *, flat: bool) -> None:
        self._data = data
        self._flat = flat
        self._lock = threading.Lock()
        """One pull at a time: two jobs of one image would fetch it twice."""
        for name in ("layers", "flat", "new"):
            (data / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in (data / "new").iterdir():
            shutil.rmtree(path, ignore_errors=True)
        for path in (*data.glob("layers/*"), *data.glob("flat/*")):
            if utc_now().timestamp() - path.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(path, ignore_errors=True)

    def ready(self, text: str, own_url: str, token: str) -> Image:
        """The image, unpacked. NoImage says why it cannot be had."""
        address = address_of(text, own_url)
        puller = Puller(address, token if address.url == own_url else "")
        try:
            with self._lock:
                return self._ready(puller)
        except (BadLayer, KeyError, TypeError, ValueError) as error:
            raise NoImage(f"{text} is no image that can be run: {error}") from error

    def _ready(self, puller: Puller) -> Image:
        digest, manifest = puller.manifest()
        config = puller.document(manifest["config"]["digest"]).get("config") or {}
        digests = [str(one["digest"]) for one in manifest["layers"]]
        on_computer = bool(digests) and digests[0] == base.digest_of(base.layer())
        if self._flat:
            name = _short(digest)
            self._unpacked("flat", name, puller, digests)
            return Image(digest, (), name, config, on_computer)
        for one in digests:
            self._unpacked("layers", _short(one), puller, [one])
        return Image(digest, tuple(_short(one) for one in reversed(digests)), "", config, on_computer)

    def _unpacked(self, kind: str, name: str, puller: Puller, digests: list[str]) -> None:
        target = self._data / kind / name
        if target.exists():
            os.utime(target)
            return
        beside = self._data / "new" / secrets.token_hex(8)
        try:
            for digest in digests:
                with puller.blob(digest) as stream:
                    unpack(stream, beside, flat=self._flat)
            beside.chmod(0o755)
            os.rename(beside, target)
            os.utime(target)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def _short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:NAME_CHARACTERS]
