"""Makes .venv hold what a make target needs: `install.py tool` (the program alone) or `install.py test` (all the rest).

Needs nothing but Python itself. What was installed is stamped with the content of the files that asked for it, so that
a second call does nothing and works without a network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
BACKEND = ROOT / "build" / "backend"
REQUIREMENTS = ROOT / "requirements"
GSUTIL = ROOT / "build" / "gsutil" / "bin" / "gsutil"
"""In an environment of its own: it insists on older versions of what other clients need."""

CONDA = ROOT / "build" / "conda"
"""A directory of packages, for a container's Python."""

CENSUS = ROOT / "build" / "census"
"""The data that examples are tried with."""

PYTHON_MIN = (3, 10)
DEBIAN_SECONDS_MAX = 600
SYSTEMD = Path("/run/systemd/system")
"""There where systemd runs, by its own documentation."""

POLICY = Path("/usr/sbin/policy-rc.d")
"""Asked, where there is no systemd, before a package's service is started: 101 forbids it."""

LEFT_OUT = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
"""Without byte code every start of the program would compile it again."""


def main(arguments: list[str]) -> int:
    if arguments not in (["tool"], ["test"]):
        print("usage: install.py tool | test", file=sys.stderr)
        return 2
    if sys.version_info < PYTHON_MIN:
        print(f"error: Python {sys.version.split()[0]} is too old, 3.10 or newer is needed", file=sys.stderr)
        print("\nhint: `make PYTHON=python3.11 ...` names another", file=sys.stderr)
        return 2
    try:
        install_tool()
        if arguments == ["test"]:
            install_debian()
            install_tests()
            install_gsutil()
            install_conda()
            install_census()
        compile_sources()
    except subprocess.CalledProcessError as error:
        command = " ".join(str(part) for part in error.cmd)
        print(f"error: `{command}` ended with exit code {error.returncode}", file=sys.stderr)
        return 1
    return 0


def install_tool() -> None:
    begun = time.monotonic()
    # The build backend is pinned like everything else, and stays out of the environment that the program runs in.
    backend = Stamp(BACKEND / "installed", [REQUIREMENTS / "build.txt"])
    needs = Stamp(VENV / "installed-needs", [REQUIREMENTS / "tool.txt"])
    tool = Stamp(VENV / "installed-tool", [ROOT / "pyproject.toml"])
    if not (needs.is_current() and tool.is_current()) and not has_pip():
        make_environment()
    if not backend.is_current() and not tool.is_current():
        shutil.rmtree(BACKEND, ignore_errors=True)
        pip("install", "--require-hashes", "-r", str(REQUIREMENTS / "build.txt"), "--target", str(BACKEND))
        backend.write()
    if not needs.is_current():
        pip("install", "--require-hashes", "-r", str(REQUIREMENTS / "tool.txt"))
        needs.write()
    if not tool.is_current():
        pip("install", "--no-deps", "--no-build-isolation", "--editable", str(ROOT), path=BACKEND)
        tool.write()
        print(f"Installed the tool into `.venv` in {time.monotonic() - begun:.1f} s", file=sys.stderr)


def install_tests() -> None:
    begun = time.monotonic()
    stamp = Stamp(VENV / "installed-test", [REQUIREMENTS / "test.txt", REQUIREMENTS / "torch.txt"])
    if stamp.is_current():
        return
    print("Installing what the tests need; torch takes a minute", file=sys.stderr)
    pip("install", "--require-hashes", "-r", str(REQUIREMENTS / "test.txt"))
    pip("install", "-r", str(REQUIREMENTS / "torch.txt"))
    stamp.write()
    print(f"Installed what the tests need in {time.monotonic() - begun:.1f} s", file=sys.stderr)


def install_gsutil() -> None:
    begun = time.monotonic()
    home = GSUTIL.parent.parent
    stamp = Stamp(home / "installed", [REQUIREMENTS / "gsutil.txt"])
    if GSUTIL.exists() and stamp.is_current():
        return
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, env=ENVIRONMENT)
    pip("install", "--require-hashes", "-r", str(REQUIREMENTS / "gsutil.txt"), python=home / "bin" / "python")
    stamp.write()
    print(f"Installed gsutil in {time.monotonic() - begun:.1f} s", file=sys.stderr)


def install_conda() -> None:
    """Nothing but what its file names: the package that it is part of asks for fifty others."""
    begun = time.monotonic()
    stamp = Stamp(CONDA / "installed", [REQUIREMENTS / "conda.txt"])
    if stamp.is_current():
        return
    shutil.rmtree(CONDA, ignore_errors=True)
    pip("install", "--no-deps", "--require-hashes", "-r", str(REQUIREMENTS / "conda.txt"), "--target", str(CONDA))
    stamp.write()
    print(f"Installed conda in {time.monotonic() - begun:.1f} s", file=sys.stderr)


