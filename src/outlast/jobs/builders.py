"""The base of an image that a builder makes: built once for the same recipe, and found in the registry from then on."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from outlast.bundle.unpack import unpack
from outlast.container import leftovers
from outlast.container.builder import CONDA_BASE, Recipe, build_and_push, find_builder, recipe
from outlast.container.kept import key_of
from outlast.container.oci_layout import OciLayout
from outlast.container.reference import Reference, parse_reference
from outlast.container.registry import Registry
from outlast.errors import UsageError
from outlast.spec.plain_file import read_plain

if TYPE_CHECKING:
    from outlast.bundle.pack import Packed
    from outlast.jobs.asked import Asked
    from outlast.jobs.world import World
    from outlast.spec.progress import OnProgress
    from outlast.store.store import Store

FILE_BYTES_MAX = 1 << 20
KEY_DIGITS = 32
CONTEXT = ".context-"


def built_base_for(
    world: World,
    asked: Asked,
    store: Store,
    directory: Path,
    packed: Packed,
    base: Reference,
    repository: Reference,
    registry: Registry | OciLayout,
    platform: str,
    on_progress: OnProgress,
) -> tuple[Reference, bool]:
    """(the base by its digest, whether it was built just now)."""
    asking = asked.container
    made = _recipe(asked, directory, base)
    # What a tag of the base means may change: who wants the newest says `--no-cache`.
    parts = ["base", platform, *made.key(), packed.digest if made.reads_code else "-"]
    target = Reference(repository.host, repository.path, f"base-{key_of(*parts)[:KEY_DIGITS]}")
    digest = "" if asking.no_cache else registry.manifest_digest(target.path, target.tag)
    if digest:
        return Reference(target.host, target.path, "", digest), False
    builder = find_builder(world.environ, repository.host)
    world.cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    leftovers.sweep(world.cache_dir, CONTEXT)
    with tempfile.TemporaryDirectory(prefix=leftovers.own(CONTEXT), dir=world.cache_dir) as scratch:
        context = Path(scratch, "context")
        # As it is shipped: what must not leave this computer is not in an image either.
        unpack(store, packed.digest, context)
        lines = 0

        def on_line(_: str) -> None:
            nonlocal lines
            lines += 1
            on_progress(f"building with {os.path.basename(builder)}", lines, 0, "lines")

        into = Path(scratch, "layout") if isinstance(registry, OciLayout) else None
        build_and_push(
            builder,
            made,
            context,
            target,
            base,
            platform,
            world.environ,
            no_cache=asking.no_cache,
            on_line=on_line,
            into=into,
        )
        if isinstance(registry, OciLayout) and into is not None:
            registry.adopt(into, target.tag)
    digest = registry.manifest_digest(target.path, target.tag)
    if not digest:
        raise UsageError(
            f"the builder has ended, and `{target}` is not in the registry", hint="look at its login there"
        )
    return Reference(target.host, target.path, "", digest), True


def _recipe(asked: Asked, directory: Path, base: Reference) -> Recipe:
    asking = asked.container
    if asking.dockerfile and asking.conda:
        raise UsageError("`--dockerfile` and `--conda` both say what the image begins with", hint="give one of them")
    if asking.conda and not asking.base_image:
        base = parse_reference(CONDA_BASE)
    text = _read(directory, asking.dockerfile, "--dockerfile").decode(errors="replace") if asking.dockerfile else ""
    conda = _read(directory, asking.conda, "--conda") if asking.conda else None
    return recipe(base, dockerfile=text, apt_packages=asking.apt_packages, conda=conda)


def _read(directory: Path, path: str, option: str) -> bytes:
    try:
        return read_plain(directory / path, FILE_BYTES_MAX)
    except OSError as error:
        raise UsageError(
            f"`{option} {path}` cannot be read: {error.strerror}", hint="name a file that is there"
        ) from None
