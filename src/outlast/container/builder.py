"""What only a builder can make: what a Dockerfile says, Debian packages, conda environments. Run by the builder that is here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from outlast.container.logins import config_with, docker_config_dir, is_google, login_for
from outlast.container.reference import Reference
from outlast.dataclass import dataclass
from outlast.errors import NotFound, OutlastError
from outlast.google.proxies import is_loopback
from outlast.pattern import pattern
from outlast.spec.plain_file import write_private

BUILDERS = ("podman", "buildah", "docker")
CLOUD_BUILD = "gcloud"
CLOUD_BUILD_ELSEWHERE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDBUILD"
"""Where this is set, gcloud still looks for the log at Google's own storage, and fails."""

BUILD_SECONDS_MAX = 2 * 3600.0
SAID_LINES_MAX = 30
CONDA_PREFIX = "/opt/conda/envs/outlast"
CONDA_BASE = "condaforge/miniforge3:latest"
CONDA_FILE = "outlast-conda.yml"
CONDA_PLACE = "/opt/outlast/conda/environment.yml"
"""By the name that conda expects: others it takes for another format, or not at all, as of 2026."""

_READS_CONTEXT = pattern(r"^\s*(?:ONBUILD\s+)?(?:COPY|ADD)\b|\s--mount=", re.IGNORECASE | re.MULTILINE)

OnLine = Callable[[str], None]


@dataclass(frozen=True)
class Recipe:
    """A Dockerfile, and what it needs beside it."""

    text: str
    files: Mapping[str, bytes]
    """In the context, beside the code."""

    build_args: Mapping[str, str]

    @property
    def reads_code(self) -> bool:
        """Whether the code is part of what it makes: then a change of it builds again."""
        return _READS_CONTEXT.search(self.text.replace(f"COPY {CONDA_FILE}", "")) is not None

    def key(self) -> list[str]:
        arguments = [f"{name}={value}" for name, value in sorted(self.build_args.items())]
        return [self.text, *arguments, *(f"{name} {data.hex()}" for name, data in sorted(self.files.items()))]


def recipe(base: Reference, *, dockerfile: str, apt_packages: Iterable[str], conda: bytes | None) -> Recipe:
    """`dockerfile`: its text; it may begin with `ARG BASE_IMAGE` and `FROM ${BASE_IMAGE}`."""
    lines = [dockerfile] if dockerfile else [f"FROM {base}"]
    files = {}
    if conda is not None:
        files[CONDA_FILE] = conda
        lines += [
            "USER root",
            f"COPY {CONDA_FILE} {CONDA_PLACE}",
            f"RUN conda env create --quiet --prefix {CONDA_PREFIX} --file {CONDA_PLACE} && conda clean --all --yes",
            f"ENV PATH={CONDA_PREFIX}/bin:$PATH CONDA_PREFIX={CONDA_PREFIX}",
        ]
    packages = " ".join(sorted(set(apt_packages)))
    if packages:
        lines += [
            "USER root",
            "RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "
            f"{packages} && rm -rf /var/lib/apt/lists/*",
        ]
    return Recipe("\n".join([*lines, ""]), files, {"BASE_IMAGE": str(base)} if dockerfile else {})


def find_builder(environ: Mapping[str, str], host: str) -> str:
    """Its path. Google's own is used where the image goes to a registry of Google's and no other is here."""
    path = environ.get("PATH", os.defpath)
    names = (*BUILDERS, CLOUD_BUILD) if is_google(host) else BUILDERS
    for name in names:
        found = shutil.which(name, path=path)
        if found:
            return found
    raise NotFound(
        f"`--dockerfile`, `--apt` and `--conda` need a builder, and none is here: {', '.join(f'`{name}`' for name in names)}",
        state="nothing was built, nothing is being spent",
        hint="`sudo apt-get install buildah`, or `--base-image` with an image that has it all",
    )


