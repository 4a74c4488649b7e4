"""Which Python runs the script: the user's, never the one that this tool happens to live in."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from outlast.dataclass import dataclass
from outlast.errors import NotFound, UsageError
from outlast.pattern import pattern
from outlast.spec.plain_file import read_plain

VERSION_MIN = (3, 10)
ASK_SECONDS_MAX = 30.0
REMEMBERED_MAX = 50
REMEMBERED_BYTES_MAX = 1 << 20

_QUESTION = "import sys; print('.'.join(map(str, sys.version_info[:3])), sys.executable)"
_VERSION = pattern(r"\s*version(?:_info)?\s*=\s*(\d+\.\d+(?:\.\d+)?)")
_ASKED_VERSION = pattern(r"3\.\d+(?:\.\d+)?")
_VERSIONED_NAME = pattern(r"python(3\.\d+)")
_CONDA_RECORD = pattern(r"python-(3\.\d+\.\d+)-.*\.json")


@dataclass(frozen=True)
class Interpreter:
    path: str
    """Absolute, and not resolved: an environment is known by the name through which its Python is started."""

    why: str
    """`$VIRTUAL_ENV`, `$CONDA_PREFIX`, `.venv`, `python3 on the PATH`: what is printed."""

    version: str
    is_environment: bool = True
    """Somebody has made it for this work, and its packages are meant; false for whatever `python3` is on the PATH."""


def choose_python(
    directory: Path, environ: Mapping[str, str], *, cache: Path | None = None, asked: str = ""
) -> Interpreter:
    """What was asked for; else the first of `$VIRTUAL_ENV`, `$CONDA_PREFIX`, `.venv` in the directory, `python3` on the PATH.

    With a cache, an interpreter that had to be run to learn its version is run once.
    """
    path, why = _asked_for(asked, directory, environ) if asked else _choose(directory, environ)
    known = _version_by_files(path)
    if known is None or _is_script(path):
        known, path = _ask(path, cache)
    if _numbers(known) < VERSION_MIN:
        raise UsageError(
            f"`{path}` ({why}) is Python {known}; jobs need {VERSION_MIN[0]}.{VERSION_MIN[1]} or newer",
            hint="activate a newer environment, or make one: `python3.11 -m venv .venv`",
        )
    return Interpreter(path, why, known, _is_environment(path))


def _is_environment(path: str) -> bool:
    prefix = Path(path).parent.parent
    return os.path.lexists(prefix / "pyvenv.cfg") or os.path.lexists(prefix / "conda-meta")


def _asked_for(asked: str, directory: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """`--python`: a path, or a version that is on the PATH or that uv knows of."""
    why = f"--python {asked}"
    if not _ASKED_VERSION.fullmatch(asked):
        path = directory / Path(asked).expanduser()
        for one in (path, path / "bin" / "python"):
            if one.is_file() and os.access(one, os.X_OK):
                return str(one.absolute()), why
        raise NotFound(f"`{why}`: there is no such interpreter", hint="`--python 3.11` takes what is on the PATH")
    minor = ".".join(asked.split(".")[:2])
    folders = [*environ.get("PATH", os.defpath).split(os.pathsep), *_pyenv_folders(asked, environ)]
    on_path = (os.path.join(folder, f"python{minor}") for folder in folders)
    for found in on_path:
        if os.path.isabs(found) and os.access(found, os.X_OK) and _answers(found, asked):
            return found, why
    import shutil
    import subprocess

    uv = shutil.which("uv", path=environ.get("PATH", os.defpath))
    if uv is not None:
        words = [uv, "python", "find", "--no-python-downloads", asked]
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode == 0 and os.path.isabs(done.stdout.strip()):
            return done.stdout.strip(), why
    raise NotFound(
        f"`{why}`: there is no `python{minor}` on the PATH", hint=f"`uv python install {asked}`, or name it by its path"
    )


def _pyenv_folders(version: str, environ: Mapping[str, str]) -> list[str]:
    root = Path(environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")) / "versions"
    return [str(folder) for folder in sorted(root.glob(f"{version}*/bin"), reverse=True)]


def _answers(path: str, version: str) -> bool:
    """A shim may stand for a version that is not there."""
    import subprocess  # most interpreters are known by files of theirs, and none is started

    try:
        done = subprocess.run(
            [path, "-I", "-c", _QUESTION],
            capture_output=True,
            check=False,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=ASK_SECONDS_MAX,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0 and f"{done.stdout.split()[0]}.".startswith(f"{version}.")


def _choose(directory: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    active = environ.get("VIRTUAL_ENV")
    if active:
        found = _python_in(Path(active))
        if found is None:
            raise UsageError(
                f"`$VIRTUAL_ENV` is `{active}`, and there is no Python in it", hint="`deactivate`, or make it again"
            )
        return found, "$VIRTUAL_ENV"
    conda = environ.get("CONDA_PREFIX")
    if conda and (found := _python_in(Path(conda))):
        return found, "$CONDA_PREFIX"
    if found := _python_in(directory.absolute() / ".venv"):
        return found, ".venv"
    on_path = list(_on_path(environ))
    for found in on_path:
        if not _is_own(found):
            return found, "python3 on the PATH"
    if on_path:
        return on_path[0], "python3 on the PATH, outlast's own as there is no other"
    raise NotFound(
        "there is no Python for the job: no `$VIRTUAL_ENV`, no `$CONDA_PREFIX`, no `.venv`, no `python3` on the PATH",
        hint="`python3 -m venv .venv` makes an environment here",
    )


def _python_in(environment: Path) -> str | None:
    for name in ("python", "python3"):
        path = environment / "bin" / name
        if os.access(path, os.X_OK) and path.is_file():
            return str(path.absolute())
    return None


def _on_path(environ: Mapping[str, str]) -> Iterator[str]:
    for name in ("python3", "python"):
        for directory in environ.get("PATH", os.defpath).split(os.pathsep):
            path = os.path.join(directory, name)
            if directory and os.path.isfile(path) and os.access(path, os.X_OK):
                yield os.path.abspath(path)


def _is_own(path: str) -> bool:
    """Whether it is of the environment in which this tool was installed, by pipx or uv perhaps. A system's Python is everybody's."""
    if sys.prefix == sys.base_prefix:
        return False
    return os.path.realpath(os.path.dirname(os.path.dirname(path))) == os.path.realpath(sys.prefix)


def _version_by_files(path: str) -> str | None:
    """Without running it: from the environment's own records, or from the name of what it is a link to."""
    prefix = Path(path).parent.parent
    try:
        for line in (prefix / "pyvenv.cfg").read_text(errors="replace").splitlines():
            if found := _VERSION.match(line):
                return found[1]
    except OSError:
        pass
    try:
        records = [found[1] for name in os.listdir(prefix / "conda-meta") if (found := _CONDA_RECORD.fullmatch(name))]
    except OSError:
        records = []
    if records:
        return records[0]
    named = _VERSIONED_NAME.fullmatch(os.path.basename(os.path.realpath(path)))
    return named[1] if named else None


