"""`outlast container build`, typed again with nothing changed: seen by stamps, and asked of the registry alone."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from outlast.clock import SYSTEM
from outlast.container.kept import Kept
from outlast.container.unchanged import SETTLED_NS, Stamps, command_key, stamps_of
from outlast.errors import EXIT_DONE, OutlastError
from outlast.spec.user_dir import user_path

if TYPE_CHECKING:
    from pathlib import Path

    from outlast.jobs.asked import Asked
    from outlast.jobs.container_build import Made

SETTINGS_FILES = ("outlast.toml", "pyproject.toml", ".gitignore", ".outlastignore", ".git/index", ".git/info/exclude")
DECLARATIONS = ("requirements.txt", "pyproject.toml")
ELSEWHERE = (b"\n-", b"file:", b"../", b"[tool.uv", b" @ ")
"""In a file that declares packages: something outside of the directory may have a say."""


def build_again(arguments: list[str]) -> int | None:
    """The exit code; None: it must be built, as far as anybody can tell."""
    begun_at = SYSTEM.monotonic()
    known = _kept().recall(_name(arguments))
    if known is None:
        return None
    try:
        stamps = stamps_of(known["roots"], known["files"])
        if stamps is None or stamps.digest != known["digest"] or not _is_there(known):
            return None
        lines = [f"{known['said'][0]}: {known['layers']} layers, nothing to push", *known["said"][1:]]
    except (KeyError, TypeError, ValueError, OutlastError):
        return None  # whoever builds says what is wrong
    milliseconds = (SYSTEM.monotonic() - begun_at) * 1000
    sys.stderr.write("".join(f"{line}\n" for line in (*lines, f"  in {milliseconds:.0f} ms: nothing has changed")))
    sys.stdout.write(known["out"])
    return EXIT_DONE


def _is_there(known: dict[str, Any]) -> bool:
    """The image in its registry, and the base's tag where it was."""
    from outlast.container.registry import Registry

    image, base = known["image"], known["base"]
    registry = Registry(image["host"])
    if any(registry.manifest_digest(image["path"], wanted) != image["digest"] for wanted in image["wanted"]):
        return False
    if base["is_here"]:
        source = registry if base["host"] == image["host"] else Registry(base["host"])
        return bool(source.manifest_digest(base["path"], base["wanted"]) == base["digest"])
    return bool(SYSTEM.now() < base["until_at"])


class Observer:
    """Looks before a build and behind it: what was the same both times is what was built."""

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
        self._before = stamps_of(self._roots, self._files)
        self._begun_ns = int(SYSTEM.now() * 1e9)

    def remember(self, asked: Asked, made: Made, out: str) -> None:
        python = made.equipment.interpreter.path if made.equipment is not None else ""
        before = self._before
        if before is None or not _serves(asked, made) or stamps_of(self._roots, self._files) != before:
            return
        files = [
            *self._files,
            python,
            os.path.realpath(python),
            os.path.join(os.path.dirname(python), "..", "pyvenv.cfg"),
        ]
        stamps = stamps_of(self._roots, files)
        if stamps is None or not self._is_settled(stamps):
            return
        record = _record(made, asked, out)
        if record is not None:
            _kept().remember(
                _name(self._arguments), {**record, "roots": self._roots, "files": files, "digest": stamps.digest}
            )

    def _is_settled(self, stamps: Stamps) -> bool:
        return stamps.newest_ns < self._begun_ns - SETTLED_NS


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


def _record(made: Made, asked: Asked, out: str) -> dict[str, Any] | None:
    from outlast.container.build import TAG_SECONDS, is_here
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
    return f"commands/{command_key(arguments, os.getcwd(), os.environ)}"
