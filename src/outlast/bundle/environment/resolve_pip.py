"""By pip: one call that resolves, downloads, and builds what has no wheel."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from outlast.bundle.environment.interpreter import Facts
from outlast.bundle.environment.platforms import Platform, hint_for
from outlast.bundle.environment.tool import essence, run_tool
from outlast.errors import OutlastError, Unreachable, UsageError

QUIET = ("--no-input", "--disable-pip-version-check", "--progress-bar", "off")

RUN = """
import sys
sys.path[:] = [path for path in sys.path if path]
from runpy import run_module
run_module("pip", run_name="__main__", alter_sys=True)
"""
"""As `-m pip`, but what lies in the project's directory is not taken for a module of Python's."""

REACH_SECONDS_MAX = 10
REACHES = """
import sys
sys.path[:] = [path for path in sys.path if path]
from pip._internal.commands import create_command
options, _ = create_command("wheel").parser.parse_args(["x"])
urls = [] if options.no_index else [options.index_url, *options.extra_index_urls]
import urllib.error, urllib.request
for url in urls:
    try:
        urllib.request.urlopen(url.rstrip("/") + "/pip/", timeout=%d).close()
    except urllib.error.HTTPError:
        pass
    except (OSError, ValueError):
        sys.exit(3)
"""
"""Exits with 3 if an index that pip would ask does not answer at all: pip itself says only that there is no such package."""

EXIT_UNREACHABLE = 3


def resolve(
    inputs: Sequence[str],
    out: Path,
    *,
    directory: Path,
    python: str,
    facts: Facts,
    cache: Path,
    environ: Mapping[str, str],
    foreign: Platform | None = None,
) -> str:
    """Wheels in `out`; answers who resolved."""
    pip = _find_pip(python, facts, cache, environ)
    verb = ["wheel", "--wheel-dir", str(out)] if foreign is None else _download(foreign, facts, out)
    command = [pip, "-c", RUN, *verb, *QUIET, *inputs]
    said = run_tool(command, cwd=directory, environ=environ)
    if said.code != 0:
        raise _refused(said.err, pip, directory, environ, foreign)
    return _name(pip, facts, python)


def _download(foreign: Platform, facts: Facts, out: Path) -> list[str]:
    """What runs on other machines cannot be built here."""
    own = f"cp{facts.minor.replace('.', '')}"
    words = ["download", "--dest", str(out), "--only-binary", ":all:", "--python-version", facts.minor]
    words += ["--implementation", "cp", "--abi", own, "--abi", "abi3", "--abi", "none"]
    return words + [word for tag in foreign.pip for word in ("--platform", tag)]


def _name(pip: str, facts: Facts, python: str) -> str:
    """`pip 24.0`, without starting it once more."""
    for place in _places(pip, facts, python):
        for found in Path(place).glob("pip-*.dist-info"):
            return found.name.removesuffix(".dist-info").replace("-", " ")
    return "pip"


def _refused(err: str, pip: str, directory: Path, environ: Mapping[str, str], foreign: Platform | None) -> OutlastError:
    words = essence(err, begins=("ERROR: ", "  error: ", "error: "))
    reached = run_tool([pip, "-c", REACHES % REACH_SECONDS_MAX], cwd=directory, environ=environ)
    if reached.code == EXIT_UNREACHABLE:
        return Unreachable(
            f"the package index cannot be reached; pip says:\n{words}",
            state="nothing was submitted, nothing is being spent",
            hint="look at the network, or set PIP_INDEX_URL or PIP_FIND_LINKS to what can be reached",
        )
    return UsageError(
        f"the declared packages cannot be resolved; pip says:\n{words}",
        state="nothing was submitted, nothing is being spent",
        hint=hint_for(foreign),
    )


def _find_pip(python: str, facts: Facts, cache: Path, environ: Mapping[str, str]) -> str:
    """An interpreter of the right version that has pip: the job's own, the one that it was made of, or one made for this."""
    for one in dict.fromkeys((python, facts.base)):
        if any(os.path.isdir(os.path.join(path, "pip")) for path in _places(one, facts, python)):
            return one
    own = cache / "pip" / facts.version
    made = own / "bin" / "python"
    if not (own / "ready").exists():
        own.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        said = run_tool([facts.base, "-m", "venv", "--clear", str(own)], cwd=Path("/"), environ=environ)
        if said.code != 0:
            raise UsageError(
                f"packages are declared, and there is neither uv nor pip to resolve them for `{python}`",
                hint="`pip install uv` beside outlast; or install your system's `python3-venv`",
            )
        (own / "ready").touch(mode=0o600)
    return str(made)


def _places(one: str, facts: Facts, python: str) -> Iterator[str]:
    if one == python:
        yield from facts.paths
    else:
        prefix = Path(one).parent.parent
        yield str(prefix / "lib" / f"python{facts.minor}" / "site-packages")
        yield str(prefix / "lib" / "python3" / "dist-packages")
