"""What a name or a job leads to stays; what nothing leads to goes; a push at the same moment loses nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from outlast.bundle.dataset.push import push
from outlast.bundle.dataset.record import read_record
from outlast.clock import SYSTEM
from outlast.engines.local.engine import LocalEngine
from outlast.folder import prunes
from outlast.jobs import push as push_verb
from outlast.jobs.prune import find_local, find_unneeded, prune, prune_local
from outlast.jobs.push import push_named
from outlast.jobs.world import World
from outlast.store.registry import open_store
from tests.data.material import back, contents, make, many
from tests.data.test_killed import placed


@pytest.fixture
def world(tmp_path: Path) -> World:
    user_dir = tmp_path / "user"
    user_dir.mkdir(mode=0o700)
    return World(
        clock=SYSTEM,
        random=Random(1),
        user_dir=user_dir,
        open_store=open_store,
        make_engine=lambda name: LocalEngine(user_dir, SYSTEM),
        environ={},
    )


def prune_all(world: World) -> None:
    prune(world, find_unneeded(world.home(), older_than_seconds=0.0))


def test_a_named_dataset_survives_a_prune_and_an_unnamed_one_goes(world: World, tmp_path: Path) -> None:
    store = world.home().store
    root = many(tmp_path / "data", 20)
    named = push_named(world, str(root), "kept").pushed
    other = push(store, make(tmp_path / "other", {"x": b"unnamed"}), cache=world.cache_dir)
    prune_all(world)
    assert contents(back(store, named.digest, tmp_path / "back")) == contents(root)
    keys = {entry.key for entry in store.list("datasets/")}
    assert f"datasets/{other.digest}.json" not in keys and "datasets/names/kept.json" in keys
    assert len(list(store.list("packs/"))) == len(read_record(store, named.digest).all_packs)


def test_what_was_pruned_is_pushed_again(world: World, tmp_path: Path) -> None:
    store = world.home().store
    root = many(tmp_path / "data", 20)
    first = push(store, root, cache=world.cache_dir)
    prune_all(world)
    again = push(store, root, cache=world.cache_dir)
    assert again.digest == first.digest and again.uploaded_bytes > 0
    assert contents(back(store, again.digest, tmp_path / "back")) == contents(root)


def test_after_a_prune_what_was_kept_is_found_by_another_computer(world: World, tmp_path: Path) -> None:
    store = world.home().store
    root = many(tmp_path / "data", 20)
    named = push_named(world, str(root), "kept").pushed
    push(store, make(tmp_path / "other", {"x": b"unnamed"}), cache=world.cache_dir)
    prune_all(world)
    assert push(store, root, cache=tmp_path / "other cache").uploaded_bytes == 0
    assert named.digest


def test_a_push_relies_on_nothing_that_a_prune_removes_at_the_same_moment(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prune condemns what the push has just found there, before its name is written."""
    store = world.home().store
    root = many(tmp_path / "data", 20)
    push(store, root, cache=world.cache_dir)
    real = push
    done: list[bool] = []

    def pushed_then_pruned(*args: Any, **more: Any) -> object:
        found = real(*args, **more)
        if not done:
            done.append(True)
            prune_all(world)
        return found

    monkeypatch.setattr(push_verb, "push", pushed_then_pruned)
    named = push_named(world, str(root), "kept")
    assert prunes.newest_prune(store) == 1 and done
    assert contents(back(store, named.pushed.digest, tmp_path / "back")) == contents(root)
    prune_all(world)
    assert contents(back(store, named.pushed.digest, tmp_path / "back2")) == contents(root)


def test_caches_of_data_that_nobody_has_used_for_long_are_pruned(world: World, tmp_path: Path) -> None:
    store = world.home().store
    root = many(tmp_path / "data", 20)
    pushed = push(store, root, cache=world.cache_dir)
    place = placed(store, world.cache_dir, pushed.digest)
    assert [item.kind for item, _ in find_local(world, older_than_seconds=3600.0)] == []
    machine = world.user_dir / "local" / "machines" / "x"
    machine.mkdir(parents=True)
    prune_local(world, list(find_local(world, older_than_seconds=0.0)))
    assert place.is_dir() and not list((world.cache_dir / "pushes").iterdir())
    assert not machine.exists()  # a dead one's directory is pruned too, and then nobody can be reading
    pruned = prune_local(world, list(find_local(world, older_than_seconds=0.0)))
    assert pruned.bytes >= 2000 and not place.exists()
    assert contents(placed(store, world.cache_dir, pushed.digest)) == contents(root)
