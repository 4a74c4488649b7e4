"""Runs the lanes of `make test` in two rows beside each other and holds each to its budget: `lanes.py [LANE...]`.

A lane is a set of directories under tests/ (`check` is lint, types, layers and docs). What a lane may take stands in
the table of CONTRIBUTING.md; what it took is written to build/lanes.json.

Most tests here drive real processes on a machine that others use too. A few that fail are therefore run once more,
alone; those that pass only then are named at the end: they are defects of the test or, worse, of the product.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
TABLE = ROOT / "CONTRIBUTING.md"
RECORD = ROOT / "build" / "lanes.json"
CACHES = ROOT / "build" / "pytest"
SAYING = threading.Lock()
"""What a lane has said is printed in one piece."""

TOTAL_SECONDS_MAX = 24 * 60
"""`make test` has 30 minutes on two cores; three of them are left for a first installation, three for noise."""

ON_A_MAC = ("mypy", "--platform", "darwin", "--always-false", "LINUX", "--cache-dir", ".mypy_cache/darwin")
"""What Python's modules have there, and the way that `host/system.py` takes where `LINUX` is false; with a cache of its own, since
mypy throws away one that was written with other options."""

CHECKS: tuple[tuple[str, ...], ...] = (
    ("ruff", "check"),
    ("ruff", "format", "--check"),
    ("mypy",),
    (*ON_A_MAC, "src", "tools"),
    ("lint-imports", "--no-logo"),
    ("python", "tools/generate_reference.py", "--check"),
    ("python", "tools/check_docs.py"),
)

DIRECTORIES: dict[str, tuple[str, ...]] = {
    "unit": ("spec", "bundle", "folder", "results", "agent", "jobs"),
    "sweep_grammar": ("sweep_grammar",),
    "store": ("store",),
    "engines": ("engines", "machine"),
    "training": ("training",),
    "crash": ("crash",),
    "simulation": ("simulation",),
    "drills": ("drill",),
    "gcs": ("gcs",),
    "cli": ("cli",),
    "catalog": ("catalog",),
    "cloud": ("cloud",),
    "environments": ("environments",),
    "containers": ("containers",),
    "data": ("data",),
    "linked": ("secrets", "linked"),
    "bad_input": ("bad_input",),
    "housekeeping": ("housekeeping",),
    "terminal": ("terminal",),
    "emulator": ("emulator",),
    "emulator_clients": ("emulator_clients",),
    "emulator_machines": ("emulator_machines",),
    "emulator_compute": ("emulator_compute",),
    "emulator_groups": ("emulator_groups",),
    "emulator_vertex": ("emulator_vertex",),
    "compute": ("compute",),
    "vertex": ("vertex",),
    "sweep": ("sweep",),
    "sweep_compute": ("sweep_compute",),
    "sweep_killed": ("sweep_killed",),
    "sweep_search": ("sweep_search",),
    "examples": ("examples",),
    "project": ("project",),
}
"""Lane -> directories under tests/."""

LANES = ("check", *DIRECTORIES)

WORKERS = 2
SLEEPY = {
    "bad_input": 3,
    "compute": 6,
    "crash": 6,
    "drills": 4,
    "emulator_groups": 4,
    "emulator_vertex": 4,
    "engines": 3,
    "gcs": 6,
    "linked": 4,
    "sweep_compute": 6,
    "terminal": 3,
    "vertex": 4,
}
"""Lanes whose processes mostly wait for one another: so many of their tests run side by side."""

CLOUD = frozenset(
    {
        "catalog",
        "check",
        "cloud",
        "compute",
        "containers",
        "emulator",
        "emulator_clients",
        "emulator_compute",
        "emulator_groups",
        "emulator_machines",
        "emulator_vertex",
        "examples",
        "gcs",
        "sweep_compute",
        "vertex",
    }
)
"""Lanes that drive Google's APIs and rented machines. They are one row, in which most time is spent waiting, so that `check`, which
only computes, is best among them; the others, which mostly work on this computer, are the other row, and the two rows run beside
each other."""

FAR = 2.5
"""A lane that takes this many times its budget fails, if that is ..."""

FAR_SECONDS = 60.0
"""... so much too long: short lanes are noisy. Both by this computer's pace, where it is known."""

