"""Jobs that are on this computer and whose home is not there: whoever holds their machines still knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from outlast.dataclass import dataclass
from outlast.engines.engine import Launch
from outlast.engines.registry import HELD
from outlast.errors import Denied, NotFound, StoreError, UsageError
from outlast.folder import layout
from outlast.host.secrets import forget_launch
from outlast.jobs.find import having
from outlast.jobs.world import World


@dataclass(frozen=True)
class Adrift:
    engine: str
    launch: Launch

    @property
    def id(self) -> str:
        return self.launch.job

    @property
    def folder_url(self) -> str:
        return f"{self.launch.home.rstrip('/')}/{layout.JobKeys(self.id).root.rstrip('/')}"


def adrift(world: World, wanted: Callable[[Adrift], bool]) -> Iterator[Adrift]:
    """Those that are wanted and whose home is not there, or does not have them."""
    for engine, held in HELD.items():
        for one in (Adrift(engine, launch) for launch in held(world.user_dir)):
            if wanted(one) and not _has_home(world, one.launch):
                yield one


def _has_home(world: World, launch: Launch) -> bool:
    """A home that only we cannot read, or cannot reach, is there: its machines may be committing while we ask."""
    if "://" in launch.home:
        return True
    try:
        home = world.home(launch.home)
        world.check_mounted(home)
        return any(True for _ in having(home, launch.job))
    except Denied:
        return True
    except (StoreError, NotFound):
        return False


def find_adrift(world: World, text: str, home: str | None) -> Adrift | None:
    """By its name, the beginning of it, or its folder: as `find`, which has found nothing."""
    home_url = world.home(home).url if home else ""
    folder_url = text.rstrip("/")

    def is_meant(one: Adrift) -> bool:
        return home_url in ("", one.launch.home) and (one.id.startswith(text) or one.folder_url == folder_url)

    near = list(adrift(world, is_meant))
    found = [one for one in near if one.id == text] or near
    if len(found) > 1:
        listed = ", ".join(f"`{one.folder_url}`" for one in found)
        raise UsageError(f"`{text}` may be {len(found)} jobs: {listed}", hint="type more of its name, or its folder")
    return found[0] if found else None


def stop_adrift(world: World, one: Adrift) -> None:
    """Returns when nothing of it runs. Its engine remembers: whoever finds its home again writes that it was stopped."""
    world.engine(one.engine).stop(one.launch)
    forget_launch(world.user_dir, one.launch.id)
