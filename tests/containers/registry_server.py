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
PORTS_MAX = 5
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
def serving(root: Path, auth: str = "") -> Iterator[Server]:
    """At a port that was free a moment ago; whoever was faster there is left alone, and another one tried."""
    root.mkdir(parents=True, exist_ok=True)
    for _ in range(PORTS_MAX):
        port = _free_port()
        config = root.parent / f"{root.name}.yml"
        config.write_text(CONFIG.format(root=root, port=port, auth=auth))
        log = root.parent / f"{root.name}.log"
        with open(log, "wb") as file:
            process = subprocess.Popen(
                ["docker-registry", "serve", str(config)], stdout=file, stderr=file, env=environment()
            )
        try:
            if _comes_up(port, process):
                yield Server(port)
                return
            assert "address already in use" in log.read_text(), log.read_text()
        finally:
            process.kill()
            process.wait()
    raise AssertionError("no port is free for long enough")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("REGISTRY_")}


def _comes_up(port: int, process: subprocess.Popen[bytes]) -> bool:
    """False: it has ended."""
    give_up_at = time.monotonic() + UP_SECONDS_MAX
    while time.monotonic() < give_up_at:
        if process.poll() is not None:
            return False
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/", timeout=10).close()
        except urllib.error.HTTPError as error:
            if error.code == 401:
                return process.poll() is None
            raise
        except OSError:
            time.sleep(0.02)
        else:
            return process.poll() is None
    raise AssertionError("docker-registry has not come up")
