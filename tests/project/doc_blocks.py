"""The code blocks of a Markdown page, and how those that are marked as runnable are run.

- ```python file=train.py       is written to that file (any language)
- ```console runnable           its `$ ` lines are run by a shell, in order, in the page's scratch directory; lines below
                                a command are what it must print, with `...` for anything; `exit=1` expects that code
- anything else                 is only shown
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)?([^\n]*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
COMMAND_SECONDS_MAX = 120


@dataclass(frozen=True)
class Block:
    language: str
    marks: frozenset[str]
    text: str

    @property
    def file(self) -> str:
        return next((mark.removeprefix("file=") for mark in self.marks if mark.startswith("file=")), "")

    @property
    def exit_code(self) -> int:
        return next((int(mark.removeprefix("exit=")) for mark in self.marks if mark.startswith("exit=")), 0)

    @property
    def runnable(self) -> bool:
        return "runnable" in self.marks


@dataclass
class Step:
    command: str
    output: list[str] = field(default_factory=list)


def blocks(text: str) -> list[Block]:
    return [Block(language, frozenset(marks.split()), body) for language, marks, body in BLOCK.findall(text)]


def steps(text: str) -> Iterator[Step]:
    """The commands of a console block, each with the lines that it should print."""
    step: Step | None = None
    for line in text.splitlines():
        if line.startswith("$ "):
            if step is not None:
                yield step
            step = Step(line[2:])
        elif step is not None:
            step.output.append(line)
    if step is not None:
        yield step


def run_page(text: str, directory: Path, environment: dict[str, str]) -> int:
    """Writes files and runs commands, top to bottom; answers how many commands were run."""
    count = 0
    for block in blocks(text):
        if block.file:
            (directory / block.file).write_text(block.text)
        if block.runnable:
            for step in steps(block.text):
                run_step(step, block.exit_code, directory, environment)
                count += 1
    return count


def run_step(step: Step, exit_code: int, directory: Path, environment: dict[str, str]) -> None:
    ended = subprocess.run(
        ["bash", "-c", step.command],
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=COMMAND_SECONDS_MAX,
    )
    said = f"$ {step.command}\n{ended.stdout}{ended.stderr}"
    assert ended.returncode == exit_code, said
    if step.output:
        assert fits(ended.stdout, step.output), said


def fits(printed: str, expected: list[str]) -> bool:
    pattern = r"\n".join(re.escape(line).replace(r"\.\.\.", ".*") for line in expected)
    return re.fullmatch(pattern, printed.rstrip("\n"), flags=re.DOTALL) is not None
