"""`outlast container build`: code and packages of a directory, in an image, without a job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from outlast.dataclass import dataclass, replace
from outlast.engines.engine import Capabilities
from outlast.errors import NotFound
from outlast.jobs.asked import Asked
from outlast.jobs.code import choose_code, ship_code
from outlast.jobs.containers import Image, image_for, platform_of, repository_for
from outlast.jobs.environment import Equipment, equip
from outlast.jobs.inputs import Inputs
from outlast.jobs.world import World
from outlast.spec.progress import OnProgress, silent
from outlast.spec.spec import Target, TargetKind
from outlast.spec.target import parse_target

if TYPE_CHECKING:
    from outlast.bundle.pack import Packed
    from outlast.container.registry import Registry
    from outlast.engines.engine import Engine

NO_TARGET = Target(TargetKind.MODULE, "outlast.training.shell")
"""Nobody knows what is going to be run: nothing is looked for that it may need."""

PLATFORM = "linux-x86_64"
"""What most machines are that can be rented; `--on local` runs on what this computer is."""


@dataclass(frozen=True)
class Inside:
    """Whatever runs an image: as an engine is asked about it."""

    platform: str = PLATFORM
    name: str = "container"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            gpus=True,
            same_machine=False,
            preempts=False,
            platform=self.platform,
            contained=True,
        )


@dataclass(frozen=True)
class Made:
    image: Image
    packed: Packed | None = None
    """None: nothing was looked at."""

    equipment: Equipment | None = None


def build_image(world: World, asked: Asked, on_progress: OnProgress = silent, *, known: Registry | None = None) -> Made:
    """The user's own home keeps what is shipped, so that the next build and the next job find it. `known`: as `image_for` has it."""
    if asked.container.image_tag:
        from outlast.jobs.given_image import given_image

        given, notes = given_image(world, asked)
        return Made(Image(str(given), notes=notes))
    here = Path(asked.directory).absolute()
    code = choose_code(world, asked, here)
    target = NO_TARGET if asked.shell else parse_target(asked.target, code.directory)
    home = world.home(asked.home)
    inside = cast("Engine", Inside())
    equipment = equip(world, asked, home, inside, code.directory, target, on_progress)
    packed = ship_code(world, home.store, code, asked, target, Inputs((), None, (), ()), on_progress)

    def built() -> Image:
        return image_for(
            world,
            asked,
            home.store,
            code.directory,
            packed,
            equipment,
            known=known,
            platform=platform_of(PLATFORM),
            on_progress=on_progress,
        )

    image = _where_it_may_be_missing(world, asked, code.directory, built)
    return Made(image, packed, equipment)


def _where_it_may_be_missing(world: World, asked: Asked, directory: Path, built: Callable[[], Image]) -> Image:
    """A project's first image finds no repository there; who asked every time would wait every time. A builder is not asked twice."""
    if asked.container.needs_builder:
        from outlast.jobs.repository import make_repository

        note = make_repository(world, repository_for(world, asked, directory))
    else:
        try:
            return built()
        except NotFound:
            from outlast.jobs.repository import make_repository

            note = make_repository(world, repository_for(world, asked, directory))
            if not note:
                raise  # it is something else that is not there
    image = built()
    return replace(image, notes=(note, *image.notes)) if note else image
