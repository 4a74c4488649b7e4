"""Takes this process out of the network: a client that looks for Google, or for a metadata server, finds nothing."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP_LOOPBACK_RUNNING = 0x49

FOREIGN = ("AWS_", "AZURE_", "BOTO", "CLOUDSDK_", "GCE_", "GCLOUD_", "GOOGLE_", "RCLONE_", "STORAGE_")
"""Settings of the machine's user that would reach a client."""


def leave_the_network() -> None:
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
