"""Which code a job runs: the directory at hand, or a commit of some repository; and into the home with it."""

from __future__ import annotations

import os
from pathlib import Path

from outlast.bundle.pack import Packed, pack
from outlast.bundle.report import LeftOut, script_of
from outlast.dataclass import dataclass, replace
from outlast.jobs.asked import Asked
from outlast.jobs.inputs import Inputs
from outlast.jobs.world import World
from outlast.spec.progress import OnProgress, silent
from outlast.spec.secrets import parse_reference
from outlast.spec.spec import Target
from outlast.store.store import Store


@dataclass(frozen=True)
class Code:
    directory: Path
    shown: str
    """Where it came from, for people."""

    commit: str = ""
    """Empty: a working directory, of which git tells."""

    left_out: tuple[LeftOut, ...] = ()


def choose_code(world: World, asked: Asked, here: Path) -> Code:
    if not asked.git:
        return Code(here, str(here))
    from outlast.bundle.git_tree import checkout
    from outlast.spec.git_source import parse_git

    source = parse_git(asked.git, here)
    found = checkout(world.cache_dir, source)
    return Code(found.directory, source.shown, found.commit, found.left_out)


def secret_files(asked: Asked) -> list[Path]:
    """Files that hold a secret: the home has no place for them."""
    texts = [text for text in (*asked.secrets.values(), *asked.notify) if text.startswith("file:")]
    return [Path(parse_reference(text, Path(asked.directory)).what) for text in texts]


def own_places(world: World, directory: Path, target: Target) -> list[Path]:
    """Where this tool keeps what is its own, secrets among it: in no bundle. But for one in which the target itself lies."""
    script = directory / script_of(target)
    return [one for one in world.own_places() if not script.is_relative_to(one)]


def ship_code(
    world: World,
    store: Store,
    code: Code,
    asked: Asked,
    target: Target,
    inputs: Inputs,
    on_progress: OnProgress = silent,
) -> Packed:
    """What is a dataset or a link is not shipped with the code too."""
    packed = pack(
        store,
        code.directory,
        extra=[Path(one).absolute() for one in asked.extra_dirs],
        cache=world.cache_dir,
        clock=world.clock,
        target=None if asked.shell else target,
        args=asked.args,
        setup=asked.setup,
        links=[os.path.basename(link) for link in inputs.links],
        given=inputs.directories,
        apart=[*secret_files(asked), *own_places(world, code.directory, target)],
        plain=bool(code.commit),
        may_be_empty=asked.shell,
        on_progress=on_progress,
    )
    if not code.commit:
        return packed
    return replace(packed, commit=code.commit, dirty=False, left_out=(*code.left_out, *packed.left_out))
