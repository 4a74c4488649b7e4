"""`python -m outlast_emulator`."""

from __future__ import annotations

import sys

from outlast_emulator.main import main

sys.exit(main())
