"""What an environment costs: the first time beside uv and pip, the second time beside a job that needs none."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.measure import Row, clean_environment, command, excess_row, interleaved, ratio_row, wall

PYTHON = sys.executable
OUTLAST = str(Path(sys.executable).with_name("outlast"))
UV = str(Path(sys.executable).with_name("uv"))

MANY = 30
MODULES = 20
SMALL = ("attrs", "certifi", "click", "idna", "iniconfig", "packaging", "pluggy", "six", "tqdm", "typing-extensions")
ROUNDS_NETWORK = 5

FIRST = """
import time
from pathlib import Path
import outlast.jobs.plan, outlast.machine.furnish
from outlast.jobs.asked import Asked
from outlast.jobs.environment import equip
from outlast.jobs.world import system_world
from outlast.machine.environment import Wanted, environment_of
from outlast.spec.target import parse_target
world, here = system_world(), Path.cwd()
home, engine, target = world.home(), world.engine("local"), parse_target("empty.py", here)
began_at = time.perf_counter()
equipment = equip(world, Asked("empty.py", requirements=("small.txt",)), home, engine, here, target)
wanted = Wanted(equipment.environment.digest, equipment.environment.python_version, equipment.python)
environment_of(home.store, wanted, world.cache_dir)
print(time.perf_counter() - began_at)
"""
"""All that `outlast run` and the machine do for an environment, beside what they do for every job."""


def rows(scratch: Path) -> Iterator[Row]:
    work = scratch / "work"
    work.mkdir()
    (work / "line.py").write_text("print('first', flush=True)\n")
    (work / "empty.py").write_text("")
    yield _second(scratch, work)
    yield from _first(scratch, work)


def _second(scratch: Path, work: Path) -> Row:
    """The packages are made here and come from a directory: only the home matters the second time."""
    links = scratch / "links"
    links.mkdir()
    for number in range(MANY):
        _wheel(links, f"package{number:02d}")
    (work / "many.txt").write_text("".join(f"package{number:02d}\n" for number in range(MANY)))
    (scratch / "settings").mkdir()
    (scratch / "settings" / "uv.toml").write_text("no-index = true\n")
    environment = {
        **clean_environment(scratch),
        "UV_FIND_LINKS": str(links),
        "UV_CONFIG_FILE": str(scratch / "settings" / "uv.toml"),
        "UV_CACHE_DIR": str(scratch / "uv-cache"),
    }
    declared = [OUTLAST, "run", "--requirements", "many.txt", "line.py"]
    command(declared, cwd=work, env=environment)()
    shutil.rmtree(links)  # nobody can resolve any more
    medians = interleaved(
        {
            "plain": _first_line([OUTLAST, "run", "line.py"], work, environment),
            "declared": _first_line(declared, work, environment),
        }
    )
    what = f"second job with the same {MANY}-package environment, start to first line"
    return excess_row(what, medians["declared"], medians["plain"], "the same script without", 0.100)


def _first_line(argv: list[str], work: Path, environment: dict[str, str]) -> Callable[[], float]:
    def timed() -> float:
        began_at = time.perf_counter()
        with subprocess.Popen(
            argv, cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as run:
            assert run.stdout is not None
            line = run.stdout.readline()
            seconds = time.perf_counter() - began_at
            run.stdout.read()
        if line != b"first\n":
            raise SystemExit(f"{argv} said {line!r}")
        return seconds

    return timed


def _first(scratch: Path, work: Path) -> Iterator[Row]:
    """From the index that uv and pip know; nobody has anything in a cache."""
    (work / "small.txt").write_text("\n".join([*SMALL, ""]))
    (work / "first.py").write_text(FIRST)
    names = [name for name in os.environ if name.startswith(("SSL_CERT_", "UV_"))]
    environment = {**clean_environment(scratch), **{name: os.environ[name] for name in names}}
    settings = {**environment, **{name: value for name, value in os.environ.items() if name.startswith("PIP_")}}

    def afresh(timed: Callable[[], float], *places: str) -> Callable[[], float]:
        def run() -> float:
            for place in ("uv-cache", *places):
                shutil.rmtree(scratch / place, ignore_errors=True)
            return timed()

        return run

    cold = {**environment, "UV_CACHE_DIR": str(scratch / "uv-cache")}
    own = str(scratch / "own")

    def by_uv() -> None:
        command([UV, "venv", "-q", "--python", PYTHON, own], env=cold)()
        command([UV, "pip", "install", "-q", "--python", own, "-r", "small.txt"], cwd=work, env=cold)()

    def by_pip() -> None:
        command([PYTHON, "-m", "venv", own], env=environment)()
        words = [f"{own}/bin/python", "-m", "pip", "install", "-q", "--no-cache-dir", "-r", "small.txt"]
        command(words, cwd=work, env=settings)()

    def ours() -> float:
        told = {**cold, "OUTLAST_DIR": str(scratch / "outlast-first")}
        done = subprocess.run([PYTHON, "first.py"], cwd=work, env=told, check=True, stdout=subprocess.PIPE)
        return float(done.stdout)

    medians = interleaved(
        {
            "ours": afresh(ours, "outlast-first"),
            "uv": afresh(wall(by_uv), "own"),
            "pip": afresh(wall(by_pip), "own"),
        },
        rounds=ROUNDS_NETWORK,
    )
    what = f"environment of {len(SMALL)} small packages, first time"
    yield ratio_row(what, medians["ours"], medians["uv"], "`uv venv`, `uv pip install`", 1.3)
    yield ratio_row(what, medians["ours"], medians["pip"], "`python -m venv`, `pip install`", 0.5)


def _wheel(folder: Path, name: str) -> None:
    info = f"{name}-1.0.dist-info"
    files = {f"{name}/module{number}.py": f"value = {number}\n" * 50 for number in range(MODULES)}
    files |= {f"{name}/__init__.py": "", f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"}
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    lines = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(text)}")
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""])
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
