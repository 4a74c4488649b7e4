"""The block in which a script says what it needs (PEP 723)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.plain_file import read_plain

SCRIPT_BYTES_MAX = 4 << 20

_BLOCK = pattern(
    r"^# /// (?P<type>[a-zA-Z0-9-]+)[ \t]*\r?$\n(?P<content>(?:^#(?:| .*)\r?$\n)+?)^# ///[ \t]*\r?$", re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    dependencies: tuple[str, ...]
    requires_python: str = ""


def read_block(script: Path) -> Block | None:
    """None: the script has no such block, or it says nothing of packages."""
    try:
        data = read_plain(script, SCRIPT_BYTES_MAX)
    except OSError:
        return None
    if b"# /// script" not in data:
        return None
    found = [one for one in _BLOCK.finditer(data.decode(errors="replace") + "\n") if one["type"] == "script"]
    if not found:
        return None
    if len(found) > 1:
        raise UsageError(f"`{script.name}` has {len(found)} blocks `# /// script`", hint="join them in one")
    lines = found[0]["content"].splitlines()
    text = "\n".join(line.removeprefix("# ") if line.startswith("# ") else line[1:] for line in lines)
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise UsageError(
            f"the block `# /// script` of `{script.name}` is not TOML: {error}",
            hint='it looks like `# dependencies = ["numpy>=2"]`',
        ) from error
    dependencies = document.get("dependencies")
    if dependencies is None and "requires-python" not in document:
        return None
    dependencies = dependencies or []
    if not isinstance(dependencies, list) or not all(isinstance(one, str) for one in dependencies):
        raise UsageError(
            f"`dependencies` in the block of `{script.name}` is no list", hint='it looks like `["numpy>=2", "pandas"]`'
        )
    return Block(tuple(dependencies), str(document.get("requires-python", "")))


def parse_toml(text: str) -> dict[str, Any]:
    """ValueError if it is none."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return document
