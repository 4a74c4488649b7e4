"""What machines see of the world beyond Google: directories of this computer, and variables of their scripts.

A machine reaches no package index. A test that installs something shows it a directory of wheels, and the variables that
lead pip there. It stands in a file of the host's directory, so that it is the same after a restart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outlast_emulator.control.surface import answered
from outlast_emulator.request import Request
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

NAME = "world.json"
FIELDS = ("shown", "environment", "room_bytes")


@dataclass
class World:
    shown: dict[str, str] = field(default_factory=dict)
    """Path inside -> directory of this computer, to be read there."""
    environment: dict[str, str] = field(default_factory=dict)
    room_bytes: int = 0
    """Not 0: the disk of an isolated machine has room for so many bytes and is new at every boot."""


def read(host_data: Path) -> World:
    try:
        return World(**json.loads((host_data / NAME).read_text()))
    except FileNotFoundError:
        return World()


def write(host_data: Path, world: World) -> None:
    host_data.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = host_data / f"{NAME}.new"
    beside.write_text(json.dumps(asdict(world)))
    beside.replace(host_data / NAME)


def parse(document: dict[str, Any]) -> World:
    """ValueError names what is wrong."""
    unknown = sorted(set(document) - set(FIELDS))
    if unknown:
        raise ValueError(f"unknown field `{unknown[0]}`; there are {', '.join(FIELDS)}")
    for name in ("shown", "environment"):
        values = document.get(name, {})
        if not isinstance(values, dict) or not all(isinstance(one, str) for one in values.values()):
            raise ValueError(f"`{name}` is an object of strings")
    for inside, path in document.get("shown", {}).items():
        if not inside.startswith("/") or inside.strip("/") == "" or ".." in inside.split("/"):
            raise ValueError(f"`{inside}` is no place inside a machine; an absolute path is")
        if not Path(path).is_absolute() or not Path(path).is_dir():
            raise ValueError(f"`{path}` is no directory of this computer")
    room_bytes = document.get("room_bytes", 0)
    if type(room_bytes) is not int or room_bytes < 0:
        raise ValueError(f"`room_bytes` is a number of bytes, or 0 for no limit; not {room_bytes!r}")
    return World(dict(document.get("shown", {})), dict(document.get("environment", {})), room_bytes)


def routes(emulator: Emulator) -> Iterable[Route]:
    """`/_emulator/world`: read, or replaced for all machines that boot from now on."""
    host_data = emulator.data / "compute" / "machines"

    def get_world(_: Request) -> dict[str, Any]:
        return asdict(read(host_data))

    def set_world(request: Request) -> dict[str, Any]:
        write(host_data, parse(request.json()))
        return get_world(request)

    for verb, operation in (("GET", get_world), ("POST", set_world)):
        name = f"emulator.{operation.__name__}"
        yield Route(name, verb, "/_emulator/world", answered(operation), quick=False, public=True)
