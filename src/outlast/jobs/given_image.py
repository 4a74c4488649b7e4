"""`--image-tag`: an image that is said to be there is looked for before anything is submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.container.logins import is_google
from outlast.container.reference import DOCKER_HUB, Reference, parse_reference
from outlast.container.registry import Registry
from outlast.dataclass import replace
from outlast.errors import NotFound, OutlastError

if TYPE_CHECKING:
    from outlast.jobs.asked import Asked
    from outlast.jobs.world import World


def given_image(world: World, asked: Asked, runtime: str = "") -> tuple[Reference, tuple[str, ...]]:
    """The image, and what is to be said of it. `NotFound` if its registry says that there is none.

    A registry that cannot be asked from here may well answer to whoever runs the image. `runtime`: a program on this
    computer that may have it already.
    """
    from outlast.jobs.containers import emulator_host, ignored_notes

    reference = parse_reference(asked.container.image_tag)
    notes = ignored_notes(asked)
    if runtime and _has(runtime, reference, asked.container.image_tag, world):
        return reference, notes
    emulator = "" if runtime else emulator_host(world.environ)
    is_there = (
        is_google(reference.host) or reference.host == DOCKER_HUB
    )  # whose images the emulator looks for in itself
    host = emulator if emulator and is_there else reference.host
    try:
        found = Registry(host, environ=world.environ).is_there(reference.path, reference.wanted)
    except OutlastError as error:
        why = error.message
        return reference, (*notes, f"warning: whether image `{reference}` is there could not be asked: {why}")
    if found:
        return reference, notes
    raise NotFound(
        f"there is no image `{replace(reference, tag='' if reference.digest else reference.wanted)}`",
        state="nothing was submitted, nothing is being spent",
        hint="look at its name and its tag; without `--image-tag` an image is built and pushed",
    )


def _has(runtime: str, reference: Reference, typed: str, world: World) -> bool:
    """By its name, or by the short one that its own builds have there."""
    from outlast.container.runtime import has_image

    return any(has_image(runtime, name, world.environ) for name in dict.fromkeys((str(reference), typed)))
