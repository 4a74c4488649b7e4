"""A job's container image: what it consists of, where it goes, and the build."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from outlast.container.base import GPU_ENV, choose_base
from outlast.container.build import LOCAL, Target, build
from outlast.container.entry import agent_key
from outlast.container.reference import Reference, check_tag, parse_repository
from outlast.container.registry import Registry
from outlast.container.source import PLATFORM_DEFAULT, Built, ImageInputs, LayerSource
from outlast.dataclass import dataclass, replace
from outlast.errors import Denied, UsageError
from outlast.google.endpoints import EMULATOR, endpoints
from outlast.host import image_places as places
from outlast.jobs.asked import Asked
from outlast.jobs.environment import Equipment
from outlast.jobs.world import World
from outlast.spec.machine import parse_gpus
from outlast.spec.progress import OnProgress, silent
from outlast.store.store import Store

if TYPE_CHECKING:
    from outlast.bundle.pack import Packed

NAME_LENGTH_MAX = 60
REGION_DEFAULT = "us-central1"
CONDA_FILE = "environment.yml"


@dataclass(frozen=True)
class Image:
    reference: str
    """`HOST/PATH@sha256:...`, or as `--image-tag` says."""

    built: Built | None = None
    """None: it was there, as was said."""

    base: str = ""
    notes: tuple[str, ...] = ()
    built_base: bool = False
    """A builder made the base just now."""

    inputs: ImageInputs | None = None


def platform_of(capabilities_platform: str) -> str:
    """`linux-x86_64` -> `linux/amd64`."""
    system, _, machine = capabilities_platform.partition("-")
    return f"{system}/{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(machine, machine) }"


def image_for(
    world: World,
    asked: Asked,
    store: Store,
    directory: Path,
    packed: Packed,
    equipment: Equipment,
    *,
    target: Target | None = None,
    known: Registry | None = None,
    runtime: str = "",
    platform: str = PLATFORM_DEFAULT,
    on_progress: OnProgress = silent,
) -> Image:
    """Builds and pushes what is not there yet. Code and packages are in the home. `target`: instead of the registry that was asked for.

    `directory`: where the code was packed from. `known`: spoken to already; used if it is the one that was asked for.
    `runtime`: what will run it, where that is a program of this computer.
    """
    asking = asked.container
    if asking.image_tag:
        from outlast.jobs.given_image import given_image

        given, notes = given_image(world, asked, runtime)
        return Image(str(given), notes=notes)
    if asked.setup:
        raise UsageError(
            f"`--setup {asked.setup}` runs on a machine, and an image is built here",
            hint="`--apt PACKAGE` and `--dockerfile FILE` change what the image begins with",
        )
    reference = base_for(world, asked, equipment)
    repository = (
        repository_for(world, asked, directory) if target is None else Reference(LOCAL, _name(asked, directory))
    )
    if known is not None and known.host != repository.host:
        known = None
    registry = target or known or Registry(repository.host, environ=world.environ)
    built_base = False
    if asking.needs_builder:
        from outlast.container.oci_layout import OciLayout
        from outlast.jobs.builders import built_base_for

        assert isinstance(registry, Registry | OciLayout)
        reference, built_base = built_base_for(
            world, asked, store, directory, packed, reference, repository, registry, platform, on_progress
        )
    inputs = inputs_for(world, asked, store, directory, packed, equipment, reference, repository, platform)
    made = build(
        inputs,
        registry,
        world.cache_dir,
        connect=lambda host: Registry(host, environ=world.environ),
        anew=asking.no_cache,
        clock=world.clock,
        on_progress=on_progress,
    )
    return Image(made.reference, made, made.base, _conda_notes(asked, directory), built_base, inputs)


def inputs_for(
    world: World,
    asked: Asked,
    store: Store,
    directory: Path,
    packed: Packed,
    equipment: Equipment,
    base: Reference,
    repository: Reference,
    platform: str = PLATFORM_DEFAULT,
) -> ImageInputs:
    from outlast.bundle.agent import archive

    agent = archive(world.cache_dir)
    environment = equipment.environment
    beside = tuple(_inside(Path(one), directory) for one in asked.extra_dirs)

    def layers() -> list[LayerSource]:
        from outlast.container.layers import agent_layer, code_layers, environment_layer

        found = [agent_layer(agent)]
        if environment is not None and environment.packages:
            found.append(environment_layer(store, environment.digest, world.cache_dir / "containers"))
        return [*found, *code_layers(store, packed.digest, directory, beside)]

    own = [f"{places.CODE}/{one}" for one in (environment.paths if environment is not None else ())]
    python = ".".join(equipment.interpreter.version.split(".")[:2])
    env = {"PYTHONPATH": ":".join((places.SITE, *own)), "PYTHONUNBUFFERED": "1"}
    labels = {places.LABEL_BUNDLE: packed.digest}
    env[places.VARIABLE_BUNDLE] = packed.digest
    if environment is not None:
        env[places.VARIABLE_PYTHON] = labels[places.LABEL_PYTHON] = environment.python_version
        labels[places.LABEL_ENVIRONMENT] = env[places.VARIABLE_ENVIRONMENT] = environment.digest
    if variant_of(asked) == "gpu":
        env.update(GPU_ENV)
    return ImageInputs(
        base=base,
        key="\n".join((agent_key(agent), environment.digest if environment else "-", packed.digest, *beside)),
        layers=layers,
        repository=repository,
        tags=(check_tag(asked.container.tag),) if asked.container.tag else (),
        platform=platform,
        python_version=python if environment is not None else "",
        entrypoint=("python3", places.START),
        directory=places.CODE,
        env=env,
        path=(f"{places.ENVIRONMENT}/bin",),
        labels=labels,
    )


def ignored_notes(asked: Asked) -> tuple[str, ...]:
    named = ", ".join(f"`{option}`" for option in asked.container.ignored)
    return (f"warning: `--image-tag` names an image that is there: ignored: {named}",) if named else ()


def _conda_notes(asked: Asked, directory: Path) -> tuple[str, ...]:
    if asked.container.conda or not (directory / CONDA_FILE).is_file():
        return ()
    return (f"note: `{CONDA_FILE}` is left alone; `--conda {CONDA_FILE}` begins with it, where a builder is",)


def variant_of(asked: Asked) -> str:
    if asked.container.variant:
        return asked.container.variant
    count, _ = parse_gpus(str(asked.gpus))
    return "gpu" if count else "cpu"


def base_for(world: World, asked: Asked, equipment: Equipment) -> Reference:
    python = ".".join(equipment.interpreter.version.split(".")[:2])
    return choose_base(asked.container.base_image, variant_of(asked), python, emulator=emulator_host(world.environ))


def emulator_host(environ: Mapping[str, str]) -> str:
    if not environ.get(EMULATOR):
        return ""
    return urlsplit(endpoints(environ).storage).netloc


def repository_for(world: World, asked: Asked, directory: Path) -> Reference:
    """`--registry`, else the emulator's, else Artifact Registry of the project and region."""
    place = asked.container.registry
    if not place:
        emulator = emulator_host(world.environ)
        region = asked.region.partition(",")[0] or REGION_DEFAULT
        project = _project(world, asked).replace(":", "/")  # that of a domain: `example.com:project`
        place = f"{emulator or f'{region}-docker.pkg.dev'}/{project}/outlast"
    found = parse_repository(place)
    return replace(found, path=f"{found.path}/{_name(asked, directory)}")


def _project(world: World, asked: Asked) -> str:
    from outlast.google.connect import connect
    from outlast.google.project import project_of

    try:
        return project_of(asked.project, world.environ, connect(world.environ))
    except (UsageError, Denied) as error:
        raise UsageError(
            f"where is the image to be pushed? No registry is named, and: {error.message}",
            hint="`--registry HOST/PATH`, or `--project PROJECT` for its Artifact Registry",
        ) from error


def _name(asked: Asked, directory: Path) -> str:
    text = asked.name or directory.name
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:NAME_LENGTH_MAX].strip("-")
    return name or "image"


def _inside(path: Path, directory: Path) -> str:
    """What a directory that was shipped beside the code is called in the bundle."""
    absolute = Path(os.path.abspath(directory / path))
    try:
        return absolute.relative_to(directory).as_posix()
    except ValueError:
        return absolute.name
