"""A wheel's files, put where they belong in an environment: modules, scripts, data, headers."""

from __future__ import annotations

import os
from pathlib import Path

from outlast.bundle.environment.archive import Archive
from outlast.errors import Damaged
from outlast.pattern import pattern

INSTALLER = "outlast"
SHEBANG_BYTES_MAX = 120
"""Longer ones are cut off by some kernels."""

OURS = frozenset({"pyvenv.cfg", "sealed.json", "bin/python", "bin/python3"})
"""What makes it an environment: no wheel may bring its own."""

SCRIPT = """\
import sys
from {module} import {first}
if __name__ == "__main__":
    sys.argv[0] = sys.argv[0].removesuffix(".exe")
    sys.exit({function}())
"""
_ENTRY = pattern(r"(?P<module>[\w.]+)\s*(?::\s*(?P<function>[\w.]+))?\s*(?:\[.*\])?")
_SCRIPT_NAME = pattern(r"[\w.+-]+")


class Site:
    """An environment that is being made. `python` is what its scripts are started with: its path when it is finished."""

    def __init__(self, root: Path, python_version: str, python: str) -> None:
        self.root = root
        self.packages = root / "lib" / f"python{python_version}" / "site-packages"
        self.scripts = root / "bin"
        self.headers = root / "include" / "site" / f"python{python_version}"
        self.python = python
        self._made: set[str] = set()

    def install(self, archive: Archive) -> None:
        """What another wheel has put there is replaced: wheels are installed in the order of their names."""
        written: list[str] = []
        packages, record = str(self.packages), f"{archive.dist_info}/RECORD"
        for name in archive.members:
            if name == record:
                continue
            if name.startswith(archive.data):
                target, is_script = self._target(archive, name)
                (self._write_script if is_script else self._write)(target, archive, name)
                written.append(os.path.relpath(target, packages))
            else:
                self._write(f"{packages}/{name}", archive, name)
                written.append(name)
        written += self._entry_points(archive)
        folder = f"{packages}/{archive.dist_info}"
        self._replace(f"{folder}/INSTALLER", f"{INSTALLER}\n".encode(), 0o644)
        names = {*written, f"{archive.dist_info}/INSTALLER", record}
        lines = (f'"{one}",,\n' if "," in one else f"{one},,\n" for one in sorted(names) if '"' not in one)
        self._replace(f"{folder}/RECORD", "".join(lines).encode(errors="surrogateescape"), 0o644)

    def _target(self, archive: Archive, name: str) -> tuple[str, bool]:
        """Where something goes that is no module, and whether it is a script whose first line names no Python yet."""
        kind, _, rest = name.removeprefix(archive.data).partition("/")
        roots = {
            "purelib": self.packages,
            "platlib": self.packages,
            "scripts": self.scripts,
            "data": self.root,
            "headers": self.headers / archive.name,
        }
        if kind not in roots or not rest:
            raise Damaged(f"the wheel `{archive.wheel}` is not installed: `{name[:80]}` has no place in an environment")
        target = roots[kind] / rest
        if target.relative_to(self.root).as_posix() in OURS:
            raise Damaged(f"the wheel `{archive.wheel}` is not installed: `{name[:80]}` would replace the interpreter")
        return str(target), kind == "scripts"

    def _write_script(self, target: str, archive: Archive, name: str) -> None:
        data = b"".join(archive.chunks(name))
        begin, _, rest = data.partition(b"\n")
        if begin.startswith(b"#!python"):
            data = self._shebang() + rest
        self._replace(target, data, 0o755)

    def _write(self, target: str, archive: Archive, name: str) -> None:
        handle = self._create(target, 0o755 if archive.executable(name) else 0o644)
        try:
            for chunk in archive.chunks(name):
                written = os.write(handle, chunk)
                while written < len(chunk):
                    written += os.write(handle, chunk[written:])
        finally:
            os.close(handle)

    def _entry_points(self, archive: Archive) -> list[str]:
        text = archive.text("entry_points.txt")
        if not text:
            return []
        import configparser  # most packages have none

        parser = configparser.ConfigParser(delimiters=("=",), strict=False, interpolation=None)
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        try:
            parser.read_string(text)
        except configparser.Error as error:
            raise Damaged(f"the wheel `{archive.wheel}` is not installed: its entry points: {error}") from error
        written = []
        for section in ("console_scripts", "gui_scripts"):
            for name, value in parser.items(section) if parser.has_section(section) else ():
                found = _ENTRY.fullmatch(value.strip())
                if found is None or not found["function"] or not _SCRIPT_NAME.fullmatch(name) or f"bin/{name}" in OURS:
                    continue
                function = found["function"]
                text = SCRIPT.format(module=found["module"], first=function.split(".")[0], function=function)
                target = str(self.scripts / name)
                self._replace(target, self._shebang() + text.encode(), 0o755)
                written.append(os.path.relpath(target, self.packages))
        return written

    def _shebang(self) -> bytes:
        if len(self.python) <= SHEBANG_BYTES_MAX and " " not in self.python:
            return os.fsencode(f"#!{self.python}\n")
        # A first line that the shell and Python both read: the kernel's own limit does not matter then.
        quoted = self.python.replace("'", "'\"'\"'")
        return os.fsencode(f"#!/bin/sh\n'''exec' '{quoted}' \"$0\" \"$@\"\n' '''\n")

    def _replace(self, target: str, data: bytes, mode: int) -> None:
        handle = self._create(target, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(data)

    def _create(self, target: str, mode: int) -> int:
        parent = os.path.dirname(target)
        if parent not in self._made:
            os.makedirs(parent, exist_ok=True)
            self._made.add(parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(target, flags, mode)
        except FileExistsError:
            os.unlink(target)
            return os.open(target, flags, mode)
