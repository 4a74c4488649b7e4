"""Debian's docker-registry on a loopback port, and skopeo over it: neither knows anything of us."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.containers import base_image

UP_SECONDS_MAX = 120.0
CONFIG = """\
version: 0.1
log: {{level: warn, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {root}}}, delete: {{enabled: true}}}}
http: {{addr: "127.0.0.1:{port}"}}
{auth}
"""


class Server:
    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"

    def push_base(self, name: str = "library/python", tag: str = base_image.VERSION) -> str:
        """Its name."""
        named = f"{self.host}/{name}:{tag}"
        skopeo("copy", "--dest-tls-verify=false", f"oci:{base_image.layout()}:base", f"docker://{named}")
        return named

    def inspect(self, image: str, *options: str) -> Any:
        return json.loads(skopeo("inspect", "--tls-verify=false", *options, f"docker://{image}"))

    def blobs(self, root: Path) -> set[str]:
        return {path.parent.name for path in root.glob("docker/registry/v2/blobs/sha256/*/*/data")}


def skopeo(*arguments: str) -> str:
    done = subprocess.run(["skopeo", *arguments], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def serving(root: Path, auth: str = "", port: int = 0) -> Iterator[Server]:
    root.mkdir(parents=True, exist_ok=True)
    port = port or _free_port()
    config = root.parent / f"{root.name}.yml"
    config.write_text(CONFIG.format(root=root, port=port, auth=auth))
    with open(root.parent / f"{root.name}.log", "wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", str(config)], stdout=log, stderr=log, env=environment())
    try:
        _wait_until_up(port, process)
        yield Server(port)
    finally:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("REGISTRY_")}


def _wait_until_up(port: int, process: subprocess.Popen[bytes]) -> None:
    give_up_at = time.monotonic() + UP_SECONDS_MAX
    while time.monotonic() < give_up_at:
        assert process.poll() is None, "docker-registry has ended"
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/", timeout=10).close()
        except urllib.error.HTTPError as error:
            if error.code == 401:
                return
            raise
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("docker-registry has not come up")
