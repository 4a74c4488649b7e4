"""How a person gets to a launch's machine: gcloud's ssh through Identity-Aware Proxy, so that nothing listens to the world."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence

from outlast.dataclass import dataclass
from outlast.errors import NotFound
from outlast.google.endpoints import Endpoints

ENTER = "/var/lib/outlast/enter"
"""Put there by the machine itself when its agent starts."""

WORKER = "OUTLAST_WORKER"
"""Which of those that share a machine is meant (see machine/enter.py)."""

TOKEN = "CLOUDSDK_AUTH_ACCESS_TOKEN"  # noqa: S105  the variable's name


@dataclass(frozen=True)
class Proxy:
    """Which Identity-Aware Proxy: Google's own takes no words."""

    before: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @classmethod
    def of(cls, endpoints: Endpoints, environ: Mapping[str, str]) -> Proxy:
        """An emulator's is told to gcloud, which opens no tunnel without a token to send and without TLS; the emulator signs its
        certificate itself, and takes whatever is not its own token for the owner."""
        if not endpoints.emulated:
            return cls()
        token = () if environ.get(TOKEN) else (f"{TOKEN}=emulated",)
        return cls(
            ("env", "CLOUDSDK_AUTH_DISABLE_CREDENTIALS=false", *token),
            (
                f"--iap-tunnel-url-override=wss://{endpoints.compute.partition('://')[2]}/v4",
                "--iap-tunnel-insecure-disable-websocket-cert-check",
            ),
        )


def ssh_command(
    project: str,
    zone: str,
    machine: str,
    command: Sequence[str],
    ports: Sequence[int],
    proxy: Proxy,
    worker: int | None = None,
) -> list[str]:
    """The words are quoted once for the machine's shell; here no shell reads them. `worker`: whose directory on the machine."""
    if shutil.which("gcloud") is None:
        raise NotFound(
            "`gcloud` is not installed, and it holds the keys and the tunnel for ssh",
            hint="install the Google Cloud CLI, or use the console's SSH button",
        )
    chosen = ["env", f"{WORKER}={worker}"] if worker is not None else []
    remote = shlex.join(["sudo", *chosen, ENTER, *command])
    forwarded = [word for port in ports for word in ("-L", f"{port}:localhost:{port}")]
    terminal = [] if command else ["-t"]
    return [
        *proxy.before,
        "gcloud",
        "compute",
        "ssh",
        machine,
        f"--project={project}",
        f"--zone={zone}",
        "--tunnel-through-iap",
        *proxy.flags,
        "--",
        *terminal,
        *forwarded,
        remote,
    ]
