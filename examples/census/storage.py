"""Files by local path or `gs://` URL: read whole, and written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def read(place: str) -> bytes:
    if place.startswith("gs://"):
        with _explained(place, "read"):
            return bytes(_object(place).download_as_bytes())
    try:
        return Path(place).read_bytes()
    except OSError as error:
        raise SystemExit(f"error: `{place}` cannot be read: {error.strerror}") from error


def write(place: str, data: bytes) -> None:
    """Whoever looks sees the old file or the new one. An object of a bucket is like that by itself."""
    if place.startswith("gs://"):
        with _explained(place, "written"):
            _object(place).upload_from_string(data, content_type="application/octet-stream", checksum="md5")
        return
    path = Path(place)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    beside.write_bytes(data)
    beside.replace(path)


def join(place: str, name: str) -> str:
    return f"{place}{name}" if place.endswith("/") else f"{place}/{name}"


@contextmanager
def _explained(url: str, what: str) -> Iterator[None]:
    """Google's errors in a line, for those that a user can do something about."""
    try:  # the client is loaded when it is needed: with local paths it need not be installed
        from google.api_core.exceptions import Forbidden, NotFound, Unauthorized
        from google.auth.exceptions import DefaultCredentialsError, RefreshError
    except ImportError as error:
        raise SystemExit(f"error: `{url}` needs Google's client\n\nhint: `pip install google-cloud-storage`") from error
    try:
        yield
    except NotFound as error:
        raise SystemExit(f"error: `{url}` cannot be {what}: there is no such object, or no such bucket") from error
    except (Forbidden, Unauthorized) as error:
        hint = "the machine's service account, or you, need `roles/storage.objectUser` on the bucket"
        raise SystemExit(f"error: `{url}` cannot be {what}: permission denied\n\nhint: {hint}") from error
    except (DefaultCredentialsError, RefreshError) as error:
        hint = "`gcloud auth application-default login`"
        raise SystemExit(f"error: `{url}` cannot be {what}: nobody is logged in\n\nhint: {hint}") from error


def _object(url: str) -> Any:
    from google.cloud import storage

    bucket, _, name = url.removeprefix("gs://").partition("/")
    if not bucket or not name:
        raise SystemExit(f"error: `{url}` names no object: `gs://BUCKET/NAME`")
    return storage.Client(project=None).bucket(bucket).blob(name)
