"""A job for an engine that runs containers: the image that it needs, built and pushed, and named in its machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from outlast.dataclass import replace
from outlast.engines.compute.names import bucket_of
from outlast.jobs.asked import Asked
from outlast.spec.progress import OnProgress, silent
from outlast.spec.spec import Machine, Rented, Spec

if TYPE_CHECKING:
    from outlast.bundle.pack import Packed
    from outlast.engines.engine import Engine
    from outlast.jobs.containers import Image
    from outlast.jobs.environment import Equipment
    from outlast.jobs.world import World
    from outlast.store.store import Store


def contain(
    world: World,
    spec: Spec,
    asked: Asked,
    engine: Engine,
    store: Store,
    directory: Path,
    packed: Packed,
    equipment: Equipment,
    on_progress: OnProgress = silent,
) -> tuple[Spec, Image | None]:
    """The spec with its image, and what there is to say about it; as it was, where no container is run."""
    rented = spec.machine.rented
    if not engine.capabilities.contained or rented is None:
        return spec, None
    bucket_of(store.url)  # a home that containers cannot reach is refused before anything is built
    asking = named_by_code(asked)
    image = image_of(world, asking, rented, store, directory, packed, equipment, on_progress, engine=engine)
    machine = replace(spec.machine, rented=replace(rented, image=image.reference))
    return replace(spec, machine=machine, workers=workers_of(machine, spec.workers)), image


def named_by_code(asked: Asked) -> Asked:
    """A job's name is not its image's: to a registry each name is another place, and all layers would be pushed there again."""
    if not asked.git:
        return replace(asked, name="")
    from outlast.spec.git_source import parse_git

    source = parse_git(asked.git, Path(asked.directory).absolute())
    repository = re.split("[/:]", source.url.rstrip("/").removesuffix(".git"))[-1]
    return replace(asked, name=f"{repository} {source.below}")


def image_of(
    world: World,
    asked: Asked,
    rented: Rented,
    store: Store,
    directory: Path,
    packed: Packed,
    equipment: Equipment,
    on_progress: OnProgress = silent,
    *,
    engine: Engine,
) -> Image:
    """In a rehearsal nothing is built: then it has no digest yet."""
    from outlast.jobs.containers import Image, ignored_notes, image_for, platform_of, repository_for

    variant = asked.container.variant or ("gpu" if rented.accelerator.startswith("nvidia-") else "cpu")
    asked = replace(
        asked,
        project=rented.project,
        region=rented.regions[0],
        container=replace(asked.container, variant=variant),
    )
    if world.dry:
        reference = asked.container.image_tag or str(repository_for(world, asked, directory))
        return Image(reference, notes=ignored_notes(asked) if asked.container.image_tag else ())
    note = ""
    if not asked.container.image_tag:
        from outlast.jobs.repository import make_repository

        note = make_repository(world, repository_for(world, asked, directory))
    image = image_for(
        world,
        asked,
        store,
        directory,
        packed,
        equipment,
        platform=platform_of(engine.capabilities.platform),
        on_progress=on_progress,
    )
    return replace(image, notes=(note, *image.notes)) if note else image


def workers_of(machine: Machine, asked: int = 1) -> int:
    """Where a machine has pools beside it, all of them work on one job together."""
    if machine.rented is None or not machine.rented.pools:
        return asked
    return 1 + sum(pool.replicas for pool in machine.rented.pools)
