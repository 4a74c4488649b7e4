"""Images that machines boot from: what can be asked of an engine that has any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from outlast.dataclass import dataclass
from outlast.engines.engine import Launch

Say = Callable[[str], None]
"""One line for whoever waits."""


@dataclass(frozen=True)
class Place:
    """Where a builder may be, and what it is; the zones are tried in their order."""

    zones: tuple[str, ...]
    machine_type: str
    disk_gb: int = 50
    disk_type: str = "pd-balanced"
    network: str = ""
    external_ip: bool = True


@dataclass(frozen=True)
class Recipe:
    """What an image is made of: a base, and the contents of the user's files."""

    family: str
    base: str
    """`projects/P/global/images/NAME`."""

    python: str = ""
    """`3.11`; empty: the base's own."""

    requirements: str = ""
    setup: str = ""


@dataclass(frozen=True)
class MadeImage:
    name: str
    family: str
    python: str = ""
    """Of the environment in it; empty: it has none."""

    scrubbed: tuple[str, ...] = ()
    """Of what, in words."""


@dataclass(frozen=True)
class KeptImage:
    name: str
    family: str
    path: str
    """`projects/P/global/images/NAME`, as jobs name it."""

    made_at: float
    bytes: int
    usd_per_month: float
    python: str = ""
    status: str = "ready"


class Imager(Protocol):
    def now(self) -> float:
        """The provider's time, once it has answered: images are dated by its clock."""
        ...

    def build(self, recipe: Recipe, place: Place, say: Say) -> MadeImage:
        """Returns when the image is there and its builder is gone; whoever fails or is interrupted leaves no builder."""
        ...

    def save(self, launch: Launch, family: str, place: Place, say: Say) -> MadeImage:
        """Of the launch's first machine, whose disk is copied as it is now. `NotFound`: none runs."""
        ...

    def images(self) -> Iterator[KeptImage]:
        """Those that outlast has made, the newest first."""
        ...

    def delete(self, image: KeptImage) -> None: ...
