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


def connect(environ: Mapping[str, str] = os.environ, *, wire: Wire | None = None) -> Transport:
    return Transport(endpoints(environ), wire or Connections(environ), SYSTEM, SystemRandom(), environ)
