"""An image from code to registry, beside buildah on the same work: a change of code, no change, the layer of the packages."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from bench.measure import Row, clean_environment, command, interleaved, limit_row, milliseconds, ratio_row, wall
from tests.containers.registry_server import serving

PYTHON = sys.executable
OUTLAST = str(Path(sys.executable).with_name("outlast"))
FILES = 200
PACKAGE = "numpy"
ROUNDS_LAYER = 5
CHANGE_SECONDS_MAX = 0.4
SAME_SECONDS_MAX = 0.1

DOCKERFILE = """\
FROM {base}
COPY wheels /wheels
ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels
RUN python3 /wheels/{pip}/pip install --quiet --no-compile --target /opt/packages {package} && rm -rf /wheels
COPY code /opt/code
"""


def rows(scratch: Path) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="pod-", dir="/tmp") as storage, serving(scratch / "registry") as server:
        bench = Bench(scratch, Path(storage), server.host, server.push_base())
        bench.prepare()
        yield from bench.rows()


class Bench:
    def __init__(self, scratch: Path, storage: Path, host: str, base: str) -> None:
        self.scratch = scratch
        self.host = host
        self.base = base
        self.context = scratch / "context"
        self.code = self.context / "code"
        self.cache = scratch / "outlast" / "cache" / "containers"
        self._edits = count()
        self._places = count()
        (storage / "storage.conf").write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{storage}/graph"\nrunroot = "{storage}/run"\n'
        )
        self.environment = {
            **clean_environment(scratch),
            "CONTAINERS_STORAGE_CONF": str(storage / "storage.conf"),
            "BUILDAH_ISOLATION": "chroot",
            "PIP_FIND_LINKS": str(self.context / "wheels"),
            "PIP_NO_INDEX": "1",
        }

    def prepare(self) -> None:
        """Code of a usual size, one package with its wheel, and pip as a wheel, which the base image has not got."""
        wheels = self.context / "wheels"
        wheels.mkdir(parents=True)
        subprocess.run(
            [PYTHON, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels, PACKAGE, "pip"], check=True
        )
        for number in range(FILES):
            path = self.code / f"part{number % 10}" / f"module{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"value = {number}\n" * 100)
        (self.code / "train.py").write_text(f"import {PACKAGE}\n")
        (self.code / "requirements.txt").write_text(f"{PACKAGE}\n")
        pip = next(wheels.glob("pip-*.whl")).name
        (self.context / "Dockerfile").write_text(DOCKERFILE.format(base=self.base, pip=pip, package=PACKAGE))

    def rows(self) -> Iterator[Row]:
        self.ours("me")
        self.buildah("me")
        changed = interleaved(
            {
                "ours": wall(lambda: self.ours("me", change=True)),
                "buildah": wall(lambda: self.buildah("me", change=True)),
            }
        )
        yield limit_row("code change to pushed image", changed["ours"], CHANGE_SECONDS_MAX, milliseconds)
        yield ratio_row(
            "the same against buildah", changed["ours"], changed["buildah"], "`buildah build`, `push`", 0.25
        )
        same = interleaved({"ours": wall(lambda: self.ours("me")), "buildah": wall(lambda: self.buildah("me"))})
        yield limit_row("no change, seen in the registry", same["ours"], SAME_SECONDS_MAX, milliseconds)
        yield ratio_row("the same against buildah", same["ours"], same["buildah"], "`buildah build`, `push`", 0.1)
        layer = interleaved({"ours": self.layer_ours, "buildah": self.layer_buildah}, rounds=ROUNDS_LAYER)
        yield ratio_row(
            f"an image with `{PACKAGE}`, nothing remembered, wheels at hand",
            layer["ours"],
            layer["buildah"],
            "buildah",
            0.5,
        )

    def ours(self, place: str, *, change: bool = False) -> None:
        if change:
            self._change()
        argv = [OUTLAST, "container", "build", "train.py", "--base-image", self.base]
        command([*argv, "--registry", f"{self.host}/{place}"], cwd=self.code, env=self.environment)()

    def buildah(self, place: str, *options: str, change: bool = False) -> None:
        if change:
            self._change()
        target = f"{self.host}/{place}/theirs:latest"
        plain = "--tls-verify=false"
        build = ["buildah", "build", plain, "--layers", "--quiet", *options, "--tag", target, str(self.context)]
        command(build, env=self.environment)()
        command(["buildah", "push", plain, "--quiet", target], env=self.environment)()

    def layer_ours(self) -> float:
        shutil.rmtree(self.cache)
        place = f"ours{next(self._places)}"
        return wall(lambda: self.ours(place))()

    def layer_buildah(self) -> float:
        place = f"theirs{next(self._places)}"
        return wall(lambda: self.buildah(place, "--no-cache"))()

    def _change(self) -> None:
        (self.code / "train.py").write_text(f"import {PACKAGE}\n# {next(self._edits)}\n")
