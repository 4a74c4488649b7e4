"""Images for jobs: built from a base or saved of a job's machine, listed with who needs them, and deleted when nobody does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from outlast.catalog import answers
from outlast.catalog.choose import GPU_DEFAULT, Wish, choose
from outlast.catalog.images import find_image
from outlast.catalog.table import Catalog, catalog
from outlast.dataclass import dataclass
from outlast.engines.compute.image_bodies import BUILDER_TYPE, METADATA_BYTES_MAX
from outlast.engines.imaging import Imager, KeptImage, MadeImage, Place, Recipe, Say
from outlast.engines.registry import IMAGERS
from outlast.errors import KeyMissing, NotFound, OutlastError, UsageError
from outlast.google.connect import connect
from outlast.google.project import project_of
from outlast.jobs.cloud import settings_of
from outlast.jobs.find import find
from outlast.jobs.job import Job, as_launch
from outlast.jobs.list import list_all_jobs
from outlast.jobs.look import look
from outlast.jobs.rent import DISK_GB_DEFAULT, DISK_GB_DEFAULT_WITH_GPUS
from outlast.jobs.world import World
from outlast.pattern import pattern
from outlast.spec.machine import parse_gpus
from outlast.spec.names import shown
from outlast.spec.plain_file import read_plain

ENGINE = "compute"
FAMILY_LENGTH_MAX = 47
"""`-20261116-034500` stands behind it, and Google takes 63."""

_FAMILY = pattern(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_PYTHON = pattern(r"3\.\d{1,2}")


@dataclass(frozen=True)
class Asked:
    """What was typed of a new image; what is empty is chosen."""

    family: str
    base: str = ""
    requirements: str = ""
    setup: str = ""
    gpus: str = ""
    python: str = ""


@dataclass(frozen=True)
class Needed:
    image: KeptImage
    jobs: tuple[str, ...]
    """Which have not ended."""


class Images:
    """`flags`: what the command line gives of project, region, zone and network, the rest of which is as for `run`; and of the
    builder's machine and disk, which are not: files speak of the machines of jobs."""

    def __init__(self, world: World, flags: Mapping[str, Any]) -> None:
        self.world = world
        self.flags = flags
        self.settings = settings_of(world, flags)
        self.catalog: Catalog = catalog()

    @cached_property
    def imager(self) -> Imager:
        return IMAGERS[ENGINE](self.settings["project"], self.world.environ, self.world.clock)

    def build(self, asked: Asked, say: Say) -> MadeImage:
        """All that can be wrong is found before anything is rented."""
        check_family(asked.family)
        if asked.python and not _PYTHON.fullmatch(asked.python):
            raise UsageError(f"`--python {shown(asked.python)}` is no version", hint="`--python 3.12`")
        requirements, setup = _content("--requirements", asked.requirements), _content("--setup", asked.setup)
        _check_requirements(asked.requirements, requirements)
        transport = connect(self.world.environ)
        project = project_of(self.settings["project"], self.world.environ, transport)
        base = find_image(transport, self.catalog, project, asked.base or self._base(asked.gpus))
        if base.note:
            say(base.note)
        least_gb = DISK_GB_DEFAULT_WITH_GPUS if asked.gpus else DISK_GB_DEFAULT
        place = self._place(max(base.disk_gb, self.flags.get("disk-gb") or least_gb))
        say(f"base `{base.path}`, on `{place.machine_type}` without a service account")
        recipe = Recipe(asked.family, base.path, asked.python, requirements, setup)
        return self.imager.build(recipe, place, say)

    def save(self, job: Job, family: str, say: Say) -> MadeImage:
        check_family(family)
        status = look(self.world, job)
        rented = status.launch.machine.rented
        if rented is None or status.launch.engine not in IMAGERS:
            raise UsageError(
                f"job `{job.id}` runs on `{status.launch.engine}`, whose machines have no images of their own",
                hint="`outlast run --on compute --shell` rents a machine to work on and to save",
            )
        imager = IMAGERS[status.launch.engine](rented.project, self.world.environ, self.world.clock)
        return imager.save(as_launch(job, status.launch, status.spec), family, self._place(rented.disk_gb), say)

    def needed(self) -> list[Needed]:
        """All of ours, the newest first, with the jobs that name them."""
        named = dict(_named(self.world))
        return [
            Needed(image, tuple(sorted(job for job, path in named.items() if path == image.path)))
            for image in self.imager.images()
        ]

    def named(self, names: Sequence[str]) -> list[Needed]:
        """NotFound also for an image that outlast has not made: others' are not ours to delete."""
        known = {one.image.name: one for one in self.needed()}
        missing = [name for name in names if name not in known]
        if missing:
            families = {one.image.family for one in known.values()}
            hint = (
                f"`{missing[0]}` is a family: `outlast image prune {missing[0]}` leaves its newest"
                if missing[0] in families
                else "`outlast image list` shows those that outlast has made; others are not deleted by it"
            )
            raise NotFound(f"outlast has made no image {shown(missing[0])}", state="nothing was deleted", hint=hint)
        found = [known[name] for name in dict.fromkeys(names)]
        for one in found:
            if one.jobs:
                raise UsageError(
                    f"image `{one.image.name}` is needed by job `{one.jobs[0]}`, which has not ended",
                    state="nothing was deleted",
                    hint=f"`outlast stop {one.jobs[0]}` first, or wait for its end",
                )
        self._refuse_if_away()
        return found

    def old(self, family: str, keep: int) -> list[Needed]:
        """Of each family all but the newest, and none that a job needs which has not ended."""
        all_of_them = self.needed()
        self._refuse_if_away()
        families = dict.fromkeys(one.image.family for one in all_of_them if one.image.family)
        if family and family not in families:
            there = ", ".join(f"`{one}`" for one in families) or "none"
            raise NotFound(f"outlast has made no image of family {shown(family)}", hint=f"the families are {there}")
        found = []
        for one in families if not family else (family,):
            ready = [image for image in all_of_them if image.image.family == one and image.image.status != "failed"]
            found += [image for image in ready[keep:] if not image.jobs]
        return found + [image for image in all_of_them if image.image.status == "failed" and not image.jobs]

    def delete(self, images: Sequence[Needed]) -> None:
        imager = self.imager
        for one in images:
            imager.delete(one.image)

    def _refuse_if_away(self) -> None:
        """A job in a home that cannot be read may need any of them."""
        for url, why in self.world.away.items():
            raise OutlastError(
                f"home `{url}` could not be read, and a job in it may need these images: {why}",
                state="nothing was deleted",
                hint="`outlast doctor` looks at the homes",
            )

    def _base(self, gpus: str) -> str:
        """With a driver that fits the GPU; older GPUs: the reason and the successor."""
        if not gpus:
            return self.catalog.image
        count, name = parse_gpus(gpus)
        gpu = self.catalog.gpu(name or GPU_DEFAULT)
        if gpu is None or gpu.gone:
            error = answers.no_gpu(self.catalog, name) if gpu is None else answers.gone(gpu, count)
            error.hint = f"{error.hint.partition(';')[0]}; `--base` names any image of your own choice"
            raise error
        return gpu.image or self.catalog.gpus[GPU_DEFAULT].image

    def _place(self, disk_gb: int) -> Place:
        settings = self.settings
        regions = (settings["region"] or self.world.environ.get("REGION", "")).split(",")
        choice = choose(
            self.catalog,
            Wish(
                machine_type=self.flags.get("machine-type") or BUILDER_TYPE,
                regions=tuple(one for one in regions if one) if not settings["zone"] else (),
                zones=settings["zone"],
                exclude_zones=settings["exclude-zone"],
                spot=False,
            ),
        )
        return Place(
            zones=choice.zones,
            machine_type=choice.machine.name,
            disk_gb=disk_gb,
            disk_type=choice.disk_type,
            network=settings["network"],
            external_ip=settings["external-ip"],
        )


