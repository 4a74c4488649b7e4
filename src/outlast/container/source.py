"""What an image is made of, before anything of it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import TYPE_CHECKING

from outlast.container.reference import Reference
from outlast.dataclass import dataclass

if TYPE_CHECKING:
    from outlast.container.layer import Member

PLATFORM_DEFAULT = "linux/amd64"


@dataclass(frozen=True)
class LayerSource:
    name: str
    """For people: `code`, `environment`."""

    key: str
    """Another one whenever the members may be others."""

    members: Callable[[], AbstractContextManager[Iterable[Member]]]
    """Only called where the layer is not known yet; what they are read from may be open until the end."""


@dataclass(frozen=True)
class ImageInputs:
    """All that decides an image's digest."""

    base: Reference
    key: str
    """Another one whenever a layer may be another; the base and what follows here need not be in it."""

    layers: Callable[[], Sequence[LayerSource]]
    """From the bottom to the top: what changes least first."""

    repository: Reference
    """Where it is pushed to."""

    tags: tuple[str, ...] = ()
    platform: str = PLATFORM_DEFAULT
    python_version: str = ""
    """`3.11`: of the packages in it; a base that says that it has another Python is refused."""

    entrypoint: tuple[str, ...] = ()
    directory: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Built:
    reference: str
    """`HOST/PATH@sha256:...`."""

    digest: str
    base: str
    """The same of the base."""

    base_tag: str = ""
    """The digest that the base's tag had: of an index, where it has several platforms."""

    pushed_layers: int = 0
    pushed_bytes: int = 0
    """Of layers that the registry did not have, the base's too."""

    layers: int = 0
