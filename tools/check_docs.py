"""Checks every Markdown file: links lead somewhere, and each `outlast` command that is named exists."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "src" / "outlast" / "cli" / "pages"

FENCE = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", flags=re.MULTILINE)
COMMAND = re.compile(r"(?:`|^\$ )outlast ([a-z][a-z-]*)", flags=re.MULTILINE)


def main() -> int:
    files = markdown_files()
    problems = [problem for path in files for problem in problems_of(path)]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if not problems:
        print(f"{len(files)} documents are in order")
    return 1 if problems else 0


def markdown_files() -> list[Path]:
    """Those that git knows, or would know: what lies in build directories is nobody's document."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [ROOT / name for name in sorted(listed) if (ROOT / name).exists()]


def problems_of(path: Path) -> Iterator[str]:
    text = path.read_text()
    name = path.relative_to(ROOT)
    for target in LINK.findall(FENCE.sub("", text)):
        if "://" not in target and not target.startswith("mailto:") and not leads_somewhere(path, target):
            yield f"`{name}` links to `{target}`, which is not there"
    known = {page.stem for page in PAGES.glob("*.txt")}
    for command in sorted(set(COMMAND.findall(text)) - known):
        yield f"`{name}` names the command `outlast {command}`, which does not exist"


def leads_somewhere(path: Path, target: str) -> bool:
    file_part, _, anchor = target.partition("#")
    file = (path.parent / file_part).resolve() if file_part else path
    if not file.exists():
        return False
    return not anchor or (file.suffix == ".md" and anchor in anchors(file.read_text()))


def anchors(text: str) -> set[str]:
    """The anchors that GitHub makes of headings."""
    headings = HEADING.findall(FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


if __name__ == "__main__":
    sys.exit(main())
