"""Everything outside that a command touches, in one argument."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random, SystemRandom
from typing import TYPE_CHECKING, TypeVar

from outlast.clock import SYSTEM, Clock
from outlast.errors import Denied, NotFound, OutlastError, StoreError, UsageError
from outlast.spec.plain_file import read_plain, write_private
from outlast.spec.user_dir import user_path

if TYPE_CHECKING:  # `outlast jobs` makes a world too, and each of these costs it milliseconds
    from outlast.engines.engine import Engine
    from outlast.folder.home import Home
    from outlast.store.registry import Prepared
    from outlast.store.store import Store

T = TypeVar("T")

HOMES = "homes.json"
HOMES_MAX = 100
"""How many homes are remembered, so that `jobs` and `stop` look in all that this user has used."""

HOMES_BYTES_MAX = 4 << 20


class World:
    def __init__(
        self,
        clock: Clock,
        random: Random,
        user_dir: Path,
        open_store: Callable[[str], Store],
        make_engine: Callable[[str], Engine],
        environ: Mapping[str, str] | None = None,
        secrets_of: Path | None = None,
        *,
        dry: bool = False,
    ) -> None:
        self.dry = dry
        """A rehearsal: nothing is made that is not asked of a store or an engine."""

        self.away: dict[str, str] = {}
        """Homes that could not be read, and why."""

        self.missing: list[str] = []
        """Directories that were homes and are not there: removed, or on a file system that is not mounted."""

        self.ailing: dict[str, str] = {}
        """Jobs that were listed as running and cannot go on as they should, and what they lack."""

        self.adrift: dict[str, tuple[str, ...]] = {}
        """Jobs that were listed, are on this computer, and have no home that is there; and where their machines' files are."""

        self.clock = clock
        self.random = random
        self.user_dir = user_dir
        self.open_store = open_store
        self.make_engine = make_engine
        self.environ: Mapping[str, str] = environ if environ is not None else {}
        self.secrets_of = secrets_of or user_dir
        """Where the user's own secrets are: also in a dry run, which has a directory of its own."""

        self._engines: dict[str, Engine] = {}
        self._homes: dict[str, Home] = {}

    @property
    def cache_dir(self) -> Path:
        return self.user_dir / "cache"

    def own_places(self) -> list[Path]:
        """Directories of this computer that are this tool's: the user's own, and homes. They are in no bundle, wherever they lie."""
        # The first alone says nothing where a user works in it; what is in it and must not travel is named too.
        ours = [self.secrets_of, self.secrets_of / "secrets", self.secrets_of / "local"]
        known = self._known_homes(self.secrets_of / HOMES)
        return [*ours, *(Path(url) for url in known if os.path.isabs(url))]

    def engine(self, name: str) -> Engine:
        if name not in self._engines:
            self._engines[name] = self.make_engine(name)
        return self._engines[name]

    def home_url(self, url: str | None) -> str:
        """The home that was asked for, else this user's own."""
        return url or self.environ.get("OUTLAST_HOME") or str(self.user_dir / "home")

    def home(self, url: str | None = None) -> Home:
        from outlast.folder.home import Home

        url = self.home_url(url)
        if url not in self._homes:
            self._homes[url] = Home(self.open_store(url), self.random)
        return self._homes[url]

    def now_at(self, url: str) -> float:
        """For people to read: what time it is in the home in which this lies; this machine's, if that home is away."""
        for home in self._homes.values():
            if url == home.url or url.startswith(f"{home.url}/"):
                try:
                    return home.store.now()
                except (StoreError, Denied):
                    break
        return self.clock.now()

    def prepare_home(self, url: str | None, project: str, region: str) -> Prepared:
        """What must be there before the first write: a bucket is made, unless all this is a rehearsal."""
        from outlast.store.registry import prepare

        url = self.home_url(url)
        if url.startswith("gs:"):
            _name_key(self.user_dir)
        return prepare(url, project=project, region=region, dry=self.dry)

    def remember_home(self, home: Home) -> None:
        known = self._known_homes()
        if home.url in known:
            return
        self._write_homes([home.url, *known][:HOMES_MAX])

    def forget_home(self, home: Home) -> None:
        known = self._known_homes()
        if home.url in known:
            self._write_homes([url for url in known if url != home.url])

    def _write_homes(self, urls: list[str]) -> None:
        from outlast.host.refused import told

        path = self.homes_path
        temporary = path.with_name(f".homes-{os.getpid()}")
        with told(self.user_dir):
            write_private(temporary, json.dumps(urls, indent=1))
        if self.homes_damaged():
            os.replace(path, path.with_suffix(".damaged"))  # somebody may still read in it where their jobs are
        try:
            temporary.replace(path)
        except IsADirectoryError as error:
            temporary.unlink()
            if urls[:1] != [self.home_url(None)]:  # the user's own is found without it
                raise Denied(f"`{path}` is a directory", hint="remove it: it is to be a list of homes") from error

    def homes(self, url: str | None = None, *, here: bool = False) -> Iterator[Home]:
        """The home that was asked for; if none was, all that this user has used and that are still there.

        Each once, however it was spelled. `here`: only directories, since others take time to ask.
        """
        if url:
            home = self.home(url)
            if self._place(home.url) is None:
                self.away[home.url] = "there is no such directory"
            yield home
            return
        default = self.home_url(None)
        known = self._known_homes()
        urls = [default, *(one for one in known if one != default)]
        self.missing = [one for one in known if self._place(one) is None]
        seen: set[object] = {None}
        for one in [one for one in urls if not here or ":" not in one]:
            try:
                home = self.home(one)
            except OutlastError:
                if one == default:
                    raise
                continue
            place = self._place(home.url)
            if place not in seen:
                seen.add(place)
                yield home

    def each(self, url: str | None, read: Callable[[Home], Iterator[T]], *, here: bool = False) -> Iterator[T]:
        """What `read` finds in all homes. One that is away must not hide the others: it is noted, unless it was asked for."""
        for home in self.homes(url, here=here):
            try:
                self.check_mounted(home)
                yield from read(home)
            except (StoreError, Denied, NotFound) as error:
                if url or home.url == self.home_url(None):
                    raise
                self.away[home.url] = error.message

    def check_mounted(self, home: Home) -> None:
        """`StoreUnavailable` where jobs were, and an empty directory is: they are not gone, and may be running."""
        from outlast.store.presence import away, is_there

        if ":" in home.url or self._place(home.url) is None or is_there(home.url):
            return
        if home.url in self._known_homes():
            raise away(home.url)

    def _place(self, url: str) -> object:
        """What is the same however a home was spelled; None: its directory is not there."""
        if ":" in url:
            return url
        try:
            status = os.stat(url)
        except PermissionError:
            raise  # there may be one, and whoever asks should know that it is closed
        except (OSError, ValueError):
            return None
        return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None

    @property
    def homes_path(self) -> Path:
        return self.user_dir / HOMES

    def homes_damaged(self) -> bool:
        """Whether the list of homes is there, and none: jobs in homes other than the user's own are not looked for."""
        return self._read_homes() is None and self.homes_path.is_file()

    def _known_homes(self, path: Path | None = None) -> list[str]:
        return [url for url in self._read_homes(path) or () if isinstance(url, str)]

    def _read_homes(self, path: Path | None = None) -> list[object] | None:
        try:
            known = json.loads(read_plain(path or self.homes_path, HOMES_BYTES_MAX))
        except (OSError, ValueError, RecursionError):
            return None
        return known if isinstance(known, list) else None

    def over(
        self,
        wrap_store: Callable[[Store], Store],
        wrap_engine: Callable[[Engine], Engine],
        *,
        user_dir: Path | None = None,
        dry: bool = False,
    ) -> World:
        """The same world with every store and engine wrapped: dry runs, recordings, faults."""
        return type(self)(
            self.clock,
            self.random,
            user_dir or self.user_dir,
            open_store=lambda url: wrap_store(self.open_store(url)),
            make_engine=lambda name: wrap_engine(self.make_engine(name)),
            environ=self.environ,
            secrets_of=self.secrets_of,
            dry=dry,
        )