def build_and_push(
    builder: str,
    made: Recipe,
    context: Path,
    target: Reference,
    base: Reference,
    platform: str,
    environ: Mapping[str, str],
    *,
    no_cache: bool,
    on_line: OnLine,
    into: Path | None = None,
) -> None:
    """`context`: a directory of ours, with the code in it; the builder sees nothing else of this computer.

    `into`: an OCI layout that it is put into, instead of a registry.
    """
    for name, data in made.files.items():
        (context / name).write_bytes(data)
    # Beside it, where a killed command's leavings are swept: a login may be among them.
    with tempfile.TemporaryDirectory(prefix="build-", dir=context.parent) as scratch:
        saved = Path(scratch, "saved.tar")
        if os.path.basename(builder) == CLOUD_BUILD:
            logging = "CLOUD_LOGGING_ONLY" if environ.get(CLOUD_BUILD_ELSEWHERE) else ""
            commands = [
                _cloud_build(builder, made, context, target, platform, Path(scratch), logging, no_cache=no_cache)
            ]
        else:
            file = Path(scratch, "Dockerfile")
            file.write_text(made.text)
            options = ["--platform", platform, "--tag", str(target), "--file", str(file)]
            options += [f"--build-arg={key}={value}" for key, value in made.build_args.items()]
            options += ["--no-cache"] if no_cache else []
            before, after = _login(os.path.basename(builder), (target, base), Path(scratch), environ)
            commands = _commands([builder, *before], [*options, str(context)], target, base, after, into, saved)
        for command in commands:
            _run(command, environ, on_line)
        if into is not None and saved.exists():
            from outlast.container.docker_archive import lay_out

            lay_out(saved, into)


def _commands(
    builder: list[str],
    options: list[str],
    target: Reference,
    base: Reference,
    login: list[str],
    into: Path | None,
    saved: Path,
) -> list[list[str]]:
    """One that builds, and one that hands over what was built. A registry on this computer has no TLS, which docker knows by itself."""
    docker = os.path.basename(builder[0]) == "docker"
    plain = [] if docker else ["--tls-verify=false"]
    build = [*builder, "build", *login, *(plain if _is_here(base) else []), *options]
    if into is not None and docker:
        return [build, [*builder, "save", "--output", str(saved), str(target)]]
    destination = [] if into is None else [f"oci:{into}:base"]
    return [build, [*builder, "push", *login, *(plain if _is_here(target) else []), str(target), *destination]]


def _login(
    name: str, references: Iterable[Reference], scratch: Path, environ: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Options, before and after the command's name, that let it read and write there as we do.

    In a file of this user's alone: command lines are seen by all. What the user has logged in to by himself is in it too.
    """
    logins = {one.host: login_for(one.host, environ) for one in references if is_google(one.host)}
    found = {host: login for host, login in logins.items() if login}
    if not found:
        return [], []
    config = scratch / "docker"
    config.mkdir(mode=0o700)
    write_private(config / "config.json", json.dumps(config_with(found, environ)))
    if name != "docker":
        return [], ["--authfile", str(config / "config.json")]
    for one in docker_config_dir(environ).glob("*"):
        if one.name != "config.json":  # its plugins, and where its server is
            (config / one.name).symlink_to(one.absolute())
    return ["--config", str(config)], []


def _cloud_build(
    gcloud: str,
    made: Recipe,
    context: Path,
    target: Reference,
    platform: str,
    scratch: Path,
    logging: str,
    *,
    no_cache: bool,
) -> list[str]:
    (context / "outlast.Dockerfile").write_text(made.text)
    arguments = [f"--build-arg={key}={value}" for key, value in made.build_args.items()]
    arguments += ["--no-cache"] if no_cache else []
    step = {
        "name": "gcr.io/cloud-builders/docker",
        "args": [
            "build",
            "--platform",
            platform,
            "--tag",
            str(target),
            "--file",
            "outlast.Dockerfile",
            *arguments,
            ".",
        ],
    }
    config = scratch / "cloudbuild.json"
    limit = f"{BUILD_SECONDS_MAX:.0f}s"  # ten minutes if not said
    options = {"options": {"logging": logging}} if logging else {}
    config.write_text(json.dumps({"steps": [step], "images": [str(target)], "timeout": limit, **options}))
    first, _, rest = target.path.partition("/")
    project = f"{first}:{rest.partition('/')[0]}" if "." in first else first  # that of a domain: `example.com:project`
    words = ["--quiet", "--project", project, "--config", str(config)]
    return [gcloud, "builds", "submit", *words, str(context)]


def _run(command: list[str], environ: Mapping[str, str], on_line: OnLine) -> None:
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(environ),
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    said: list[str] = []
    with process, process.stdout:
        for line in process.stdout:
            said = [*said, line.rstrip()][-SAID_LINES_MAX:]
            on_line(line.rstrip())
        code = process.wait(BUILD_SECONDS_MAX)
    if code != 0:
        hint = "mend what its last lines say, and try again"
        if os.path.basename(command[0]) == CLOUD_BUILD:
            hint += "; who may not read the project's logs (`roles/viewer`) is told of a failure while it builds: `gcloud builds list`"
        raise OutlastError(
            f"`{os.path.basename(command[0])}` ended with exit code {code}:\n"
            + "\n".join(f"  {line}" for line in said),
            state="no image was pushed, nothing is being spent",
            hint=hint,
        )


def _is_here(reference: Reference) -> bool:
    return is_loopback(reference.host.rpartition(":")[0] or reference.host)