def install_census() -> None:
    """By the script that the example's README names; it looks first, and does nothing if the data are there."""
    subprocess.run([str(PYTHON), "examples/census/get_data.py", str(CENSUS)], check=True, env=ENVIRONMENT, cwd=ROOT)


def install_debian() -> None:
    """Debian packages, where this may be done; elsewhere the missing ones are named."""
    missing = [
        one for one in debian_packages() if shutil.which(one.command, path=f"{os.environ['PATH']}:/usr/sbin") is None
    ]
    if not missing:
        return
    names = [one.name for one in missing]
    if shutil.which("apt-get") is None or not (os.geteuid() == 0 or sudo_is_free()):
        print(f"note: not installed: {', '.join(names)}; tests that need them will fail", file=sys.stderr)
        if shutil.which("apt-get") is None:
            commands = ", ".join(f"`{one.command}`" for one in missing)
            print(f"hint: these are Debian's names; what is looked for are the commands {commands}", file=sys.stderr)
        else:
            print(f"hint: `sudo apt-get install {' '.join(names)}`", file=sys.stderr)
        return
    print(f"Installing Debian packages: {', '.join(names)}", file=sys.stderr)
    with no_services([service for one in missing for service in one.services]):
        as_root(["apt-get", "install", "--yes", "--no-install-recommends", *names])


@contextmanager
def no_services(services: list[str]) -> Iterator[None]:
    """They begin neither now nor at the next boot: nobody who runs tests has asked for a server."""
    if not services:
        yield
        return
    if not SYSTEMD.exists():
        with policy_of_none():
            yield
        return
    as_root(["systemctl", "mask", "--runtime", *services])
    try:
        yield
    finally:
        as_root(["systemctl", "unmask", "--runtime", *services])
    as_root(["systemctl", "disable", *services])


@contextmanager
def policy_of_none() -> Iterator[None]:
    """As Debian's images of containers have it from the beginning; one that is there is left alone."""
    if POLICY.exists():
        yield
        return
    as_root(["sh", "-c", f"umask 022; printf '#!/bin/sh\\nexit 101\\n' > {POLICY}; chmod 755 {POLICY}"])
    try:
        yield
    finally:
        as_root(["rm", "-f", str(POLICY)])


def as_root(command: list[str]) -> None:
    environment = {**ENVIRONMENT, "DEBIAN_FRONTEND": "noninteractive"}
    command = command if os.geteuid() == 0 else ["sudo", "-n", *command]
    subprocess.run(command, check=True, env=environment, timeout=DEBIAN_SECONDS_MAX, stdout=sys.stderr)


class DebianPackage(NamedTuple):
    name: str
    command: str
    """By which it is recognised."""

    services: list[str]


def debian_packages() -> list[DebianPackage]:
    """Those of requirements/debian.txt."""
    lines = (REQUIREMENTS / "debian.txt").read_text().splitlines()
    words = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return [DebianPackage(name, command, services) for name, command, *services in words]


def sudo_is_free() -> bool:
    if shutil.which("sudo") is None:
        return False
    return subprocess.run(["sudo", "-n", "true"], check=False, capture_output=True).returncode == 0


def has_pip() -> bool:
    asked = [str(PYTHON), "-m", "pip", "--version"]
    return PYTHON.exists() and subprocess.run(asked, check=False, capture_output=True, env=ENVIRONMENT).returncode == 0


def make_environment() -> None:
    """One that was interrupted is gone on with; one whose Python was removed, as by Homebrew's upgrades, is made anew."""
    anew = [] if PYTHON.exists() else ["--clear"]
    made = subprocess.run([sys.executable, "-m", "venv", *anew, str(VENV)], check=False, env=ENVIRONMENT)
    if made.returncode != 0:
        print("\nhint: on Debian the module is a package: `sudo apt-get install python3-venv`", file=sys.stderr)
        raise subprocess.CalledProcessError(made.returncode, ["python3", "-m", "venv", ".venv"])


def pip(*arguments: str, path: Path | None = None, python: Path = PYTHON) -> None:
    environment = {**ENVIRONMENT, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    command = [str(python), "-m", "pip", arguments[0], "--quiet", "--quiet", *arguments[1:]]
    subprocess.run(command, check=True, env=environment)


def compile_sources() -> None:
    """The sources lie where git put them, so byte code is made here and not by the first start."""
    command = [str(PYTHON), "-m", "compileall", "-q", str(ROOT / "src")]
    subprocess.run(command, check=False, env=ENVIRONMENT)


class Stamp:
    """Says whether the same files have been installed by the same Python before."""

    def __init__(self, path: Path, files: list[Path]) -> None:
        self.path = path
        digest = hashlib.sha256(f"{sys.version}\n{ROOT}\n".encode())
        for file in files:
            digest.update(f"{file.name}\n".encode() + file.read_bytes())
        self.text = digest.hexdigest() + "\n"

    def is_current(self) -> bool:
        return PYTHON.exists() and self.path.exists() and self.path.read_text() == self.text

    def write(self) -> None:
        self.path.write_text(self.text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
