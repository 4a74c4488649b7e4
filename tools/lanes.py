"""Runs the lanes of `make test` one after another and holds each to its budget: `lanes.py [LANE...]`.

A lane is a set of directories under tests/ (`check` is lint, types, layers and docs). What a lane may take stands in
the table of CONTRIBUTING.md; what it took, and how much of the machine it used, is written to build/lanes.json.

Most tests here drive real processes on a machine that others use too. A few that fail are therefore run once more,
alone; those that pass only then are named at the end: they are defects of the test or, worse, of the product.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
TABLE = ROOT / "CONTRIBUTING.md"
RECORD = ROOT / "build" / "lanes.json"
CACHES = ROOT / "build" / "pytest"

TOTAL_SECONDS_MAX = 27 * 60
"""`make test` has 30 minutes on two cores; three of them are left for a first installation."""

CHECKS: tuple[tuple[str, ...], ...] = (
    ("ruff", "check"),
    ("ruff", "format", "--check"),
    ("mypy",),
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
    "engines": 3,
    "gcs": 6,
    "linked": 4,
    "terminal": 3,
    "vertex": 4,
}
"""Lanes whose processes mostly wait for one another: so many of their tests run side by side."""

NOISE = 4
"""Machines are noisy: a lane is told when it is over its budget, and fails when it takes this many times as long."""


SECOND_LOOKS_MAX = 3
"""So many tests of a lane may be run once more; when more fail, it is no accident."""


@dataclass(frozen=True)
class Outcome:
    lane: str
    seconds: float
    passed: bool
    busy: float = 1.0
    """The share of the machine's cores that was in use meanwhile: a low one asks for more workers."""

    unsteady: tuple[str, ...] = ()
    """Tests that failed at first and passed when they were run alone."""


def main(arguments: list[str]) -> int:
    if arguments == ["--list"]:
        print("\n".join(LANES))
        return 0
    unknown = [lane for lane in arguments if lane not in LANES]
    if unknown:
        print(f"error: no lane `{unknown[0]}`; there are {', '.join(LANES)}", file=sys.stderr)
        return 2
    budgets = read_budgets(TABLE.read_text())
    outcomes = []
    for lane in arguments or LANES:
        print(f"\n--- lane {lane} (budget {budgets[lane]} s)", flush=True)
        outcomes.append(run_lane(lane))
        record(outcomes[-1])
    return report(outcomes, budgets)


def run_lane(lane: str) -> Outcome:
    begun, idle = time.monotonic(), idle_seconds()
    commands = CHECKS if lane == "check" else (pytest_command(lane),)
    shutil.rmtree(CACHES / lane, ignore_errors=True)
    results = [run(*command) for command in commands]
    passed = all(results)
    unsteady: tuple[str, ...] = ()
    if not passed and 0 < len(failed := failures(lane)) <= SECOND_LOOKS_MAX:
        print(f"\n--- lane {lane}: once more, alone: {', '.join(failed)}", flush=True)
        passed = all(run("python", "-m", "pytest", "-q", test) for test in failed)
        unsteady = failed if passed else ()
    seconds = time.monotonic() - begun
    busy = 1 - (idle_seconds() - idle) / (seconds * (os.cpu_count() or 1))
    return Outcome(lane, seconds, passed, round(busy, 2), unsteady)


def run(program: str, *arguments: str) -> bool:
    return subprocess.run([str(BIN / program), *arguments], cwd=ROOT, env=environment(), check=False).returncode == 0


def failures(lane: str) -> tuple[str, ...]:
    """What pytest wrote down as failed; nothing if it did not come that far."""
    try:
        return tuple(json.loads((CACHES / lane / "v/cache/lastfailed").read_text()))
    except (OSError, ValueError):
        return ()


def idle_seconds() -> float:
    """Of all cores since the machine started; 0 where the system does not tell."""
    try:
        return int(Path("/proc/stat").read_text().split()[4]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def pytest_command(lane: str) -> tuple[str, ...]:
    paths = [f"tests/{name}" for name in DIRECTORIES[lane] if (ROOT / "tests" / name).is_dir()]
    workers = str(SLEEPY.get(lane, WORKERS))
    cache = ("-o", f"cache_dir={CACHES / lane}")
    return ("python", "-m", "pytest", "-q", "-n", workers, "--durations=3", *cache, *(paths or [f"tests/{lane}"]))


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
        "busy": outcome.busy,
        "unsteady": outcome.unsteady,
    }
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


BAD = ("FAILED", "FAR OVER BUDGET")


def judged(outcome: Outcome, budget: int) -> str:
    if not outcome.passed:
        return "FAILED"
    if outcome.seconds > NOISE * budget:
        return "FAR OVER BUDGET"
    return "over budget" if outcome.seconds > budget else "ok"


def report(outcomes: list[Outcome], budgets: dict[str, int]) -> int:
    print("\nlane              seconds  budget  busy")
    bad = 0
    for outcome in outcomes:
        verdict = judged(outcome, budgets[outcome.lane])
        bad += verdict in BAD
        print(f"{outcome.lane:<17} {outcome.seconds:7.1f}  {budgets[outcome.lane]:6}  {outcome.busy:4.0%}  {verdict}")
    for outcome in outcomes:
        for test in outcome.unsteady:
            print(f"UNSTEADY {test}: it failed in its lane and passed alone; find out why")
    total = sum(outcome.seconds for outcome in outcomes)
    print(
        f"{len(outcomes)} lanes in {total:.0f} s, {bad} bad"
        if bad
        else f"{len(outcomes)} lanes passed in {total:.0f} s"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
