"""`make bench`: every promise about speed, measured against its yardstick in the same run; writes bench/RESULTS.md."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import Row, machine

ROOT = Path(__file__).resolve().parent.parent

MODULES = (
    "startup",
    "jobs",
    "jobs_many",
    "bundle",
    "environments",
    "containers",
    "push",
    "agent_cost",
    "stall",
    "peers",
    "emulator",
    "cloud_storage",
    "rented",
    "sweep",
)


def main() -> int:
    """Without names all groups, and the table; with names only those, and no table."""
    chosen = sys.argv[1:] or MODULES
    if wrong := [name for name in chosen if name not in MODULES]:
        asked = {"-h", "--help"} & {*wrong}
        say = "usage: python -m bench.bench [GROUP...]" if asked else f"error: there is no group `{wrong[0]}`"
        print(
            f"{say}\n\nhint: the groups are {', '.join(f'`{name}`' for name in MODULES)}; none named: all of them",
            file=sys.stderr,
        )
        return 0 if asked else 2
    rows: list[Row] = []
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix=f"outlast-bench-{name}-") as scratch:
            module = importlib.import_module(f"bench.{name}")
            for row in module.rows(Path(scratch)):
                print(
                    f"{'held  ' if row.held else 'MISSED'}  {row.what}: {row.ours}  {row.against}  {row.ratio}  (at most {row.limit})"
                )
                rows.append(row)
    if not sys.argv[1:]:
        (ROOT / "bench" / "RESULTS.md").write_text(page(rows))
    return 0 if all(row.held for row in rows) else 1


def page(rows: list[Row]) -> str:
    version = subprocess.run(
        [sys.executable, "-c", "import outlast; print(outlast.__version__)"], capture_output=True, text=True, check=True
    )
    lines = [
        "# What was measured",
        "",
        f"outlast {version.stdout.strip()}, {time.strftime('%Y-%m-%d', time.gmtime())}, on {machine()}.",
        "Medians of ten, both sides in turns, in one run of `make bench`. Ratios travel between machines, milliseconds do not.",
        "",
        "| what | outlast | against | ratio | at most | held |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        held = "yes" if row.held else "**no**"
        lines.append(f"| {row.what} | {row.ours} | {row.against} | {row.ratio} | {row.limit} | {held} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