PACE_LANES_MIN = 8
"""From so many lanes on, the median of what they took by their budgets says how fast this computer is today."""

HANG_SECONDS = 20 * 60
"""No lane takes half of it on a busy machine."""

SECOND_LOOKS_MAX = 3
"""So many tests of a lane may be run once more; when more fail, it is no accident."""


@dataclass(frozen=True)
class Outcome:
    lane: str
    seconds: float
    passed: bool
    unsteady: tuple[str, ...] = ()
    """Tests that failed at first and passed when they were run alone."""

    said: str = ""


def main(arguments: list[str]) -> int:
    if arguments == ["--list"]:
        print("\n".join(LANES))
        return 0
    unknown = [lane for lane in arguments if lane not in LANES]
    if unknown:
        print(f"error: no lane `{unknown[0]}`; there are {', '.join(LANES)}", file=sys.stderr)
        return 2
    budgets = read_budgets(TABLE.read_text())
    lanes = arguments or list(LANES)
    begun, idle = time.monotonic(), idle_seconds()
    with ThreadPoolExecutor(2) as both:
        rows = list(both.map(lambda row: run_row(row, budgets), rows_of(lanes)))
    seconds = time.monotonic() - begun
    outcomes = sorted((one for row in rows for one in row), key=lambda one: lanes.index(one.lane))
    return report(outcomes, budgets, seconds, busy_share(idle, seconds))


def rows_of(lanes: Sequence[str]) -> tuple[list[str], list[str]]:
    return [lane for lane in lanes if lane not in CLOUD], [lane for lane in lanes if lane in CLOUD]


def run_row(lanes: Sequence[str], budgets: Mapping[str, int]) -> list[Outcome]:
    outcomes = []
    for lane in lanes:
        outcome = run_lane(lane)
        with SAYING:
            print(f"\n--- lane {lane} (budget {budgets[lane]} s)\n{outcome.said}", flush=True)
            record(outcome)
        outcomes.append(outcome)
    return outcomes


def run_lane(lane: str) -> Outcome:
    begun = time.monotonic()
    commands = CHECKS if lane == "check" else (pytest_command(lane),)
    shutil.rmtree(CACHES / lane, ignore_errors=True)
    ended = [run(*command) for command in commands]
    passed = all(good for good, _ in ended)
    said = "".join(text for _, text in ended)
    unsteady: tuple[str, ...] = ()
    if not passed and 0 < len(failed := failures(lane)) <= SECOND_LOOKS_MAX:
        again = [run("python", "-m", "pytest", "-q", test) for test in failed]
        said += f"\n--- lane {lane}: once more, alone: {', '.join(failed)}\n" + "".join(text for _, text in again)
        passed = all(good for good, _ in again)
        unsteady = failed if passed else ()
    return Outcome(lane, time.monotonic() - begun, passed, unsteady, said)


