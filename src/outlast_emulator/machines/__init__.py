"""Machines that really run and really die, without a hypervisor: see `host.MachineHost`.

As root on Linux a machine is a set of namespaces (processes, mounts, network, host name, IPC) over an overlay of this
computer's own root: it sees this computer's programs, writes only to its own disk, and reaches only its metadata server and
the emulator's port. Without root it is a plain process with a private directory (`plain`), and says so.

- `host` is what the Compute API calls; `machine` the handle of one that runs; `disks` its disks and images.
- `launch` is the program that each machine is started by, `init` its process number one. They are small, import little and
  talk to the emulator by one socket; when that is closed, the machine is gone, whatever closed it.
- `metadata` is the tree of a machine's metadata server, `metadata_server` speaks HTTP for it.
"""

from __future__ import annotations
