"""Which permission a tunnel of Identity-Aware Proxy asks for, and which of Google's roles permit it."""

from __future__ import annotations

_TUNNEL = "iap.tunnelInstances.accessViaIAP"

DEMANDS: dict[str, tuple[str, ...]] = {
    "iap.tunnelInstances.connect": (_TUNNEL,),
    "iap.tunnelInstances.reconnect": (_TUNNEL,),
}
"""Method -> permissions on the project."""

PERMITTED: dict[str, frozenset[str]] = {
    "roles/owner": frozenset((_TUNNEL,)),
    "roles/iap.tunnelResourceAccessor": frozenset((_TUNNEL,)),
}
