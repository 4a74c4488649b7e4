"""The layer between this computer's root and every disk: what is hidden from machines, and what only they have.

Hidden is what would make a test lie (homes, this program's sources and environment, the emulator's own data) or is nobody's
business. Only machines have the programs that turn them off: those of this computer would talk to its systemd.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

OPAQUE = "trusted.overlay.opaque"
EMPTY = {"home": 0o755, "root": 0o700, "tmp": 0o1777, "var/tmp": 0o1777, "var/log": 0o755, "mnt": 0o755, "srv": 0o755}
"""Directories that every machine begins with, empty: path -> mode."""

HIDDEN = ("/var/lib/outlast", "/etc/outlast", "/media", "/lost+found", "/.dockerenv")

POWER = """#!/bin/bash
# Turns this machine off or starts it again: its process number one is told, with the number of the signal that systemd takes.
set -u
tell() { TELL; }
name=${0##*/}
force=no time=now
case $name in halt) number=3 ;; reboot) number=5 ;; *) number=4 ;; esac
[ "$name" = shutdown ] && time=+1
for word in "$@"; do
  case $word in
    -f | -ff | --force) force=yes ;;
    -h | -P | -p | --poweroff) number=4 ;;
    -H | --halt) number=3 ;;
    -r | --reboot) number=5 ;;
    -c) [ -e RUN/shutdown.pid ] && kill "$(cat RUN/shutdown.pid)"; rm -f RUN/shutdown.pid; exit 0 ;;
    -k | -w | --wtmp-only) exit 0 ;;
    now | +[0-9]* | [0-9]*:[0-9]*) [ "$name" = shutdown ] && time=$word ;;
  esac
done
[ "$force" = yes ] && number=$((number + 10))
case $time in
  now | +0) tell; exit ;;
  +*) seconds=$((${time#+} * 60)) ;;
  *) seconds=$((($(date -d "$time" +%s) - $(date +%s) + 86400) % 86400)) ;;
esac
(
  exec </dev/null >/dev/null 2>&1
  trap 'kill $!; exit' TERM
  sleep "$seconds" & wait
  tell
) &
echo "$!" >RUN/shutdown.pid
disown
echo "Shutdown scheduled in $seconds seconds, use 'shutdown -c' to cancel."
"""
BY_SIGNAL = 'kill -s "$(($(kill -l RTMIN) + number))" 1'
POWER_NAMES = ("poweroff", "halt", "reboot", "shutdown")


def make(layer: Path, hidden: Sequence[str]) -> None:
    """In an empty directory, at every boot: it is little."""
    layer.chmod(0o755)
    for place, mode in EMPTY.items():
        path = _directory(layer, place)
        path.chmod(mode)
        set_attribute(path, OPAQUE, b"y")
    for place in sorted(hidden):
        _hide(layer, Path(place))
    for directory in _program_directories(layer):
        write_programs(directory)


def set_attribute(path: str | Path, name: str, value: bytes) -> None:
    """Of a layer of Linux, and of a link itself; what another system has by such a name is not what is meant."""
    if sys.platform == "linux":
        os.setxattr(path, name, value, follow_symlinks=False)


def write_programs(directory: Path, tell: str = BY_SIGNAL, run: str = "/run") -> None:
    """`tell`: the words of bash that pass `$number` on to the machine's init; `run`: where it keeps what lasts until then."""
    for name in POWER_NAMES:
        path = directory / name
        path.write_text(POWER.replace("TELL", tell).replace("RUN", run))
        path.chmod(0o755)


def _program_directories(layer: Path) -> list[Path]:
    places = ["usr/sbin"] + [name for name in ("sbin",) if not os.path.islink("/sbin")]
    return [_directory(layer, place) for place in places]


def to_hide(data: Path) -> list[str]:
    """Asked by the emulator itself: a machine's launcher does not know where the emulator's environment is."""
    import tempfile

    sources = Path(__file__).resolve().parents[2]
    checkout = sources.parent if (sources.parent / "pyproject.toml").exists() else None
    environment = Path(sys.prefix).resolve() if sys.prefix != sys.base_prefix else None
    user = [Path(value).resolve() for name in ("HOME", "OUTLAST_DIR") if (value := os.environ.get(name))]
    found = {data.resolve(), Path(tempfile.gettempdir()).resolve(), *map(Path, HIDDEN), *user}
    found.update(path for path in (checkout, environment) if path is not None)
    return sorted(str(path) for path in found if path != Path("/") and path.exists() and not _is_under_empty(path))


def _is_under_empty(path: Path) -> bool:
    return any(path.is_relative_to(Path("/", place)) for place in EMPTY)


def _hide(layer: Path, path: Path) -> None:
    """By what an overlay takes for a deletion, unless something above it is hidden already."""
    above = [layer / str(parent).strip("/") for parent in path.parents]
    if any(stat.S_ISCHR(os.lstat(one).st_mode) for one in above if os.path.lexists(one)):
        return
    parent = _directory(layer, str(path.parent))
    if not os.path.lexists(parent / path.name):
        os.mknod(parent / path.name, stat.S_IFCHR, os.makedev(0, 0))


def _directory(layer: Path, place: str) -> Path:
    """The directory in the layer, with all above it, owned and permitted like the ones that they cover."""
    made, covered = layer, Path("/")
    for part in Path(place.strip("/")).parts:
        made, covered = made / part, covered / part
        if not os.path.lexists(made):
            made.mkdir()
            if covered.exists():
                found = covered.stat()
                os.chown(made, found.st_uid, found.st_gid)
                made.chmod(stat.S_IMODE(found.st_mode))
            else:
                made.chmod(0o755)
    return made
