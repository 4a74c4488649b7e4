"""Foreign clients against the emulator: where nothing else can be reached, with a home of their own, and every call noted."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running
from tests.emulator_clients import used

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP_LOOPBACK_RUNNING = 0x49

FOREIGN = ("AWS_", "AZURE_", "BOTO", "CLOUDSDK_", "GCE_", "GCLOUD_", "GOOGLE_", "RCLONE_", "STORAGE_")
"""Settings of the machine's user that would reach a client."""


def _leave_the_network() -> None:
    """A client that looks for a metadata server or for Google finds nothing: this process has no route but loopback.

    Before any client is imported: threads that a library starts then (gRPC's) stay in the network where they began.
    """
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        del os.environ[name]
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        os.environ.pop(name, None)
    # Read when gcsfs is imported: with it every bucket is looked up by gRPC first, for a minute where there is none.
    os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
    if os.geteuid() == 0 and ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) == 0:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP_LOOPBACK_RUNNING))
        return
    # Without the right to a network of its own, what leaves loopback is sent to a port where nobody listens.
    os.environ.update(
        {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
    )


_leave_the_network()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One emulator, a process of its own, for all tests of this worker."""
    with running(tmp_path_factory.mktemp("emulator"), process=True) as found:
        yield found


@pytest.fixture
def emulator(shared: Running, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """The shared emulator; afterwards, what the client has called is compared with what is written in used.json."""
    for name, value in shared.variables.items():
        monkeypatch.setenv(name, value)
    before = used.seen_so_far(shared)
    yield shared
    client = getattr(request.module, "CLIENT", "")
    if client:
        pinned = getattr(request.module, "PINNED", True)
        used.compare(shared, before, client, request.node.name, pinned)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a client may write what it likes."""
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    return path


@pytest.fixture
def bucket(emulator: Running, request: pytest.FixtureRequest) -> str:
    """A bucket of the test's own, made without the client. One write a second per name is Google's rule, and kept."""
    name = "b-" + request.node.name.split("[")[0].removeprefix("test_").replace("_", "-")[:50].strip("-")
    emulator.make_bucket(name)
    return name
