"""Which job a user means: a unique prefix, a folder's path or URL, or nothing: the newest; and which cell: `SWEEP.21`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path

from outlast.errors import KeyMissing, NotFound, OutlastError, UsageError
from outlast.folder import layout
from outlast.folder.home import Home
from outlast.jobs.job import Job
from outlast.jobs.world import World
from outlast.pattern import pattern

_FOLDER = pattern(r"(?P<home>.*)/jobs/(?P<job>[^/]+)(?:/cells/(?P<cell>\d{6})(?:\.\d+)?)?", re.DOTALL)

NEAR_MAX = 5
KNOWN_MAX = 2000
"""Among so many of the newest, one that is like the name is looked for."""


def find(world: World, text: str | None, home: str | None = None) -> Job:
    """None: the newest. An empty text is no wish for that one, but a variable of a script that was never set."""
    if text is None:
        return _newest(world, home)
    if not text:
        raise UsageError("an empty text is no job's name", hint="`outlast jobs` lists them all")
    if "/" in text or "://" in text:
        return _by_folder(world, text)
    if (cell := layout.cell_parts(text)) is not None:
        return cell_of(find(world, cell[0], home), cell[1])
    if len(text) <= layout.JOB_ID_LENGTH_MAX and layout.JOB_ID_CHARACTERS.issuperset(text):
        # By its whole name, without a look at the index, which may be long.
        exact = next(world.each(home, lambda one: having(one, text)), None)
        if exact is not None:
            return exact if home is not None else _only(world, exact)
    matches: dict[tuple[str, str], Job] = {}
    known: list[str] = []
    for one, id in world.each(home, lambda one: ((one, row.job) for row in one.jobs())):
        if id == text:
            return Job.of(one, id)
        if len(known) < KNOWN_MAX:
            known.append(id)
        if id.startswith(text):
            matches[one.url, id] = Job.of(one, id)
    if len(matches) == 1:
        return next(iter(matches.values()))
    if matches:
        raise _several(text, list(matches.values()))
    near = get_close_matches(text, known, NEAR_MAX)
    hint = f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else "`outlast jobs` lists them all"
    from outlast.spec.names import shown  # on one line, and not all of what is long

    raise NotFound(f"there is no job {shown(text)}", state=_away(world), hint=hint)


def _only(world: World, job: Job) -> Job:
    """What is done to a job must not be done to another one of its name: the homes that are quick to ask are asked for it."""
    named = world.each(None, lambda one: having(one, job.id), here=True)
    others = [one for one in named if one.folder_url != job.folder_url]
    if others:
        raise _several(job.id, [job, *others])
    return job


def _several(text: str, jobs: list[Job]) -> UsageError:
    """By their names; by their folders where homes have the same one."""
    names = sorted({job.id for job in jobs})
    alike = len(names) < len(jobs)
    listed = ", ".join(f"`{one}`" for one in (sorted(job.folder_url for job in jobs) if alike else names)[:NEAR_MAX])
    hint = "type its folder, or `--home URL`" if alike else "type more of its name"
    return UsageError(f"`{text}` may be {len(jobs)} jobs: {listed}", hint=hint)


def cell_of(sweep: Job, number: int) -> Job:
    """One that the sweep has, whether or not it has begun."""
    cell = Job.of(sweep.home, layout.cell_id(sweep.id, number))
    cell.spec()
    return cell


def having(home: Home, id: str) -> Iterator[Job]:
    """The job of exactly this name, if the home has it."""
    job = Job.of(home, id)
    if any(True for _ in home.store.list(job.folder.keys.spec, limit=1)):
        yield job


def _newest(world: World, home: str | None) -> Job:
    """Of all homes."""
    newest = max(world.each(home, _newest_in), key=lambda found: found[0], default=None)
    if newest is None:
        raise NotFound("there is no job yet", state=_away(world), hint="`outlast run TARGET` makes one")
    return newest[1]


def _newest_in(home: Home) -> Iterator[tuple[float, Job]]:
    """The index tells milliseconds, in which many may be submitted together: those of the last one, each with its own time."""
    rows = home.jobs()
    first = next(rows, None)
    if first is None:
        return
    together = [first, *takewhile(lambda row: row.submitted_at == first.submitted_at, rows)]
    for row in together:
        job, at = Job.of(home, row.job), row.submitted_at
        if len(together) > 1:
            with suppress(OutlastError, KeyMissing):
                at = job.folder.read_launch(row.launch).launched_at
        yield at, job


def _away(world: World) -> str:
    away = [f"home `{url}` could not be read: {why}" for url, why in world.away.items()]
    return "; ".join([*away, *(f"home `{url}` is not there" for url in world.missing[:NEAR_MAX])])


def _by_folder(world: World, text: str) -> Job:
    """`<home>/jobs/<job>`, as `run --json` prints it; or `<home>/jobs/<sweep>/cells/<number>`."""
    named = _FOLDER.fullmatch(text.rstrip("/"))
    if named is None:
        raise UsageError(f"`{text}` is no job's folder", hint="a folder is `<home>/jobs/<job>`")
    url, job, cell = named["home"], named["job"], named["cell"]
    if "://" not in url:
        url = str(Path(url).absolute())
    if cell is not None:
        return cell_of(Job.of(world.home(url), job), int(cell))
    found = Job.of(world.home(url), job)
    world.check_mounted(found.home)
    if not any(True for _ in found.folder.store.list(found.folder.keys.root, limit=1)):
        raise NotFound(
            f"there is no job in `{text}`", hint="`outlast jobs` lists the jobs of all homes that you have used"
        )
    return found
