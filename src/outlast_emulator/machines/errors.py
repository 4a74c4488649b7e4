"""What can go wrong with machines, disks and images."""

from __future__ import annotations


class MachineError(Exception):
    """A machine could not be made, with the kernel's words; or a disk or image is not what was thought."""


class NoSuchDisk(MachineError):
    pass


class NoSuchImage(MachineError):
    pass


class DiskInUse(MachineError):
    """A machine runs on it."""
