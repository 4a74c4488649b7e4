"""Where a project says that some of its dependencies come from (`[tool.uv.sources]`), as requirements that every resolver reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from outlast.bundle.environment.names import normal
from outlast.bundle.environment.script_block import parse_toml
from outlast.pattern import pattern
from outlast.spec.plain_file import read_plain

PROJECT_BYTES_MAX = 4 << 20

_REQUIREMENT = pattern(r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?P<extras>\[[^\]]*\])?(?P<rest>[^;@]*)(?P<marker>;.*)?")


def with_sources(lines: Sequence[str], document: Mapping[str, Any], directory: Path) -> list[str]:
    """`name>=1` becomes `name @ where it comes from`; what has no source of its own stays as it is."""
    tool = document.get("tool", {})
    settings = tool.get("uv", {}) if isinstance(tool, dict) else {}
    given = settings.get("sources", {}) if isinstance(settings, dict) else {}
    if not isinstance(given, dict) or not given:
        return list(lines)
    places = {normal(str(name)): source for name, source in given.items() if isinstance(source, dict)}
    members = _members(settings, directory)
    return [_line(line, places, members, directory) for line in lines]


def _line(line: str, places: Mapping[str, dict[str, Any]], members: Mapping[str, Path], directory: Path) -> str:
    found = _REQUIREMENT.fullmatch(line)
    source = places.get(normal(found["name"])) if found else None
    if found is None or source is None:
        return line
    url = _url(normal(found["name"]), source, members, directory)
    marker = f" {found['marker']}" if found["marker"] else ""
    return f"{found['name']}{found['extras'] or ''} @ {url}{marker}" if url else line


def _url(name: str, source: Mapping[str, Any], members: Mapping[str, Path], directory: Path) -> str:
    """Empty: an index, which only uv knows by its name."""
    if source.get("workspace") is True and name in members:
        return members[name].as_uri()
    if isinstance(source.get("path"), str):
        return Path(directory, source["path"]).resolve().as_uri()
    if isinstance(source.get("git"), str):
        at = next((str(source[kind]) for kind in ("rev", "tag", "branch") if source.get(kind)), "")
        below = f"#subdirectory={source['subdirectory']}" if source.get("subdirectory") else ""
        return f"git+{source['git']}{f'@{at}' if at else ''}{below}"
    return str(source.get("url", ""))


def _members(settings: Mapping[str, Any], directory: Path) -> dict[str, Path]:
    """The projects of a workspace, by name."""
    workspace = settings.get("workspace", {})
    patterns = workspace.get("members", []) if isinstance(workspace, dict) else []
    return dict(_named(member) for member in _matches(patterns, directory))


def _matches(patterns: Sequence[object], directory: Path) -> Iterator[Path]:
    for one in patterns:
        if isinstance(one, str) and not one.startswith("/"):
            yield from (path.parent for path in directory.glob(f"{one}/pyproject.toml"))


def _named(member: Path) -> tuple[str, Path]:
    try:
        document = parse_toml(read_plain(member / "pyproject.toml", PROJECT_BYTES_MAX).decode())
        name = document["project"]["name"]
    except (OSError, ValueError, KeyError, TypeError):
        name = member.name
    return normal(str(name)), member.resolve()
