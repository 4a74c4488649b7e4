"""Inside a new container's namespaces: its root of layers, its devices, its names, its user."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

from outlast_emulator.machines import furniture, linux
from outlast_emulator.machines.inside import made, mount_system

NAMESPACES = linux.CLONE_NEWNS | linux.CLONE_NEWUTS | linux.CLONE_NEWIPC


def enter(spec: dict[str, Any], files: list[int]) -> None:
    """This process is the container's first, and ready for its program. Raises OSError where that cannot be."""
    os.umask(0o022)
    for number in files:
        linux.enter_namespace(number, linux.CLONE_NEWNET)
        os.close(number)
    linux.unshare(NAMESPACES)
    linux.mount("", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    root = _mount_root(spec)
    mount_system(root)
    for place, path in spec["shown"].items():
        linux.bind(path, made(root, place), read_only=True)
    _write_names(root, spec)
    linux.set_hostname(spec["name"])
    linux.pivot_root(root)
    os.setsid()
    linux.drop_capabilities()
    os.makedirs(spec["work_directory"], exist_ok=True)
    _become_user(spec["user"], spec["environment"])
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)  # after the user: a change of it takes this back
    os.chdir(spec["work_directory"])


def _mount_root(spec: dict[str, Any]) -> str:
    """By names relative to the data directory, so that many layers fit into one page."""
    disk = f"disks/{spec['disk']}"
    for name in ("upper", "work", "root", "furniture", "below"):
        shutil.rmtree(f"{disk}/{name}", ignore_errors=True)
        os.makedirs(f"{disk}/{name}", mode=0o755 if name == "upper" else 0o700)
    layers = [f"layers/{name}" for name in spec["layers"]]
    if spec["on_computer"]:
        linux.mount("furniture", f"{disk}/furniture", "tmpfs", options="mode=755,size=1m")
        furniture.make(Path(disk, "furniture"), spec["hidden"])
        below = f"lowerdir={disk}/furniture:/,redirect_dir=on"
        linux.mount("below", f"{disk}/below", "overlay", linux.MS_RDONLY, below)
        layers.append(f"{disk}/below")
    options = f"lowerdir={':'.join(layers)},upperdir={disk}/upper,workdir={disk}/work,redirect_dir=on,index=off"
    try:
        linux.mount("container", f"{disk}/root", "overlay", options=options + ",volatile")
    except OSError:  # a kernel before 5.10: each fsync inside goes to the disk
        linux.mount("container", f"{disk}/root", "overlay", options=options)
    return os.path.abspath(f"{disk}/root")


def _write_names(root: str, spec: dict[str, Any]) -> None:
    os.makedirs(f"{root}/etc", exist_ok=True)
    for path, text in (("hosts", spec["hosts"]), ("resolv.conf", ""), ("hostname", f"{spec['name']}\n")):
        target = f"{root}/etc/{path}"
        if os.path.lexists(target):
            os.unlink(target)
        with open(target, "w") as file:
            file.write(text)


def _become_user(text: str, environment: dict[str, str]) -> None:
    """`USER[:GROUP]`, by number or by a name of the image's own."""
    user, _, group = text.partition(":")
    known = _entries("/etc/passwd").get(user or "0") or next(
        (one for one in _entries("/etc/passwd").values() if one[2] == (user or "0")), None
    )
    number = int(user or 0) if (user or "0").isdigit() else int(_known(known, user)[2])
    own_group = int(known[3]) if known else 0
    if group and not group.isdigit():
        own_group = int(_known(_entries("/etc/group").get(group), group)[2])
    elif group:
        own_group = int(group)
    environment.setdefault("HOME", known[5] if known and len(known) > 5 else "/")
    if number or own_group:
        os.setgroups([])
        os.setgid(own_group)
        os.setuid(number)


def _known(entry: list[str] | None, name: str) -> list[str]:
    if entry is None:
        raise OSError(2, f"the image has no user or group `{name}`")
    return entry


def _entries(path: str) -> dict[str, list[str]]:
    try:
        with open(path) as file:
            lines = [line.rstrip("\n").split(":") for line in file]
    except FileNotFoundError:
        return {}
    return {fields[0]: fields for fields in lines if len(fields) > 3}
