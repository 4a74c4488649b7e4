"""The agent's own program, which writes down beside its home what it had to import after it was forked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from outlast.host import files
from outlast.host.machine_dir import MachineDir
from outlast.machine import boot as real

warm = real.warm


def boot(directory: str) -> int:
    before = set(sys.modules)
    home = MachineDir(directory).read_assignment().home
    code = real.boot(directory)
    imported = sorted(set(sys.modules) - before)
    pages = Path("/proc/self/statm").read_text().split()[1]
    resident = int(pages) * os.sysconf("SC_PAGE_SIZE")
    files.put(Path(f"{home}.counted"), "\n".join([str(resident), *imported]).encode())
    return code
