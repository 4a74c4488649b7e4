"""How a person gets to a launch's machine: gcloud's ssh through Identity-Aware Proxy, so that nothing listens to the world."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence

from outlast.errors import NotFound

ENTER = "/var/lib/outlast/enter"
"""Put there by the machine itself when its agent starts."""


def ssh_command(project: str, zone: str, machine: str, command: Sequence[str], ports: Sequence[int]) -> list[str]:
    """The words are quoted once for the machine's shell; here no shell reads them."""
    if shutil.which("gcloud") is None:
        raise NotFound(
            "`gcloud` is not installed, and it holds the keys and the tunnel for ssh",
            hint="install the Google Cloud CLI, or use the console's SSH button",
        )
    remote = shlex.join(["sudo", ENTER, *command])
    forwarded = [word for port in ports for word in ("-L", f"{port}:localhost:{port}")]
    terminal = [] if command else ["-t"]
    return [
        "gcloud",
        "compute",
        "ssh",
        machine,
        f"--project={project}",
        f"--zone={zone}",
        "--tunnel-through-iap",
        "--",
        *terminal,
        *forwarded,
        remote,
    ]
