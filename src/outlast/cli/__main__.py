"""`python -m outlast.cli`, for where the console script is not on the path."""

from __future__ import annotations

import sys

from outlast.cli import main

sys.exit(main())
