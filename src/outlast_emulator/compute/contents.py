"""What is on disks and images, and the machines that boot from them: the model's side of whoever runs machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast_emulator.compute.hosting import Guest, Silence
from outlast_emulator.compute.resources import Instance

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute


class Contents:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        compute.scheduler.on("disks.drop", self._drop_disk, slow=True)
        compute.scheduler.on("images.drop", self._drop_image, slow=True)

    def boot(self, instance: Instance) -> Guest:
        """A machine for an instance, running when this returns."""
        return Silence()

    def copy_image(self, source: int, source_kind: str, image: int) -> int:
        """A disk, or another image, saved as an image; how many bytes it has."""
        return 0

    def _drop_disk(self, number: int) -> None:
        return None

    def _drop_image(self, number: int) -> None:
        return None

    def close(self) -> None:
        return None
