"""Begins in a container of outlast's: finds the agent, in the image or in the home, and becomes it.

The text of this file is the container's command, the same for every job. What differs stands in the variable OUTLAST_TOLD and never
becomes code. It needs a Python of any image's and nothing else.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tempfile
import threading
import urllib.request
import zipfile
from typing import Any

IMAGE = "/opt/outlast/agent"
OLDEST = (3, 10)
TRIES_MAX = 120
PAUSE_SECONDS = 5.0
"""Rights take minutes to arrive."""

ANSWER_SECONDS = 60.0


def main() -> None:
    if sys.version_info < OLDEST:
        _end(f"this image's python3 is {sys.version.split()[0]}, and 3.10 is the oldest that will do")
    told = json.loads(os.environ["OUTLAST_TOLD"])
    if told.get("program") or not os.path.isdir(f"{IMAGE}/outlast"):
        root = _placed(told)
    else:
        root = IMAGE
    os.environ["PYTHONPATH"] = root
    os.execv(sys.executable, [sys.executable, "-m", "outlast.machine.contained"])


def _placed(told: dict[str, Any]) -> str:
    """The agent of the home, unpacked: Python imports from it, and the trainer's library is in it."""
    if not told.get("agent"):
        _end("this image has no agent, and the launch names none")
    data = _fetched(told)
    digest = str(told["agent"]).rpartition("%2F")[2]
    if hashlib.sha256(data).hexdigest() != digest:
        _end("the agent in the home is not the one that was meant")
    root = tempfile.mkdtemp(prefix="outlast-agent-")
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        packed.extractall(root)
    return root


def _fetched(told: dict[str, Any]) -> bytes:
    pause_seconds = float(os.environ.get("OUTLAST_PAUSE_SECONDS") or PAUSE_SECONDS)
    last = ""
    for _ in range(TRIES_MAX):
        try:
            token = json.loads(_read(_token_url(), {"Metadata-Flavor": "Google"}))["access_token"]
            url = f"{told['storage']}/storage/v1/{told['agent']}?alt=media"
            return _read(url, {"Authorization": f"Bearer {token}"})
        except (OSError, ValueError, KeyError) as error:
            last = f"the agent could not be fetched: {error}"
            _say(last)
            threading.Event().wait(pause_seconds)
    _end(last)
    return b""


def _token_url() -> str:
    host = os.environ.get("GCE_METADATA_HOST") or "metadata.google.internal"
    return f"http://{host}/computeMetadata/v1/instance/service-accounts/default/token"


def _read(url: str, headers: dict[str, str]) -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, headers=headers), timeout=ANSWER_SECONDS) as answer:  # noqa: S310
        data: bytes = answer.read()
        return data


def _say(text: str) -> None:
    sys.stderr.write(f"outlast: {text}\n")
    sys.stderr.flush()


def _end(text: str) -> None:
    _say(text)
    sys.exit(1)


if __name__ == "__main__":
    main()
