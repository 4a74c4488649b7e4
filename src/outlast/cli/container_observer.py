"""What a build of an image depended on, written down so that the same command, typed again, is seen to be the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from outlast.cli.container_again import looked
from outlast.clock import SYSTEM
from outlast.container.build import TAG_SECONDS, is_here
from outlast.container.kept import Kept
from outlast.container.unchanged import COMMANDS, SETTLED_NS, command_key, stamps_of
from outlast.spec.user_dir import user_path

if TYPE_CHECKING:
    from pathlib import Path

    from outlast.jobs.asked import Asked
    from outlast.jobs.container_build import Made

SETTINGS_FILES = ("outlast.toml", "pyproject.toml", ".gitignore", ".outlastignore", ".git/index", ".git/info/exclude")
MEANING_FILES = ("outlast.toml", "pyproject.toml", ".git/HEAD")
"""A repository's top is as far as settings are looked for."""

CALIBAN = ".calibanconfig.json"
ASKED = (
    *("target", "directory", "extra_dirs", "name", "home", "project", "region", "shell"),
    *("python", "requirements", "extras", "setup"),
)
DECLARATIONS = ("requirements.txt", "pyproject.toml", "setup.py", "setup.cfg")
NAME_BYTES_MAX = 1000
ELSEWHERE = (b"\n-", b"file:", b"../", b"[tool.uv", b" @ ")
"""In a file that declares packages: something outside of the directory may have a say."""


class Observer:
    """Looks before a build: what changes while it runs has other stamps the next time, whatever of it was built."""

    def __init__(self, arguments: list[str], dirs: tuple[str, ...]) -> None:
        self._arguments = arguments
        self._roots = [os.getcwd(), *map(os.path.abspath, dirs), *_packages()]
        self._files: list[str] = []
        for name in SETTINGS_FILES:
            self._files += (os.path.join(parent, name) for parent in _parents(os.getcwd()))
        self._files += [os.path.abspath(word) for word in arguments if os.path.exists(word)]
        self._files += [str(user_path(os.environ) / name) for name in ("config.toml", "trusted.json")]
        self._files += [
            os.path.expanduser(name) for name in ("~/.gitconfig", "~/.config/git/config", "~/.config/git/ignore")
        ]
        self._files += _google_files()
        known = next((one for one in looked if one[:2] == (self._roots, self._files)), None)
        if known is None:
            begun_ns = int(SYSTEM.now() * 1e9)
            known = (self._roots, self._files, stamps_of(self._roots, self._files), begun_ns)
        _, _, self._stamps, self._begun_ns = known

    def remember(self, asked: Asked, made: Made, out: str) -> None:
        """What says that nothing has changed needs files that have settled; what was asked for needs settings that have."""
        record = {**self._before(asked, made), **self._unchanged(asked, made, out)}
        if record:
            _kept().remember(_name(self._arguments), {"roots": self._roots, "files": self._files, **record})

    def _before(self, asked: Asked, made: Made) -> dict[str, Any]:
        """What the words meant, and where the image went. Empty: the next one must read them."""
        settings, inputs = _settings_files(), made.image.inputs
        stamps, known = stamps_of((), settings), asked_record(asked)
        if inputs is None or known is None or os.path.lexists(CALIBAN):
            return {}  # that file is told of by whoever reads it
        if stamps is None or stamps[1] >= self._begun_ns - SETTLED_NS:
            return {}
        place, base = inputs.repository, inputs.base
        is_asked = base.host == place.host and not base.digest and is_here(base.host)
        return {
            "before": {
                "asked": known,
                "settings": settings,
                "settings_stamps": [*stamps],
                "host": place.host,
                "path": place.path,
                "base": [base.path, base.wanted] if is_asked else None,
            }
        }

    def _unchanged(self, asked: Asked, made: Made, out: str) -> dict[str, Any]:
        """Empty: stamps do not tell, or not yet."""
        if self._stamps is None or not _serves(asked, made):
            return {}
        python = made.equipment.interpreter.path if made.equipment is not None else ""
        files = [python, os.path.realpath(python), os.path.join(os.path.dirname(python), "..", "pyvenv.cfg")]
        later = stamps_of((), files)
        record = _record(made, out)
        if later is None or record is None or max(self._stamps[1], later[1]) >= self._begun_ns - SETTLED_NS:
            return {}
        return {**record, "files_later": files, "digests": [self._stamps[0], later[0]]}


