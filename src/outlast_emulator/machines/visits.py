"""A connection into a machine from outside; and sshd, which begins when somebody comes for the first time.

A machine of Google's runs its guest agent and sshd from its boot on. Here they are started by the machine's init when the first tunnel
to port 22 is opened, so that machines which nobody visits stay as small as they are. The agent is Google's own: it makes the
accounts that the metadata's `ssh-keys` name, with their keys and the right to `sudo`.
"""

from __future__ import annotations

import socket
import threading
from pathlib import Path

from outlast_emulator.machines import linux

SSH_PORT = 22
SSHD = Path("/usr/sbin/sshd")
CONNECT_SECONDS_MAX = 10.0

LISTEN = """
exec </dev/null >/var/log/ssh-visits.log 2>&1
mkdir -p /run/sshd
google_guest_agent &
named() {
  for of in project instance; do
    curl -sf -H 'Metadata-Flavor: Google' "http://169.254.169.254/computeMetadata/v1/$of/attributes/ssh-keys" && echo
  done | sed -n 's/:.*//p' | sort -u
}
ready() {
  [ -s /etc/google_instance_id ] || return 1
  named | while read -r name; do
    home=$(getent passwd -- "$name" | cut -d: -f6)
    [ -n "$home" ] && [ -s "$home/.ssh/authorized_keys" ] || exit 1
  done
}
tries=0
until ready || [ $tries -ge 100 ]; do tries=$((tries + 1)); sleep 0.1; done
exec /usr/sbin/sshd -D -e
"""
"""Told to the machine's shell. Keys that have expired get no account: it does not wait for ever."""


def connect(pid: int, port: int) -> socket.socket:
    """To a port inside the network of the machine whose process number one this is. OSError: nobody listens."""
    opened: list[socket.socket] = []
    failed: list[OSError] = []

    def enter() -> None:
        """In a thread that ends with it: there is no way back from another namespace that is worth taking."""
        try:
            with open(f"/proc/{pid}/ns/net") as namespace:
                linux.enter_namespace(namespace.fileno(), linux.CLONE_NEWNET)
            opened.append(socket.create_connection(("127.0.0.1", port), CONNECT_SECONDS_MAX))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    opened[0].settimeout(None)
    return opened[0]
