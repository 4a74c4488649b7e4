"""A machine of several workers: when it is up, who takes whom along, and what its exit code says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlast.engines.vertex.told import Told, claim_name
from outlast.host import system
from outlast.machine.contained import Container
from outlast.machine.rented import EXIT_AGAIN, EXIT_DONE, EXIT_FAILED, EXIT_SPARE
from outlast.machine.shared import SharedLife
from outlast.store.registry import open_store
from outlast.testing.engine_place import PROGRAM
from tests.waiting import until

SLOTS = 3


def lived(
    tmp_path: Path, do: str, *, rank: int = 0, go: bool = False, go_after: str = "", contained: bool = False
) -> int:
    """The exit code of a machine whose workers do that; in a process of its own, since it forks and reaps.

    They are let go at once, or when there is something in the home.
    """
    home = tmp_path / "home"
    home.mkdir()
    if go:
        open_store(str(home)).put("abc.go", b"go")
    told = Told(
        home=str(home),
        job="lr",
        launch=1,
        launch_id="abc",
        workers=2,
        deadline_at=4e9,
        boots="boots/",
        soft_off_seconds=60.0,
        notice_seconds=60.0,
        slots=SLOTS,
        gpus=4,
        program=PROGRAM,
        labels={"do": do, "neighbours": str(SLOTS - 1)},
        claim="c1",
        rank=rank,
    )
    open_store(told.home).put(f"boots/{claim_name(rank)}", b"c1", if_generation=0)
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            if contained:
                code = Container(told, rank, tmp_path / "base").live()
            else:
                code = SharedLife(told, tmp_path / "base", rank, 1).live()
        finally:
            os._exit(code)
    if go_after:
        store = open_store(told.home)
        until(lambda: any(store.list(go_after)), go_after)
        store.put("abc.go", b"go")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def events(tmp_path: Path, what: str) -> list[str]:
    """The workers that it happened to."""
    store = open_store(str(tmp_path / "home"))
    lines = [store.get(entry.key).data.decode().split() for entry in store.list("abc.events/")]
    return sorted(words[1].split("-")[1] for words in lines if words[0] == what)


def is_up(tmp_path: Path, rank: int = 0) -> bool:
    return any(open_store(str(tmp_path / "home")).list(f"boots/{rank}-1-up"))


@pytest.fixture(autouse=True)
def no_metadata_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:9")


def test_each_has_a_number_of_its_own_and_the_machine_is_up_when_all_are(tmp_path: Path) -> None:
    assert lived(tmp_path, "wait", rank=1, go=True) == EXIT_DONE
    assert events(tmp_path, "boot") == ["3", "4", "5"]
    assert is_up(tmp_path, 1)


def test_one_that_does_not_come_up_makes_it_a_boot_that_failed(tmp_path: Path) -> None:
    assert lived(tmp_path, "fail") == EXIT_FAILED
    assert not is_up(tmp_path)


def test_when_all_are_spare_so_is_the_machine(tmp_path: Path) -> None:
    assert lived(tmp_path, "spare", rank=1) == EXIT_SPARE
    assert events(tmp_path, "spare") == ["3", "4", "5"]


def test_spare_ones_wait_for_their_neighbour(tmp_path: Path) -> None:
    assert lived(tmp_path, "spare", go=True) == EXIT_DONE
    assert events(tmp_path, "spare") == ["1", "2"] and events(tmp_path, "done") == ["0"]


def test_one_that_dies_takes_the_others_along_and_they_are_told_first(tmp_path: Path) -> None:
    assert lived(tmp_path, "alone:2") == EXIT_AGAIN
    assert events(tmp_path, "notice") == ["1", "2"]


def test_a_container_is_shared_like_a_machine(tmp_path: Path) -> None:
    assert lived(tmp_path, "wait", rank=1, go=True, contained=True) == EXIT_DONE
    assert events(tmp_path, "boot") == ["3", "4", "5"]
    assert open_store(str(tmp_path / "home")).get("boots/1-1-up").data == b"c1", "in which custom job it came up"


def test_a_container_whose_workers_are_all_spare_ends_its_own_custom_job_and_says_so(tmp_path: Path) -> None:
    assert lived(tmp_path, "spare", rank=1, contained=True) == EXIT_DONE
    assert any(open_store(str(tmp_path / "home")).list("boots/1-1-spare"))


def test_a_container_of_which_one_worker_dies_is_a_new_machine(tmp_path: Path) -> None:
    """The service restarts only so often: the next machine is in the same container."""
    assert lived(tmp_path, "alone:2", go_after="boots/0-2-up", contained=True) == EXIT_DONE
    assert events(tmp_path, "notice") == ["1", "2"] and events(tmp_path, "done")


@pytest.mark.parametrize(
    ("things", "shares", "parts"),
    [
        (4, 2, ["01", "23"]),
        (4, 3, ["0", "1", "23"]),
        (2, 4, ["0", "0", "1", "1"]),
        (1, 2, ["0", "0"]),
        (8, 1, ["01234567"]),
    ],
)
def test_shares_are_even_and_never_empty(things: int, shares: int, parts: list[str]) -> None:
    whole = "".join(str(one) for one in range(things))
    assert ["".join(system.part(whole, share, shares)) for share in range(shares)] == parts