def _is_script(path: str) -> bool:
    """A shim, as pyenv's: which Python it starts depends on where it is called."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _ask(path: str, cache: Path | None) -> tuple[str, str]:
    """(version, the real interpreter's path)."""
    status = os.stat(path)
    key = f"{path} {status.st_mtime_ns} {status.st_size} {_shim_choice(path) if _is_script(path) else ''}"
    remembered = _recall(cache)
    if key in remembered and os.path.exists(remembered[key][1]):
        return remembered[key]
    import subprocess

    try:
        done = subprocess.run(
            [path, "-I", "-c", _QUESTION],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ASK_SECONDS_MAX,
            check=True,
        )
        version, _, executable = done.stdout.strip().partition(" ")
        _numbers(version)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise UsageError(f"`{path}` does not run: {error}", hint="activate another environment") from error
    answer = (version, executable if _is_script(path) and os.path.isabs(executable) else path)
    _remember(cache, {**remembered, key: answer})
    return answer


def _shim_choice(path: str) -> str:
    """All that decides what a shim of pyenv or asdf starts: where it is called, and what the files there say."""
    here = Path.cwd()
    files = [folder / name for folder in (here, *here.parents) for name in (".python-version", ".tool-versions")]
    files.append(Path(path).parent.parent / "version")
    said = [file.read_text(errors="replace").strip() for file in files if file.is_file()]
    return " ".join([str(here), os.environ.get("PYENV_VERSION", ""), *said])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3])


def _recall(cache: Path | None) -> dict[str, tuple[str, str]]:
    try:
        known = json.loads(read_plain(cache / "pythons.json", REMEMBERED_BYTES_MAX)) if cache is not None else {}
        return {str(key): (str(version), str(path)) for key, (version, path) in known.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _remember(cache: Path | None, known: Mapping[str, tuple[str, str]]) -> None:
    if cache is None:
        return
    newest = dict(list(known.items())[-REMEMBERED_MAX:])
    temporary = cache / f".pythons-{os.getpid()}"
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(json.dumps(newest))
        temporary.replace(cache / "pythons.json")
    except OSError:
        pass  # asked again next time
