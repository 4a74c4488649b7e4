"""What to run: a `.py` file, a module or a shell script, inside the directory that becomes the bundle."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from outlast.errors import Denied, NotFound, UsageError
from outlast.pattern import pattern
from outlast.spec.names import shown
from outlast.spec.spec import Target, TargetKind

SUFFIXES = (".py", ".sh", ".bash")
FORMS = "a target is a `.py` file, a module (`pkg.train`) or a shell script (`run.sh`)"

NEAR_FILES_SEEN_MAX = 5000
"""How many names are looked at for a near miss: an error must not walk a data set."""

NEAR_DEPTH_MAX = 3
NEAR_RATIO_MIN = 0.65
NEAR_PASSED_OVER = (".", "__", "venv", "node_modules")

_MODULE = pattern(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_SHEBANG = pattern(rb"#!\s*\S*?(?:\S*/env\s+(?:-S\s+)?)?(?P<name>[^/\s]+)(?:\s|$)")


def parse_target(text: str, directory: Path) -> Target:
    """The target, seen to be there. Errors name what lies near."""
    _check_text(text)
    if not _MODULE.fullmatch(text) or text.endswith(SUFFIXES):
        return _file_target(text, directory)
    module = directory.joinpath(*text.split("."))
    if os.path.isfile(f"{module}.py") or os.path.isfile(module / "__main__.py"):
        return Target(TargetKind.MODULE, text)
    if os.path.isfile(module / "__init__.py"):
        raise UsageError(
            f"the package `{text}` has no `__main__.py`, so it cannot be run",
            hint=f"name one of its modules: `{text}.MODULE`",
        )
    return _file_target(text, directory)


def _check_text(text: str) -> None:
    if not text or "\0" in text:
        raise UsageError(f"{shown(text)} is no target", hint=FORMS)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the name {shown(text)} is not UTF-8", hint="give the script a plain name") from None


def _file_target(text: str, directory: Path) -> Target:
    path = Path(os.path.normpath(os.path.join(os.path.abspath(directory), text)))
    if not os.path.lexists(path):
        raise _not_found(text, directory)
    inside = path_inside(path, directory)
    if inside is None:
        raise UsageError(
            f"{shown(text)} lies outside of `{directory}`, and only that directory is shipped",
            hint=f"`cd {path.parent}` and run `{path.name}` there",
        )
    if path.is_dir():
        raise _directory_given(text, path, inside)
    if path.exists() and not path.is_file():
        raise UsageError(f"{shown(text)} is no file", hint=FORMS)  # a pipe would have us wait
    return Target(_kind(text, path), inside)


def path_inside(path: Path, directory: Path) -> str | None:
    """The path within the directory: by name first, as a link is a file of the bundle too; then by where both are, since a Mac's
    `/tmp` and `/var` are links. None: it lies outside."""
    for one, root in ((Path(os.path.normpath(path)), directory.absolute()), (path.resolve(), directory.resolve())):
        try:
            return one.relative_to(os.path.normpath(root)).as_posix()
        except ValueError:
            continue
    return None


def _directory_given(text: str, path: Path, inside: str) -> UsageError:
    if (path / "__main__.py").is_file() and inside != ".":
        return UsageError(f"{shown(text)} is a directory", hint=f"as a module it is `{inside.replace('/', '.')}`")
    scripts = sorted(one.name for one in path.glob("*.py"))[:5]
    named = ", ".join(f"`{Path(inside, name).as_posix()}`" for name in scripts)
    return UsageError(f"{shown(text)} is a directory", hint=f"it holds {named}" if named else FORMS)


def _kind(text: str, path: Path) -> TargetKind:
    try:
        with path.open("rb") as script:
            first = script.readline(200)
    except FileNotFoundError:
        raise NotFound(f"{shown(text)} is a link to nothing", hint=f"`ls -l {path}`") from None
    except PermissionError as error:
        raise Denied(f"{shown(text)} cannot be read", hint=f"`chmod u+r {path}`") from error
    if path.suffix == ".py":
        return TargetKind.SCRIPT
    if path.suffix in SUFFIXES:
        return TargetKind.SHELL
    if path.suffix == ".ipynb":
        raise UsageError(f"{shown(text)} is a notebook", hint=f"`jupyter nbconvert --to script {path.name}`")
    interpreter = _SHEBANG.match(first)
    if interpreter and re.fullmatch(rb"python[0-9.]*", interpreter["name"]):
        return TargetKind.SCRIPT
    if interpreter and interpreter["name"] in (b"sh", b"bash", b"dash", b"zsh", b"ksh"):
        return TargetKind.SHELL
    raise UsageError(f"{shown(text)} is neither Python nor a shell script", hint=FORMS)


def _not_found(text: str, directory: Path) -> NotFound:
    near = _near(text, directory)
    if near:
        guess = " or ".join(f"`{one}`" for one in near)
        return NotFound(f"no {shown(text)} in `{directory}`", hint=f"did you mean {guess}?")
    if _MODULE.fullmatch(text) and not text.endswith(SUFFIXES):
        hint = f"{FORMS}; to run a module of an installed package, call it from a script"
    else:
        hint = f"{FORMS}, inside the directory that you stand in"
    return NotFound(f"no {shown(text)} in `{directory}`", hint=hint)


def _near(text: str, directory: Path) -> list[str]:
    """Scripts with the same name elsewhere first, then names that are alike."""
    from difflib import get_close_matches

    seen = list(_scripts(directory))
    name = text.rstrip("/").rpartition("/")[2]
    as_file = name if name.endswith(SUFFIXES) else name.rpartition(".")[2] + ".py"
    same = [path for path in seen if path.rpartition("/")[2].lower() == as_file.lower()]
    stems: dict[str, list[str]] = {}
    for path in seen:
        stems.setdefault(os.path.splitext(path.rpartition("/")[2])[0], []).append(path)
    # `slow.pyy` is like `slow.py` by what stands before its dot, `package.slow` by what stands behind it.
    typed = dict.fromkeys([os.path.splitext(as_file)[0], os.path.splitext(name)[0]])
    alike = [one for stem in typed for one in get_close_matches(stem, stems, n=3, cutoff=NEAR_RATIO_MIN)]
    return list(dict.fromkeys([*same, *(path for one in alike for path in stems[one])]))[:3]


def _scripts(directory: Path) -> Iterator[str]:
    looked = 0
    for at, directories, files in os.walk(directory):
        inside = os.path.relpath(at, directory)
        directories[:] = sorted(one for one in directories if not one.startswith(NEAR_PASSED_OVER))
        if inside.count("/") >= NEAR_DEPTH_MAX - 1:
            directories.clear()
        for name in sorted(files):
            looked += 1
            if looked > NEAR_FILES_SEEN_MAX:
                return
            if name.endswith(SUFFIXES) and name.isprintable():
                yield os.path.normpath(os.path.join(inside, name))