def run(program: str, *arguments: str) -> tuple[bool, str]:
    """Whether it ended well, and what it said. One that hangs is ended, with all that it has started."""
    process = subprocess.Popen(
        [str(BIN / program), *arguments],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=HANG_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        said += f"\nerror: ended after {HANG_SECONDS} s, in which it did not end by itself\n".encode()
    return process.returncode == 0, said.decode(errors="replace")


def failures(lane: str) -> tuple[str, ...]:
    """What pytest wrote down as failed; nothing if it did not come that far."""
    try:
        return tuple(json.loads((CACHES / lane / "v/cache/lastfailed").read_text()))
    except (OSError, ValueError):
        return ()


def busy_share(idle: float, seconds: float) -> float:
    """Of the machine's cores, since `idle_seconds` was that."""
    return 1 - (idle_seconds() - idle) / (max(seconds, 0.001) * (os.cpu_count() or 1))


def idle_seconds() -> float:
    """Of all cores since the machine started; 0 where the system does not tell."""
    try:
        return int(Path("/proc/stat").read_text().split()[4]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def pytest_command(lane: str) -> tuple[str, ...]:
    paths = [f"tests/{name}" for name in DIRECTORIES[lane] if (ROOT / "tests" / name).is_dir()]
    workers = str(SLEEPY.get(lane, WORKERS))
    plugins = () if draws_examples(paths) else ("-p", "no:hypothesispytest")
    cache = ("-o", f"cache_dir={CACHES / lane}")
    words = ("-q", "-n", workers, "--durations=3", *plugins, *cache)
    return ("python", "-m", "pytest", *words, *(paths or [f"tests/{lane}"]))


def draws_examples(paths: Sequence[str]) -> bool:
    """Whether some of these tests are hypothesis's. Each process imports it for the plugin's sake alone, at a fifth of a second."""
    return any("hypothesis" in file.read_text() for path in paths for file in (ROOT / path).rglob("*.py"))


def environment() -> dict[str, str]:
    """Without byte code every process that a test starts would compile the sources again."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def read_budgets(text: str) -> dict[str, int]:
    """Lane -> seconds, from the rows `| lane | what | seconds |` of CONTRIBUTING.md."""
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (\d+) \|$", text, flags=re.MULTILINE)
    budgets = {lane: int(seconds) for lane, seconds in rows}
    missing = [lane for lane in LANES if lane not in budgets]
    if missing:
        raise SystemExit(f"error: CONTRIBUTING.md gives no budget for {', '.join(missing)}")
    return budgets


def record(outcome: Outcome) -> None:
    """Kept from one call to the next, so that lanes that were run one by one can be compared too."""
    try:
        known = json.loads(RECORD.read_text())
    except (OSError, ValueError):
        known = {}
    known[outcome.lane] = {
        "seconds": round(outcome.seconds, 1),
        "passed": outcome.passed,
        "unsteady": outcome.unsteady,
    }
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


BAD = ("FAILED", "FAR OVER BUDGET")


def pace_of(outcomes: Sequence[Outcome], budgets: Mapping[str, int]) -> float:
    """How many times as long as its budget a lane takes here. Never below 1: a fast computer makes no budget smaller."""
    if len(outcomes) < PACE_LANES_MIN:
        return 1.0
    return max(1.0, statistics.median(outcome.seconds / budgets[outcome.lane] for outcome in outcomes))


def judged(outcome: Outcome, budget: int, pace: float = 1.0) -> str:
    if not outcome.passed:
        return "FAILED"
    fair = budget * pace
    if outcome.seconds > max(FAR * fair, fair + FAR_SECONDS):
        return "FAR OVER BUDGET"
    return "over budget" if outcome.seconds > fair else "ok"


def report(outcomes: list[Outcome], budgets: Mapping[str, int], seconds: float, busy: float) -> int:
    pace = pace_of(outcomes, budgets)
    print("\nlane              seconds  budget  share")
    bad = 0
    for outcome in outcomes:
        budget = budgets[outcome.lane]
        verdict = judged(outcome, budget, pace)
        bad += verdict in BAD
        print(f"{outcome.lane:<17} {outcome.seconds:7.1f}  {budget:6}  {outcome.seconds / budget:5.0%}  {verdict}")
    if pace > 1:
        print(
            f"half of the lanes took more than {pace:.0%} of their budgets: this computer is slow or busy, and judged by that"
        )
    for outcome in outcomes:
        for test in outcome.unsteady:
            print(f"UNSTEADY {test}: it failed in its lane and passed alone; find out why")
    how = f"{bad} bad" if bad else "all passed"
    print(f"{len(outcomes)} lanes in {seconds:.0f} s, {how}; the cores were in use for {busy:.0%} of it")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