def check_family(family: str) -> None:
    if not _FAMILY.fullmatch(family) or len(family) > FAMILY_LENGTH_MAX:
        raise UsageError(
            f"{shown(family)} is no name for a family of images",
            state=f"small letters, digits and dashes, a letter first, at most {FAMILY_LENGTH_MAX} of them",
            hint="such as `census` or `torch-l4`",
        )


def _content(option: str, path: str) -> str:
    if not path:
        return ""
    try:
        data = read_plain(Path(path), METADATA_BYTES_MAX + 1)
    except FileNotFoundError:
        raise NotFound(f"`{option} {path}`: there is no such file") from None
    except OSError as error:
        raise UsageError(
            f"`{option} {path}`: {error.strerror or error}", hint="name a file that you can read"
        ) from None
    if len(data) > METADATA_BYTES_MAX:
        raise UsageError(
            f"`{option} {path}` is larger than {METADATA_BYTES_MAX // 1024} KB",
            hint="let a small script fetch what is large",
        )
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"`{option} {path}` is not UTF-8", hint="name a file of text") from None


def _check_requirements(path: str, text: str) -> None:
    """The builder has this file and no other."""
    for number, line in enumerate(text.splitlines(), 1):
        word = line.strip()
        if re.match(r"(-r|-c|-e|--requirement|--constraint|--editable)\b|\.{1,2}/|file:", word):
            raise UsageError(
                f"`{path}` line {number} names another file: {shown(word[:60])}",
                state="only the file itself is sent to the builder",
                hint=f"one list of all: `uv pip compile {path} -o all.txt`, then `--requirements all.txt`",
            )


def _named(world: World) -> Iterator[tuple[str, str]]:
    """Every job that has not ended, and the image that its machines boot."""
    for row in list_all_jobs(world, running=True):
        try:
            spec = find(world, row.row()["folder"]).spec()
        except (KeyMissing, NotFound):
            continue
        if spec.machine.rented is not None and spec.machine.rented.image:
            yield row.job, spec.machine.rented.image