def user_directory(environ: Mapping[str, str], *, make: bool = True) -> Path:
    """`$OUTLAST_DIR`, else `~/.outlast`; private."""
    path = user_path(environ)
    if not make:
        return path.absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Denied(
            f"`{path}` cannot be made: {error.strerror}", hint="set OUTLAST_DIR to a directory of your own"
        ) from error
    _close(path / "cache")
    return path.absolute()


def _close(path: Path) -> None:
    """Made here, or whoever needs a directory in it first makes it as a parent, for all to read. One that cannot be closed is doctor's."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        try:
            if path.lstat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                path.chmod(0o700)
        except OSError:
            return
    except OSError:
        return  # a disk that is full, or cannot be written: commands do without a cache


def system_world(*, make: bool = True) -> World:
    """The real one. `make=False`: not even the user's directory is made."""
    user_dir = user_directory(os.environ, make=make)
    return World(
        clock=SYSTEM,
        random=SystemRandom(),
        user_dir=user_dir,
        open_store=lambda url: _open_store(url, user_dir),
        make_engine=lambda name: _make_engine(name, user_dir),
        environ=os.environ,
    )


def _open_store(url: str, user_dir: Path) -> Store:
    from outlast.store.registry import open_store

    if url.startswith("gs:"):
        _name_key(user_dir)
    return open_store(url)


def _name_key(user_dir: Path) -> None:
    """The key that a file or a variable of the user's names, for this process and for the agents of what it starts."""
    from outlast.spec.load import load

    found = load({}, os.environ, Path.cwd(), user_dir / "config.toml").found["cloud-key"]
    if found.value and found.untrusted is None:
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = os.path.abspath(os.path.expanduser(found.value))


def _make_engine(name: str, user_dir: Path) -> Engine:
    from outlast.engines.registry import ENGINES

    if name not in ENGINES:
        legal = ", ".join(f"`{one}`" for one in ENGINES)
        raise UsageError(f"there is no engine `{name}`", hint=f"the engines are {legal}")
    return ENGINES[name](user_dir, SYSTEM)
