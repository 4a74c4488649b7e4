"""How a job's container image is to be made, or which one to use."""

from __future__ import annotations

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.pattern import pattern

_APT = pattern(r"[a-z0-9][a-z0-9+.-]*(?::[a-z0-9]+)?(?:=[A-Za-z0-9.+~:-]+)?")


@dataclass(frozen=True)
class Containing:
    """As it was asked for; see `cli/container_options.py`."""

    run: bool = False
    """`--container`: the trainer runs in the image, on an engine that does not do so anyway."""

    args: tuple[str, ...] = ()
    """For the program that runs it: `podman run ARGS`."""

    base_image: str = ""
    dockerfile: str = ""
    apt_packages: tuple[str, ...] = ()
    conda: str = ""
    image_tag: str = ""
    """An image that is there: nothing is built."""

    registry: str = ""
    tag: str = ""
    variant: str = ""
    """`cpu` or `gpu`; empty: by the machine that is asked for."""

    no_cache: bool = False
    ignored: tuple[str, ...] = ()
    """Options that were given beside `image_tag`, and change nothing."""

    said: tuple[str, ...] = ()
    """Options about images that were typed: an engine that runs none refuses them."""

    @property
    def needs_builder(self) -> bool:
        return bool(self.dockerfile or self.apt_packages or self.conda)

    @property
    def brings_packages(self) -> bool:
        """Whether what the image begins with may have packages of its own: then nothing is missed that nobody has declared."""
        return bool(self.base_image or self.dockerfile or self.conda or self.image_tag)


def check_apt_package(name: str) -> str:
    """They become words of a command."""
    if not _APT.fullmatch(name):
        raise UsageError(
            f"`{name[:100]}` is no name of a Debian package", hint="write it as `apt-get install` takes it"
        )
    return name
