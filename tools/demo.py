"""Runs `make demo`: the drill of examples/demo. `demo.py --record` also writes its transcript into README.md.

The jobs go to build/demo, not to the user's own directory.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "demo"
USER_DIR = ROOT / "build" / "demo"
README = ROOT / "README.md"

COMMAND = ("outlast", "drill", "--seed", "7", "train.py")

TRANSCRIPT = re.compile(r"(<!-- transcript: tools/demo.py --record -->\n```text\n)(.*?)(```\n<!-- end -->)", re.DOTALL)


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--record"]):
        print("usage: demo.py [--record]", file=sys.stderr)
        return 2
    first_line = f"$ {' '.join(COMMAND)}\n"
    sys.stdout.write(first_line)
    sys.stdout.flush()
    code, text = run()
    if arguments and code == 0:
        record(first_line + text)
    return code


def run() -> tuple[int, str]:
    """Both streams in the order in which they were written, shown as they come."""
    USER_DIR.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "OUTLAST_DIR": str(USER_DIR), "OUTLAST_HOME": str(USER_DIR / "home")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    program = shutil.which(COMMAND[0], path=str(Path(sys.executable).parent)) or COMMAND[0]
    lines: list[str] = []
    with subprocess.Popen(
        [program, *COMMAND[1:]],
        cwd=EXAMPLE,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            sys.stdout.write(line)
            sys.stdout.flush()
    return process.returncode, "".join(lines)


def record(transcript: str) -> None:
    """Between the two marks of README.md; where this clone lies is nobody's business."""
    shown = transcript.replace(str(ROOT), "~/outlast")
    text = README.read_text()
    if not TRANSCRIPT.search(text):
        raise SystemExit("error: README.md has no marks for the transcript")
    README.write_text(TRANSCRIPT.sub(lambda match: match.group(1) + shown + match.group(3), text))
    print("\nRecorded in README.md", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
