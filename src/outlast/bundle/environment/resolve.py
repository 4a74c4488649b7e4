"""From what is declared to wheels in a directory: by uv where there is one, else by pip."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from outlast.bundle.environment import resolve_pip, resolve_uv
from outlast.bundle.environment.declared import Declared
from outlast.bundle.environment.interpreter import Facts
from outlast.bundle.environment.names import name_and_version
from outlast.bundle.environment.platforms import Platform, find_platform
from outlast.dataclass import dataclass
from outlast.errors import UsageError


@dataclass(frozen=True)
class Wheels:
    paths: tuple[Path, ...]
    resolver: str
    """`uv 0.9.1`, `pip 23.2`."""


def resolve(
    declared: Declared,
    *,
    directory: Path,
    python: str,
    facts: Facts,
    scratch: Path,
    cache: Path,
    environ: Mapping[str, str],
    platform: str = "",
) -> Wheels:
    """`platform`: that of the machine, where it is another one than this computer's: then only wheels can be had.

    UsageError: it cannot be resolved; Unreachable: the index cannot be. Whatever is left lies in `scratch`."""
    inputs = _inputs(declared, scratch)
    foreign = find_platform(platform) if platform else None
    out = scratch / "wheels"
    out.mkdir()
    resolver = _by_uv(
        inputs, out, directory=directory, python=python, facts=facts, scratch=scratch, environ=environ, foreign=foreign
    )
    if not resolver:
        resolver = resolve_pip.resolve(
            inputs, out, directory=directory, python=python, facts=facts, cache=cache, environ=environ, foreign=foreign
        )
    paths = tuple(sorted(out.glob("*.whl")))
    _check(paths, declared)
    return Wheels(paths, resolver)


def _by_uv(
    inputs: Sequence[str],
    out: Path,
    *,
    directory: Path,
    python: str,
    facts: Facts,
    scratch: Path,
    environ: Mapping[str, str],
    foreign: Platform | None,
) -> str:
    """Empty: there is none that we can use."""
    uv = resolve_uv.find_uv(environ, python)
    if uv is None:
        return ""
    try:
        return resolve_uv.resolve(
            uv, inputs, out, directory=directory, facts=facts, scratch=scratch, environ=environ, foreign=foreign
        )
    except resolve_uv.TooOld:
        return ""


def _inputs(declared: Declared, scratch: Path) -> list[str]:
    """As arguments that both resolvers take."""
    words: list[str] = []
    if declared.lines:
        (scratch / "declared.in").write_text("\n".join([*declared.lines, ""]))
        words += ["-r", str(scratch / "declared.in")]
    for path in declared.files:
        words += ["-r", str(path)]
    if declared.constraints:
        (scratch / "constraints.in").write_text("\n".join([*declared.constraints, ""]))
        words += ["-c", str(scratch / "constraints.in")]
    return words


def _check(paths: Sequence[Path], declared: Declared) -> None:
    """One wheel for each package, and what a lock names is what it was when it was locked."""
    seen: dict[str, str] = {}
    for path in paths:
        name, _ = name_and_version(path.name)
        if name in seen:
            raise UsageError(f"`{name}` was resolved twice: `{seen[name]}` and `{path.name}`")
        seen[name] = path.name
        locked = declared.hashes.get(path.name)
        if locked and hashlib.sha256(path.read_bytes()).hexdigest() != locked:
            raise UsageError(
                f"`{path.name}` is not the file that `uv.lock` names",
                hint="`uv lock` again, or look at what the index has become",
            )