def asked_record(asked: Asked) -> dict[str, Any] | None:
    """None: something is in it that a record does not hold."""
    document = {name: getattr(asked, name) for name in ASKED}
    document["container"] = dict(vars(asked.container))
    return document if asked_of(document) == asked else None


def asked_of(document: dict[str, Any]) -> Asked:
    from outlast.jobs.asked import Asked
    from outlast.spec.containing import Containing

    def fields(record: dict[str, Any]) -> dict[str, Any]:
        return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}

    return Asked(**{**fields(document), "container": Containing(**fields(document["container"]))})


def _settings_files() -> list[str]:
    """All that gives a command line its meaning, beside itself and the variables."""
    found = [os.path.join(parent, name) for parent in _parents(os.getcwd()) for name in MEANING_FILES]
    found += [str(user_path(os.environ) / name) for name in ("config.toml", "trusted.json")]
    return [*found, os.path.abspath(CALIBAN)]


def _serves(asked: Asked, made: Made) -> bool:
    """Whether stamps of files tell all that it depends on."""
    asking, equipment = asked.container, made.equipment
    if equipment is None or made.image.built is None or asking.no_cache or asking.needs_builder or asked.git:
        return False
    if equipment.frozen or equipment.warnings or (equipment.environment is None and not asking.brings_packages):
        return False  # what is installed here decides, and no stamp tells of that
    for name in (*asked.requirements, *DECLARATIONS):
        try:
            with open(os.path.join(asked.directory, name), "rb") as file:
                text = b"\n" + file.read()
        except FileNotFoundError:
            continue
        except OSError:
            return False
        if any(word in text for word in ELSEWHERE):
            return False
    return True


def _record(made: Made, out: str) -> dict[str, Any] | None:
    from outlast.container.reference import parse_reference

    built, inputs = made.image.built, made.image.inputs
    if built is None or inputs is None:
        return None
    image, base = parse_reference(built.reference), inputs.base
    shown = [f"Image `{built.reference}`", f"  on `{built.base}`"]
    return {
        "image": {
            "host": image.host,
            "path": image.path,
            "digest": image.digest,
            "wanted": [*inputs.tags] or [image.digest],
        },
        "base": {
            "host": base.host,
            "path": base.path,
            "wanted": base.wanted,
            "digest": base.digest or built.base_tag,
            "is_here": is_here(base.host),
            "until_at": float("inf") if base.digest else SYSTEM.now() + TAG_SECONDS,
        },
        "layers": built.layers,
        "said": shown,
        "out": out,
    }


def _parents(directory: str) -> list[str]:
    found = [directory]
    while (above := os.path.dirname(found[-1])) != found[-1]:
        found.append(above)
    return found


def _google_files() -> list[str]:
    """What decides whose registry it is, where nobody has named one."""
    config = os.environ.get("CLOUDSDK_CONFIG") or os.path.expanduser("~/.config/gcloud")
    found = [os.path.join(config, name) for name in ("active_config", "application_default_credentials.json")]
    name = os.environ.get("CLOUDSDK_ACTIVE_CONFIG_NAME") or ""
    try:
        with open(found[0]) as file:
            name = name or file.read(NAME_BYTES_MAX).strip()
    except (OSError, ValueError):
        pass  # then it is the default one
    found.append(os.path.join(config, "configurations", f"config_{name or 'default'}"))
    key = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    return [*found, key] if key else found


def _packages() -> list[str]:
    """What the agent in an image is made of."""
    from importlib.util import find_spec

    from outlast.bundle.agent import NEEDED, WELCOME

    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = [find_spec(name) for name in (*NEEDED, *WELCOME)]
    return [here, *(os.path.dirname(one.origin) for one in found if one is not None and one.origin is not None)]


def _kept() -> Kept:
    path: Path = user_path(os.environ).absolute()
    return Kept(path / "cache")


def _name(arguments: list[str]) -> str:
    return f"{COMMANDS}/{command_key(arguments, os.getcwd(), os.environ)}"
