"""A transport to Google, or to the emulator, as this process's environment says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from random import SystemRandom

from outlast.clock import SYSTEM
from outlast.google.connections import Connections
from outlast.google.endpoints import endpoints
from outlast.google.transport import Transport
from outlast.google.wire import Wire

VARIABLES = ("OUTLAST_EMULATOR", "STORAGE_EMULATOR_HOST", "NO_GCE_CHECK", "OUTLAST_PROJECT", "PROJECT_ID")
VARIABLE_BEGINNINGS = ("GOOGLE_", "CLOUDSDK_", "GCE_METADATA_")
"""All that decides where Google is and who we are to it, beside HOME, proxies and certificates."""


def connect(environ: Mapping[str, str] = os.environ, *, wire: Wire | None = None) -> Transport:
    return Transport(endpoints(environ), wire or Connections(environ), SYSTEM, SystemRandom(), environ)
