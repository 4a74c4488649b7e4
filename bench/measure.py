"""Interleaved medians: whatever disturbs the machine disturbs both sides alike."""

from __future__ import annotations

import itertools
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 10


@dataclass(frozen=True)
class Row:
    what: str
    ours: str
    against: str
    ratio: str
    limit: str
    held: bool


def interleaved(contenders: Mapping[str, Callable[[], float]], rounds: int = ROUNDS) -> dict[str, float]:
    """The median of what each contender answers (seconds, or any figure), taken in turns."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name in order(list(contenders), number):
            taken[name].append(contenders[name]())
    return {name: statistics.median(figures) for name, figures in taken.items()}


def order(names: Sequence[str], number: int) -> list[str]:
    """Of one round. Who comes right after another finds what that one has left, in memory and on disk: in as many rounds as there
    are contenders, an even number of them, each follows each of the others once (a Latin square after Williams)."""
    count = len(names)
    zigzag = [-(place // 2) if place % 2 == 0 else (place + 1) // 2 for place in range(count)]
    return [names[(place + number) % count] for place in zigzag]


def wall(action: Callable[[], object]) -> Callable[[], float]:
    def timed() -> float:
        began_at = time.perf_counter()
        action()
        return time.perf_counter() - began_at

    return timed


def command(
    argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Callable[[], object]:
    def run() -> object:
        return subprocess.run(argv, cwd=cwd, env=env, check=True, stdin=subprocess.DEVNULL, capture_output=True)

    return run


def clean_environment(scratch: Path) -> dict[str, str]:
    """What a user's shell has, with nothing of the user's own; byte code is allowed, as everywhere but on our machines."""
    kept = ("PATH", "LANG", "LC_ALL", "TERM")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    # Jobs use the Python that they are compared with: another one may start faster, or slower by all that it has installed.
    virtual = {"VIRTUAL_ENV": sys.prefix} if sys.prefix != sys.base_prefix else {}
    return {**environment, **virtual, "HOME": str(scratch), "OUTLAST_DIR": str(scratch / "outlast")}


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def ratio_row(
    what: str, ours: float, against: float, named: str, limit: float, show: Callable[[float], str] = milliseconds
) -> Row:
    ratio = ours / against
    return Row(what, show(ours), f"{named}: {show(against)}", f"{ratio:.2f}x", f"{limit:g}x", ratio <= limit)


def excess_row(what: str, ours: float, against: float, named: str, limit_seconds: float) -> Row:
    excess = ours - against
    return Row(
        what,
        milliseconds(ours),
        f"{named}: {milliseconds(against)}",
        f"+{milliseconds(excess)}",
        f"+{milliseconds(limit_seconds)}",
        excess <= limit_seconds,
    )


def excess_cpu_row(what: str, argv: list[str], count: int, cwd: Path, environment: dict[str, str]) -> Row:
    """What `argv`, which runs `empty.py` so often, costs beside a shell that does so on two cores.

    Each time as the first time: with a user's directory of its own, where no supervisor is yet. They all stay until the end, or
    the next round would pay for their removal.
    """
    feed = f"seq {count} | xargs -P2 -I{{}} {sys.executable} empty.py"
    homes = (f"{environment['OUTLAST_DIR']}-{number}" for number in itertools.count())
    medians = interleaved(
        {
            "ours": lambda: tree_cpu(argv, cwd, {**environment, "OUTLAST_DIR": next(homes)}) / count,
            "bare": lambda: tree_cpu(["sh", "-c", feed], cwd, environment) / count,
        }
    )
    return excess_row(what, medians["ours"], medians["bare"], "`xargs -P2 python script.py`", 0.010)


def tree_cpu(argv: list[str], cwd: Path, environment: dict[str, str]) -> float:
    """Runs under a subreaper, so that what was detached is counted too when it has ended."""
    from outlast.host.system import become_subreaper

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        become_subreaper()
        subprocess.run(argv, cwd=cwd, env=environment, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        while True:
            try:
                os.wait()
            except ChildProcessError:
                break
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.write(write, repr(usage.ru_utime + usage.ru_stime).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        seconds = answer.read()
    os.waitpid(pid, 0)
    if not seconds:
        raise SystemExit(f"{argv} failed")
    return float(seconds)


def limit_row(what: str, ours: float, limit: float, show: Callable[[float], str]) -> Row:
    return Row(what, show(ours), "", "", show(limit), ours <= limit)


def machine() -> str:
    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        "unknown CPU",
    )
    memory = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    system = f"{platform.system()} {platform.release().split('-')[0]}"
    return f"{os.cpu_count()} cores of {model}, {memory / 2**20:.0f} GiB, {system}, Python {platform.python_version()}"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
