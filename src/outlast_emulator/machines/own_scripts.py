"""Runs a machine's startup or shutdown scripts as Google's own program does, where that cannot be used.

That is on computers without Debian's `google-guest-agent`, and in plain machines, since Google's looks for its metadata
server at one address only. The order of keys is Google's: `startup-script`, then `startup-script-url`.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401  which Python loads at the first connection: too late in a machine that has another Python
import http.client
import os
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Mapping

ADDRESS = "169.254.169.254"
FETCH_SECONDS_MAX = 60.0


def run(kind: str, environment: Mapping[str, str]) -> int:
    """Ours: the exit code of the last script."""
    code = 0
    for name, found in _found(kind, environment.get("GCE_METADATA_HOST", ADDRESS)):
        with tempfile.TemporaryDirectory(prefix="metadata-scripts") as directory:
            path = os.path.join(directory, name)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o700), "wb") as file:
                file.write(found.lstrip())
            _say(f"{kind}-script: Running {name}.")
            code = subprocess.run(["/bin/bash", "-c", path], env=dict(environment), check=False).returncode
            _say(f"{kind}-script: {name} exit status {code}.")
    if code:
        _say(f"{kind}-script: Script failed with exit status {code}.")
    _say(f"Finished running {kind} scripts.")
    return code


def _found(kind: str, host: str) -> list[tuple[str, bytes]]:
    for place in ("instance", "project"):
        scripts = []
        text = _attribute(host, place, f"{kind}-script")
        if text.strip():
            scripts.append((f"{kind}-script", text))
        url = _attribute(host, place, f"{kind}-script-url").decode()
        if url:
            scripts.append((f"{kind}-script-url", _fetch(url)))
        if scripts:
            return scripts
    _say(f"No {kind} scripts to run.")
    return []


def _attribute(host: str, place: str, key: str) -> bytes:
    connection = http.client.HTTPConnection(host, timeout=FETCH_SECONDS_MAX)
    try:
        path = f"/computeMetadata/v1/{place}/attributes/{key}"
        connection.request("GET", path, headers={"Metadata-Flavor": "Google"})
        answer = connection.getresponse()
        body = answer.read()
        return body if answer.status == 200 else b""
    finally:
        connection.close()


def _fetch(url: str) -> bytes:
    """`gs://` is read without a login, from wherever `STORAGE_EMULATOR_HOST` says."""
    if url.startswith("gs://"):
        bucket, _, name = url.removeprefix("gs://").partition("/")
        base = os.environ.get("STORAGE_EMULATOR_HOST", "https://storage.googleapis.com").rstrip("/")
        url = f"{base}/storage/v1/b/{bucket}/o/{urllib.parse.quote(name, safe='')}?alt=media"
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"no script can be fetched from `{url}`")
    with urllib.request.urlopen(url, timeout=FETCH_SECONDS_MAX) as answer:  # noqa: S310  the scheme was checked
        return bytes(answer.read())


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
