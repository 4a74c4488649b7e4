"""Which packages a job declares, and where: options, the script's own block, pyproject.toml with uv.lock, requirements.txt, setup.py."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from outlast.bundle.environment import requirement_files
from outlast.bundle.environment.names import normal
from outlast.bundle.environment.script_block import parse_toml, read_block
from outlast.bundle.environment.sources import with_sources
from outlast.dataclass import dataclass
from outlast.errors import NotFound, UsageError
from outlast.pattern import pattern
from outlast.spec.plain_file import read_plain

PYPROJECT, LOCK, REQUIREMENTS = "pyproject.toml", "uv.lock", "requirements.txt"
PROJECT_BYTES_MAX = 4 << 20
LOCK_BYTES_MAX = 64 << 20
OURS = "outlast"
"""Every trainer has it, in the version that submitted it: it is not asked for."""

_NAME = pattern(r"[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class Declared:
    source: str
    """For people: the files' names."""

    lines: tuple[str, ...] = ()
    """Requirements, one each."""

    files: tuple[Path, ...] = ()
    """Requirement files, as they lie there."""

    constraints: tuple[str, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    """Wheels that a lock names, by file name -> sha256."""

    requires_python: str = ""
    content: str = ""
    """Equal content, equal environment: the digest of all of the above, and of the files' contents."""

    paths: tuple[str, ...] = ()
    """Directories of the bundle in which the project's own packages lie."""


def declared_explicitly(
    directory: Path, script: str, requirements: Sequence[str], extras: Sequence[str], variant: str = ""
) -> Declared | None:
    """What somebody wrote down for this very job: options first, then the script's own block; None: nothing.

    `variant`: `cpu` or `gpu`: an extra of the project's that is called so belongs to its images.
    """
    if requirements or extras:
        named = [_file(directory, one) for one in requirements]
        from_project = _project(directory, extras, variant) if extras else None
        return _joined(named, list(requirements), from_project)
    if script.endswith(".py"):
        block = read_block(directory / script)
        if block is not None:
            source = f"{script} (PEP 723)"
            return _of(source, lines=block.dependencies, requires_python=block.requires_python)
    return None


def declared_around(directory: Path, variant: str = "") -> Declared | None:
    """What lies in the directory: pyproject.toml, with uv.lock if there is one; else requirements.txt; else setup.py; None: nothing."""
    if (directory / PYPROJECT).is_file():
        project = _project(directory, (), variant, PYPROJECT)
        if project is not None:
            return project
    if (directory / REQUIREMENTS).is_file():
        found = _joined([directory / REQUIREMENTS], [REQUIREMENTS], None)
        return found if requirement_files.has_any(directory / REQUIREMENTS) else None
    return _project(directory, (), variant)


def with_line(declared: Declared, line: str, why: str) -> Declared:
    """One requirement more; `why`: the option that needs it."""
    parts = ["outlast declaration 1", declared.content, line]
    digest = hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()
    source = f"{declared.source}, {why}" if declared.source else why
    return replace(declared, source=source, lines=(*declared.lines, line), content=digest)


def _joined(files: list[Path], names: list[str], project: Declared | None) -> Declared:
    lines, constraints = (project.lines, project.constraints) if project else ((), ())
    contents = [requirement_files.content_of(path) for path in files]
    return _of(
        ", ".join([*names, *([project.source] if project else [])]),
        lines=lines,
        constraints=constraints,
        files=tuple(files),
        contents=contents,
        hashes=project.hashes if project else {},
        requires_python=project.requires_python if project else "",
        paths=project.paths if project else (),
    )


def _of(
    source: str,
    *,
    lines: Sequence[str],
    constraints: Sequence[str] = (),
    files: tuple[Path, ...] = (),
    contents: Sequence[str] = (),
    hashes: Mapping[str, str] | None = None,
    requires_python: str = "",
    paths: tuple[str, ...] = (),
) -> Declared:
    lines = [line for line in lines if normal("".join(_NAME.findall(line)[:1])) != OURS]
    local = [requirement_files.local_content(line, Path("/")) for line in lines]
    parts = ["outlast declaration 1", *lines, "", *constraints, "", *contents, "", *local]
    digest = hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()
    return Declared(source, tuple(lines), files, tuple(constraints), hashes or {}, requires_python, digest, paths)


def _file(directory: Path, text: str) -> Path:
    path = Path(os.path.normpath(directory / text))
    if not path.is_file():
        near = sorted(one.name for one in directory.glob("*requirements*.txt"))[:3]
        hint = " or ".join(f"`--requirements {one}`" for one in near) or "name a file that pip can read"
        raise NotFound(f"`--requirements {text}`: there is no such file", hint=hint)
    return path


def _project(directory: Path, extras: Sequence[str], variant: str = "", only: str = "") -> Declared | None:
    """None: it declares nothing, and nothing was asked of it. `only`: the one file that is looked at."""
    source, document, project = _table(directory, extras, only)
    if project is None or ("dependencies" not in project and not extras):
        return None
    lines = _strings(project.get("dependencies", []), "dependencies", source)
    optional = project.get("optional-dependencies", {})
    optional = optional if isinstance(optional, dict) else {}
    known = {normal(str(name)): value for name, value in optional.items()}
    if variant in known and variant not in map(normal, extras):
        extras = (variant, *extras)
    for extra in extras:
        if normal(extra) not in known:
            legal = ", ".join(f"`{name}`" for name in sorted(optional)) or "none"
            raise UsageError(f"`{source}` has no extra `{extra}`", hint=f"the extras are {legal}")
        lines += _strings(known[normal(extra)], f"optional-dependencies.{extra}", source)
    own = normal(str(project.get("name", "")))
    lines = with_sources(_without_own(lines, own, known), document, directory)
    if not lines and not extras:
        return None
    constraints, hashes = _lock(directory / LOCK, own) if (directory / LOCK).is_file() else ([], {})
    return _of(
        source + (f" [{','.join(extras)}]" if extras else "") + (f", {LOCK}" if constraints else ""),
        lines=lines,
        constraints=constraints,
        hashes=hashes,
        requires_python=str(project.get("requires-python", "")),
        paths=_own_paths(directory, own),
    )


def _table(directory: Path, extras: Sequence[str], only: str) -> tuple[str, dict[str, Any], dict[str, Any] | None]:
    """(the file's name, all of it, its `[project]` table): of pyproject.toml if that says what the project needs, else of setup.py."""
    document = _toml(directory / PYPROJECT, PROJECT_BYTES_MAX) if (directory / PYPROJECT).is_file() else {}
    project = document.get("project")
    if isinstance(project, dict) and ("dependencies" in project or "optional-dependencies" in project):
        return PYPROJECT, document, project
    if only != PYPROJECT and any((directory / name).is_file() for name in ("setup.py", "setup.cfg")):
        from outlast.bundle.environment.setup_py import SETUP_PY, Computed, read_setup

        try:
            source, table = read_setup(directory)
        except Computed:
            if not extras:
                return SETUP_PY, {}, None  # what lies around and cannot be read is not obeyed
            raise UsageError(
                f"`--extras {','.join(extras)}`: `{SETUP_PY}` works out what it needs, and is not run here",
                hint=f"write it down in `{PYPROJECT}`, or in a file for `--requirements`",
            ) from None
        return source, {}, table
    if extras and isinstance(project, dict):
        return PYPROJECT, document, project
    if extras and document:
        raise UsageError(f"`{PYPROJECT}` has no `[project]` table", hint="`--requirements FILE` takes a file")
    if extras:
        raise NotFound(
            f"`--extras {','.join(extras)}`: there is no `{PYPROJECT}` in `{directory}`",
            hint="`--requirements FILE` takes a requirements file",
        )
    return PYPROJECT, document, None


def _without_own(lines: list[str], own: str, known: Mapping[str, Any]) -> list[str]:
    """`all = ["mylib[train,plot]"]`: extras that name the project's own extras are those extras."""
    found: list[str] = []
    for line in lines:
        name, _, rest = line.partition("[")
        if own and normal(name.strip()) == own and "]" in rest:
            for extra in rest.partition("]")[0].split(","):
                found += _strings(known.get(normal(extra.strip()), []), f"optional-dependencies.{extra}", PYPROJECT)
        else:
            found.append(line)
    return list(dict.fromkeys(found))


def _own_paths(directory: Path, own: str) -> tuple[str, ...]:
    name = own.replace("-", "_")
    return tuple(
        one
        for one in ("src", ".")
        if name and ((directory / one / name).is_dir() or (directory / one / f"{name}.py").is_file())
    )


def _lock(path: Path, own: str) -> tuple[list[str], dict[str, str]]:
    """Exact versions of what is locked once; of what is locked twice, for two platforms perhaps, the resolver chooses."""
    versions: dict[str, set[str]] = {}
    hashes: dict[str, str] = {}
    packages = _toml(path, LOCK_BYTES_MAX).get("package", [])
    for package in packages if isinstance(packages, list) else ():
        source = package.get("source", {}) if isinstance(package, dict) else {}
        if "registry" not in source:
            continue
        versions.setdefault(normal(str(package.get("name", ""))), set()).add(str(package.get("version", "")))
        for wheel in package.get("wheels", []):
            name = str(wheel.get("url", wheel.get("path", ""))).rpartition("/")[2]
            if str(wheel.get("hash", "")).startswith("sha256:"):
                hashes[unquote(name)] = str(wheel["hash"]).removeprefix("sha256:")
    once = {name: min(those) for name, those in sorted(versions.items()) if len(those) == 1 and name != own}
    return [f"{name}=={version}" for name, version in once.items()], hashes


def _toml(path: Path, bytes_max: int) -> dict[str, Any]:
    try:
        return parse_toml(read_plain(path, bytes_max).decode())
    except (OSError, ValueError) as error:
        raise UsageError(f"`{path.name}` cannot be read: {error}", hint=f"`{path}` must be TOML") from error


def _strings(value: object, where: str, source: str) -> list[str]:
    if isinstance(value, list) and all(isinstance(one, str) and "\n" not in one for one in value):
        return list(value)
    raise UsageError(f"`{where}` in `{source}` is no list of requirements", hint='write `["numpy>=2", "pandas"]`')
