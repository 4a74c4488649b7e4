"""Files by local path or `gs://` URL: read whole, and written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def read(place: str) -> bytes:
    if not place.startswith("gs://"):
        try:
            return Path(place).read_bytes()
        except OSError as error:
            raise SystemExit(f"error: `{place}` cannot be read: {error.strerror}") from error
    from google.api_core.exceptions import GoogleAPICallError

    try:
        return bytes(_object(place).download_as_bytes())
    except GoogleAPICallError as error:
        raise SystemExit(f"error: `{place}` cannot be read: {error.message}") from error


def write(place: str, data: bytes) -> None:
    """Whoever looks sees the old file or the new one. An object of a bucket is like that by itself."""
    if not place.startswith("gs://"):
        path = Path(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        beside.write_bytes(data)
        beside.replace(path)
        return
    from google.api_core.exceptions import GoogleAPICallError

    try:
        _object(place).upload_from_string(data, content_type="application/octet-stream", checksum="md5")
    except GoogleAPICallError as error:
        raise SystemExit(f"error: `{place}` cannot be written: {error.message}") from error


def join(place: str, name: str) -> str:
    return f"{place.rstrip('/')}/{name}"


def _object(url: str) -> Any:
    """The client is loaded when it is needed: with local paths it need not be installed."""
    try:
        from google.cloud import storage
    except ImportError as error:
        raise SystemExit(f"error: `{url}` needs Google's client\n\nhint: `pip install google-cloud-storage`") from error

    bucket, _, name = url.removeprefix("gs://").partition("/")
    if not bucket or not name:
        raise SystemExit(f"error: `{url}` names no object: `gs://BUCKET/NAME`")
    return storage.Client(project=None).bucket(bucket).blob(name)
