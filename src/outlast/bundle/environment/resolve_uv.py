"""By uv: it resolves to a lock with URLs and hashes; we download what that names, and uv builds what has no wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from outlast.bundle.environment.interpreter import Facts
from outlast.bundle.environment.names import name_and_version
from outlast.bundle.environment.platforms import Platform, hint_for
from outlast.bundle.environment.script_block import parse_toml
from outlast.bundle.environment.tool import Said, essence, run_tool
from outlast.errors import OutlastError, Unreachable, UsageError

if TYPE_CHECKING:
    from outlast.bundle.environment.fetch import Fetcher, Wanted

VERSION_MIN = (0, 7)

EXIT_UNSOLVABLE = 1
"""uv's exit code where it has understood everything, and there is no solution; above, something did not work."""

PIP_SETTINGS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX")
UV_SETTINGS = (
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_NO_INDEX",
    "UV_CONFIG_FILE",
)
STATE = "nothing was submitted, nothing is being spent"


def find_uv(environ: Mapping[str, str], python: str) -> str | None:
    """On the PATH, beside this tool, beside the job's Python. None too where somebody has told pip, and only pip, where packages are."""
    told = any(environ.get(name) for name in PIP_SETTINGS)
    if told and not any(environ.get(name) for name in UV_SETTINGS):
        return None
    beside = [os.path.dirname(sys.executable), os.path.dirname(python)]
    places = os.pathsep.join([environ.get("PATH", os.defpath), *beside])
    return shutil.which("uv", path=places)


class TooOld(Exception):
    """This uv does not write the lock that we read."""


