"""A container without root: a process of this computer's user, which finds the image where it was unpacked.

Nothing can be laid over the root without rights. So paths of the image in its command and its environment are turned into those of
the unpacked image, programs that the image has not are this computer's, and `EMULATED_CONTAINER_ROOT` says where the image is.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from outlast_emulator.machines import tree
from outlast_emulator.machines.plain import ROOT_VARIABLE

CONTAINER_ROOT = "EMULATED_CONTAINER_ROOT"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def enter(spec: dict[str, Any]) -> None:
    os.setsid()
    tree.adopt_orphans()
    tree.forbid_new_rights()
    disk = os.path.abspath(f"disks/{spec['disk']}")
    root = f"{disk}/root"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(f"flat/{spec['flat']}", root, symlinks=True)
    environment = {name: _led(value, root) for name, value in spec["environment"].items()}
    for name in ("home", "scratch"):
        os.makedirs(f"{disk}/{name}", mode=0o700, exist_ok=True)
    environment["HOME"] = f"{disk}/home"
    environment["TMPDIR"] = f"{disk}/scratch"
    environment["PATH"] = f"{environment.get('PATH', '')}:{PATH}".lstrip(":")
    environment[CONTAINER_ROOT] = root
    environment[ROOT_VARIABLE] = f"{disk}/root"
    for place, path in spec["shown"].items():
        link = root + place
        os.makedirs(os.path.dirname(link), exist_ok=True)
        if not os.path.lexists(link):
            os.symlink(path, link)
    spec["environment"] = environment
    spec["words"] = [_led(word, root) for word in spec["words"]]
    work_directory = root + spec["work_directory"]
    os.makedirs(work_directory, exist_ok=True)
    os.chdir(work_directory)


def _led(text: str, root: str) -> str:
    """Each path of the image in it, as the one of the unpacked image: those between colons, too."""
    if not text.startswith("/") or "\n" in text:
        return text
    return ":".join(
        root + one if one.startswith("/") and os.path.lexists(root + one) else one for one in text.split(":")
    )
