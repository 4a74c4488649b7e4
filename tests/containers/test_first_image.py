"""A project's first image: the repository that it goes to is made when it turns out not to be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.container.reference import Reference
from outlast.errors import NotFound
from outlast.jobs.asked import Asked
from outlast.jobs.container_build import _where_it_may_be_missing
from outlast.jobs.containers import Image
from outlast.jobs.world import World, system_world
from outlast.spec.containing import Containing

PLACE = "us-central1-docker.pkg.dev/my-project/outlast"


class Google:
    """What there is of a project's repositories."""

    def __init__(self, *, there: bool) -> None:
        self.there = there
        self.asked: list[str] = []

    def make_repository(self, world: World, at: Reference) -> str:
        self.asked.append(str(at))
        note = "" if self.there else "made repository `outlast`"
        self.there = True
        return note

    def built(self) -> Image:
        if not self.there:
            raise NotFound("no repository")
        return Image(f"{PLACE}/work@sha256:1", notes=("another note",))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("OUTLAST_DIR", str(tmp_path))
    return system_world()


@pytest.mark.parametrize("dockerfile", ["", "Dockerfile"])
def test_a_repository_that_is_missing_is_made(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dockerfile: str
) -> None:
    google = Google(there=False)
    monkeypatch.setattr("outlast.jobs.repository.make_repository", google.make_repository)
    asked = Asked(target="", directory=str(tmp_path), container=Containing(registry=PLACE, dockerfile=dockerfile))

    image = _where_it_may_be_missing(world, asked, tmp_path / "work", google.built)

    assert image.notes == ("made repository `outlast`", "another note")
    assert google.asked == [f"{PLACE}/work"]


def test_nobody_asks_for_a_repository_that_is_there(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    google = Google(there=True)
    monkeypatch.setattr("outlast.jobs.repository.make_repository", google.make_repository)
    asked = Asked(target="", directory=str(tmp_path), container=Containing(registry=PLACE))

    def no_base() -> Image:
        raise NotFound("no base image")

    assert _where_it_may_be_missing(world, asked, tmp_path, google.built).notes == ("another note",)
    assert google.asked == []
    with pytest.raises(NotFound, match="no base image"):
        _where_it_may_be_missing(world, asked, tmp_path, no_base)