def _version(uv: str) -> tuple[int, ...]:
    try:
        done = subprocess.run([uv, "--version"], capture_output=True, stdin=subprocess.DEVNULL, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return ()
    found = re.search(rb"(\d+)\.(\d+)\.(\d+)", done.stdout)
    return tuple(int(part) for part in found.groups()) if found else ()


def resolve(
    uv: str,
    inputs: Sequence[str],
    out: Path,
    *,
    directory: Path,
    facts: Facts,
    scratch: Path,
    environ: Mapping[str, str],
    foreign: Platform | None = None,
) -> str:
    """Wheels in `out`; answers who resolved. `TooOld`: nothing was done."""
    words = [word for word in inputs if word != "-r"]
    command = [uv, "pip", "compile", "-q", "--no-header", "--format", "pylock.toml", "--python", facts.base, *words]
    if foreign is not None:
        command += ["--python-platform", foreign.uv, "--only-binary", ":all:"]
    with ThreadPoolExecutor(1) as meanwhile:
        said_in = "\n".join(Path(word).read_text(errors="replace") for word in words if word != "-c")
        made = meanwhile.submit(_make_fetcher, environ, said_in)
        version_said = meanwhile.submit(_version, uv)
        said = run_tool(command, cwd=directory, environ=_without_environment(environ))
        fetcher, version = made.result(), version_said.result()
    if version < VERSION_MIN:
        raise TooOld
    if said.code != 0:
        raise _refused(said, foreign)
    from outlast.bundle.environment.fetch import Refused

    packages = parse_toml(said.out).get("packages", [])
    wheels: list[Wanted] = []
    sources: list[tuple[str, dict[str, Any]]] = []
    for package in packages:
        wheel = _best(package.get("wheels", []), facts.minor) or _direct_wheel(package)
        if wheel is not None:
            wheels.append(_wanted(wheel, out, directory))
        else:
            sources.append((str(package.get("name", "")), package))
    try:
        fetcher.fetch(wheels)
        for name, package in sources:
            if foreign is not None:
                raise UsageError(
                    f"`{name}` has only sources, which cannot be built here for another platform",
                    state=STATE,
                    hint="choose a version of it that has wheels, or ship its code with `--dir`",
                )
            source = _source(package, scratch / "sources" / name, directory, environ, fetcher)
            _build(uv, source, out, facts, environ, name)
    except Refused as error:
        raise UsageError(
            f"a package that uv has chosen was refused to outlast: {error}",
            state=STATE,
            hint="keep its login in `~/.netrc`, or in the index's URL, in UV_INDEX or in the requirements file",
        ) from error
    return f"uv {'.'.join(map(str, version))}"


def _make_fetcher(environ: Mapping[str, str], said: str) -> Fetcher:
    """With all that it and the next steps import: a tenth of a second, in which uv is on its way already."""
    from outlast.bundle.environment import archive
    from outlast.bundle.environment.fetch import Fetcher

    parse_toml("")
    assert archive
    return Fetcher(environ, said)


def _without_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The interpreter is named: what is active does not matter."""
    return {name: value for name, value in environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}


def _refused(said: Said, foreign: Platform | None) -> OutlastError:
    words = essence(said.err)
    if said.code == EXIT_UNSOLVABLE:
        return UsageError(
            f"the declared packages cannot be resolved; uv says:\n{words}",
            state=STATE,
            hint=hint_for(foreign),
        )
    return Unreachable(
        f"the declared packages could not be resolved; uv says:\n{words}",
        state=STATE,
        hint="look at the network, and at what uv names",
    )


def _best(wheels: Sequence[dict[str, Any]], minor: str) -> dict[str, Any] | None:
    """All of them fit, uv has seen to that: the one that was made most closely for this Python."""
    own = f"cp{minor.replace('.', '')}"

    def closeness(wheel: dict[str, Any]) -> tuple[int, int]:
        python, abi, platform = _file_name(wheel).removesuffix(".whl").split("-")[-3:]
        native = 0 if platform == "any" else 1
        if own in python.split("."):
            return (3 if abi == own else 2, native)
        return (1 if "abi3" in abi.split(".") else 0, native)

    return max(wheels, key=closeness, default=None)


def _direct_wheel(package: dict[str, Any]) -> dict[str, Any] | None:
    archive = package.get("archive")
    return archive if isinstance(archive, dict) and _file_name(archive).endswith(".whl") else None


def _file_name(entry: dict[str, Any]) -> str:
    text = str(entry.get("name") or entry.get("url") or entry.get("path") or "")
    return unquote(urlsplit(text).path).rpartition("/")[2]


def _wanted(entry: dict[str, Any], folder: Path, directory: Path) -> Wanted:
    from outlast.bundle.environment.fetch import Wanted

    name = _file_name(entry)
    if name.endswith(".whl"):
        try:
            name_and_version(name)
        except ValueError:
            raise UsageError(f"`{name[:120]}` is no name of a wheel", state=STATE) from None
    url = str(entry.get("url") or "") or (directory / str(entry.get("path", ""))).absolute().as_uri()
    return Wanted(url, folder / name, str(entry.get("hashes", {}).get("sha256", "")))


def _source(
    package: dict[str, Any], folder: Path, directory: Path, environ: Mapping[str, str], fetcher: Fetcher
) -> Path:
    """A directory or an archive of sources, on this disk."""
    folder.mkdir(parents=True)
    if isinstance(package.get("directory"), dict):
        return directory / str(package["directory"]["path"])
    if isinstance(package.get("vcs"), dict):
        return _checked_out(package["vcs"], folder, environ)
    entry = package.get("archive") or package.get("sdist")
    if not isinstance(entry, dict):
        raise UsageError(
            f"`{package.get('name')}` {package.get('version', '')} has no wheel for this Python and platform, and no sources",
            state=STATE,
            hint="choose another version of it, or another Python by `--python VERSION`",
        )
    wanted = _wanted(entry, folder, directory)
    fetcher.fetch([wanted])
    return wanted.path


def _checked_out(vcs: dict[str, Any], folder: Path, environ: Mapping[str, str]) -> Path:
    commit = str(vcs.get("commit-id", ""))
    if not re.fullmatch(r"[0-9a-f]{40,64}", commit) or str(vcs.get("url", "-")).startswith("-"):
        raise UsageError(f"uv has locked `{vcs.get('url')}` to no commit", state=STATE)
    steps = (["init", "-q"], ["fetch", "-q", "--depth", "1", str(vcs["url"]), commit], ["checkout", "-q", "FETCH_HEAD"])
    for words in steps:
        said = run_tool(["git", *words], cwd=folder, environ=environ)
        if said.code != 0:
            raise UsageError(f"git cannot fetch `{vcs['url']}`:\n{essence(said.err)}", state=STATE)
    return folder / str(vcs.get("subdirectory", "."))


def _build(uv: str, source: Path, out: Path, facts: Facts, environ: Mapping[str, str], name: str) -> None:
    command = [
        uv,
        "build",
        "-q",
        "--wheel",
        "--no-create-gitignore",
        "--python",
        facts.base,
        "--out-dir",
        str(out),
        str(source),
    ]
    said = run_tool(command, cwd=out, environ=_without_environment(environ))
    if said.code != 0:
        raise UsageError(
            f"`{name}` has only sources, and they cannot be built; uv says:\n{essence(said.err)}",
            state=STATE,
            hint="choose a version of it that has wheels, or another Python by `--python VERSION`",
        )
