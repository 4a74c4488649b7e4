"""`--container` on this computer: the job's image, in the hands of the program that runs it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from outlast.container.oci_layout import OciLayout
from outlast.container.reference import parse_reference
from outlast.container.runtime import find_runtime, load_command, load_image, runtime_variables
from outlast.dataclass import replace
from outlast.errors import UsageError
from outlast.jobs.contain import named_by_code
from outlast.jobs.container_build import Inside
from outlast.jobs.containers import Image, base_for, image_for, platform_of
from outlast.spec.spec import Container

if TYPE_CHECKING:
    from outlast.bundle.pack import Packed
    from outlast.engines.engine import Engine
    from outlast.jobs.asked import Asked
    from outlast.jobs.environment import Equipment
    from outlast.jobs.world import World
    from outlast.spec.progress import OnProgress
    from outlast.store.store import Store

PLATFORM = f"linux-{ {'arm64': 'aarch64'}.get(os.uname().machine, os.uname().machine) }"
"""Containers on this computer are of its own kind."""


def check_container(world: World, asked: Asked, engine: Engine) -> None:
    """Before anything is shipped."""
    if not engine.capabilities.same_machine:
        raise UsageError(
            f"`--container` runs an image on this computer, and `--on {engine.name}` has machines of its own",
            hint="`--on local --container`, or `--on vertex`, where every job runs in one",
        )
    if asked.shell:
        raise UsageError("`--shell` and `--container` do not go together", hint="leave one of them out")
    find_runtime(world.environ)


def inside(engine: Engine) -> Engine:
    """As the engine is where the packages are chosen: its machines are containers, and have nothing of this computer."""
    return cast("Engine", Inside(PLATFORM, engine.name))


def plain_args(runtime: str, image: str) -> tuple[str, ...]:
    """A registry on this computer has no TLS, which docker knows by itself."""
    is_plain = parse_reference(image).url.startswith("http:") and os.path.basename(runtime) == "podman"
    return ("--tls-verify=false",) if is_plain else ()


def contain_here(
    world: World,
    asked: Asked,
    store: Store,
    directory: Path,
    packed: Packed,
    equipment: Equipment,
    on_progress: OnProgress,
) -> tuple[Container, Image]:
    """Without `--registry` the image goes to a directory of this user's, and from there to the runtime."""
    runtime = find_runtime(world.environ)
    asking = asked.container
    environ = runtime_variables(world.environ)
    if world.dry:
        what = f"`{asking.image_tag}`" if asking.image_tag else f"an image on `{base_for(world, asked, equipment)}`"
        return Container("not built", runtime, (), asking.args, environ), Image(what)
    make = partial(image_for, world, named_by_code(asked), store, directory, packed, equipment, on_progress=on_progress)
    if asking.image_tag or asking.registry:
        image = make(runtime=runtime, platform=platform_of(PLATFORM))
        return Container(
            image.reference, runtime, (), (*plain_args(runtime, image.reference), *asking.args), environ
        ), image
    layout = OciLayout(world.cache_dir / "containers" / "layout")
    image = make(target=layout, platform=platform_of(PLATFORM))
    assert image.built is not None
    name = layout.name_of(image.built.digest)
    image_id = load_image(runtime, layout.image(name), name, layout.image_ids(image.built.digest), world.environ)
    load = load_command(runtime, layout.image(name), name)
    shown = replace(image, reference=image_id, built=replace(image.built, reference=image_id))
    return Container(image_id, runtime, tuple(load), asking.args, environ), shown
