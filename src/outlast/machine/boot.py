"""The agent's process on a machine: opens the home, makes the trainer's `Child`, and serves."""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, TypeVar

from outlast.agent.agent_process import EXIT_AGENT_AGAIN, EXIT_AGENT_DONE, EXIT_AGENT_SPARE
from outlast.agent.serve import serve
from outlast.agent.standing import OFFLINE_SECONDS_MAX
from outlast.agent.sweep_terms import paid_no_more
from outlast.clock import SYSTEM
from outlast.dataclass import replace
from outlast.errors import Denied, KeyMissing, OutlastError, StoreUnavailable
from outlast.folder.folder import Folder
from outlast.folder.records import Beat, Bell, Head, LaunchRecord, Manifest, Pin, Request, Worker, WorkerExit
from outlast.google.variables import become
from outlast.host import files, secrets, system
from outlast.host.machine_dir import Assignment, MachineDir
from outlast.machine.bench import paid_until
from outlast.machine.mask import Mask
from outlast.machine.trainer import ProcessChild
from outlast.spec.record import prepare
from outlast.spec.spec import Spec
from outlast.store.registry import open_store
from outlast.store.store import Store

EXIT_FAILED = 1
AWAY_SECONDS = (1.0, 30.0)
"""How long to wait for a home that is away, before looking again."""

DENIED_SECONDS_MAX = 600.0
"""A right takes minutes to arrive. A rented machine that has no right to begin costs money for nothing."""

WARM = (
    "hashlib",
    "zipfile",
    "outlast.bundle.trainer",
    "outlast.machine.finder",
    "outlast.machine.furnish",
    "outlast.store.directory",
)

if TYPE_CHECKING:
    from outlast.agent.study import SearchStudy
    from outlast.machine.notify import Notifier

T = TypeVar("T")


def open_home(url: str) -> Store:
    """A machine's job is in it: what is missing there is gone only where the rest of the home is not."""
    return open_store(url, made=True)


def boot(
    directory: str,
    open_store: Callable[[str], Store] = open_home,
    on_up: Callable[[Folder], None] = lambda folder: None,
) -> int:
    """0: the launch is over; 10: only this machine is; anything else: it could not boot, and has said why."""
    paths = MachineDir(directory)
    try:
        return _boot(paths, paths.read_assignment(), open_store, on_up)
    except OutlastError as error:
        sys.stderr.write(f"error: {error.message}\n")
        return EXIT_FAILED


def warm(user_dir: Path) -> None:
    """What a machine comes to need only on its way: the supervisor forks it with all of that in place."""
    for name in WARM:
        importlib.import_module(name)
    for kind in (Assignment, Spec, LaunchRecord, Head, Manifest, Worker, Beat, Bell, Request, Pin, WorkerExit):
        prepare(kind)
    _trainer_root(user_dir / "cache")
    system.can_kill_with_me()


_roots: dict[Path, str] = {}


def _trainer_root(cache: Path) -> str:
    """Looked for once per supervisor, unless somebody cleans the cache."""
    from outlast.bundle.trainer import trainer_root

    if cache not in _roots or not os.path.isdir(_roots[cache]):
        _roots[cache] = str(trainer_root(cache))
    return _roots[cache]


def _boot(
    paths: MachineDir, told: Assignment, open_store: Callable[[str], Store], on_up: Callable[[Folder], None]
) -> int:
    random = SystemRandom()
    folder = Folder(_store(told, open_store), told.job, random)
    if told.rented:
        from outlast.machine.complaint import complain

        complain(folder.store)
    unpaid = _unpaid(paths, told)
    try:
        spec, launch = _patiently(lambda: (folder.read_spec(), folder.read_launch(told.launch)), told, unpaid)
    except StoreUnavailable:
        if not unpaid():
            raise
        return EXIT_AGENT_AGAIN
    except KeyMissing:
        _be_up(paths)
        secrets.forget_launch(paths.user_dir, told.launch_id)
        return EXIT_AGENT_DONE  # the job was deleted
    if spec.cells is not None:
        return _work(paths, told, folder, spec, launch, on_up)
    child = _child(paths, told, folder, spec, launch)
    _patiently(lambda: on_up(folder), told)
    _be_up(paths)
    try:
        done = serve(
            folder=folder,
            launch_id=told.launch_id,
            rank=told.rank,
            machine=told.machine,
            child=child,
            clock=SYSTEM,
            random=random,
            spec=spec,
            launch=launch,
            denied_seconds_max=DENIED_SECONDS_MAX if told.rented else math.inf,
            offline_seconds_max=_offline_seconds_max(told),
            before_usd=_lost_usd(told, folder, launch) if told.rented and told.boot > 1 else 0.0,
        )
    except Denied as error:
        from outlast.engines.compute.boots import FAILED

        # Without a right that the first boot of any machine needs, no other machine gets further: the launch ends, with these words.
        folder.store.put(f"{folder.keys.boots(told.launch)}{FAILED}", error.message.encode(), if_generation=0)
        return EXIT_AGENT_DONE
    finally:
        child.close()
    if done:
        if spec.notify:
            _notifier(paths, told, folder, spec).tell_end()
        secrets.forget_launch(paths.user_dir, told.launch_id)
    return EXIT_AGENT_DONE if done else EXIT_AGENT_AGAIN


def _offline_seconds_max(told: Assignment) -> float:
    """A computer of one's own is followed by itself: leaving would cost what was trained, and bring nobody nearer to the home."""
    return OFFLINE_SECONDS_MAX if told.rented else math.inf


_opened: list[tuple[object, Store]] = []


def _store(told: Assignment, open_store: Callable[[str], Store]) -> Store:
    """The one of the machine before in these processes, if it was told the same: with its connections, and what it has learnt."""
    wanted = (told.home, told.environ, open_store)
    if not _opened or _opened[0][0] != wanted:
        become(os.environ, told.environ)  # the supervisor may have been started from another shell, for another job
        _opened[:] = [(wanted, open_store(told.home))]
    return _opened[0][1]


def _be_up(paths: MachineDir) -> None:
    if not files.share(paths.agent, paths.up):
        files.create(paths.up)


def _work(
    paths: MachineDir,
    told: Assignment,
    folder: Folder,
    spec: Spec,
    launch: LaunchRecord,
    on_up: Callable[[Folder], None],
) -> int:
    """Cells of a sweep, one after another."""
    from outlast.agent.bench import Leaving
    from outlast.agent.sweep import work
    from outlast.machine.bench import MachineBench

    def child(cell: Spec, record: LaunchRecord) -> ProcessChild:
        return _child(paths, replace(told, job=cell.job), folder, cell, record)

    _patiently(lambda: on_up(folder), told)
    _be_up(paths)
    study = _study(paths, told, folder, spec, launch)
    leaving = work(
        folder=folder,
        spec=spec,
        launch=launch,
        worker=told.rank,
        machine=told.machine,
        bench=MachineBench(paths, child, SYSTEM),
        clock=SYSTEM,
        random=folder.random,
        study=study,
        time_scale=told.time_scale,
        born_at=told.born_at,
        offline_seconds_max=_offline_seconds_max(told),
    )
    if study is not None:
        study.close()
    if leaving is Leaving.DONE:
        if spec.notify:
            _notifier(paths, told, folder, spec).tell_end()
        secrets.forget_launch(paths.user_dir, told.launch_id)
        return EXIT_AGENT_DONE
    return EXIT_AGENT_AGAIN if leaving is Leaving.AGAIN else EXIT_AGENT_SPARE


def _study(paths: MachineDir, told: Assignment, folder: Folder, spec: Spec, launch: LaunchRecord) -> SearchStudy | None:
    assert spec.cells is not None
    if not spec.cells.learns:
        return None
    from outlast.machine.furnish import Furnisher
    from outlast.machine.study import study_of

    furnisher = Furnisher(folder.store, spec, launch, paths, paths.user_dir)
    return _patiently(
        lambda: study_of(folder, spec, launch, told, lambda: furnisher.interpreter(lambda text: None)), told
    )


def _child(paths: MachineDir, told: Assignment, folder: Folder, spec: Spec, launch: LaunchRecord) -> ProcessChild:
    from outlast.machine.furnish import Furnished, Furnisher, Say

    user_dir = paths.user_dir
    furnisher = Furnisher(folder.store, spec, launch, paths, user_dir)

    def furnish(bundle: str, say: Say) -> Furnished:
        if spec.notify:
            _notifier(paths, told, folder, spec).tell_stalls()
        return furnisher.furnish(bundle, say)

    return ProcessChild(
        paths,
        told,
        spec,
        furnish=furnish,
        edit_code=furnisher.edit,
        trainer_root=_trainer_root(user_dir / "cache"),
        clock=SYSTEM,
        allow_changed=launch.args is not None,
        mask=_mask(user_dir, spec, told),
    )


def _notifier(paths: MachineDir, told: Assignment, folder: Folder, spec: Spec) -> Notifier:
    from outlast.machine.notify import Notifier  # HTTP and TLS: most jobs tell nobody

    return Notifier(folder, spec, told.launch_id, told.machine, paths.user_dir, told.environ)


def _mask(user_dir: Path, spec: Spec, told: Assignment) -> Mask:
    """Read here, and not with the rest of what a trainer is given: an agent that is started again finds its trainer running."""
    if not spec.secrets and not spec.notify:
        return Mask(())
    from outlast.machine.secrets import RIGHTS_SECONDS_MAX, bring

    def read() -> secrets.LaunchSecrets | None:
        return bring(user_dir, spec, told.launch_id, told.home, rights_seconds=RIGHTS_SECONDS_MAX)

    try:
        kept = _patiently(read, told)
    except OutlastError:
        kept = None  # the attempt that needs it ends with that error, before its trainer has begun
    if not spec.secrets:
        return Mask(())
    return Mask(kept.variables.values() if kept is not None else None)


def _lost_usd(told: Assignment, folder: Folder, launch: LaunchRecord) -> float:
    """By the machines before this one that never came up."""
    from outlast.engines.compute.lost import lost_before
    from outlast.folder.cost import lost_usd
    from outlast.google.connect import connect

    found = lost_before(connect(), told.home, folder.keys.boots(told.launch), told.rank, told.boot)
    return lost_usd(launch, found.machines, found.seconds)


def _unpaid(paths: MachineDir, told: Assignment) -> Callable[[], bool]:
    """Whether nobody has paid for more of this machine, which must leave then."""
    born_at = SYSTEM.monotonic() if told.born_at is None else told.born_at
    paid = paid_until(paths)
    return lambda: told.limited and paid_no_more(paid, born_at, SYSTEM)


def _patiently(read: Callable[[], T], told: Assignment, unpaid: Callable[[], bool] = lambda: False) -> T:
    """A home that is away for now is no failed boot. Ends with the launch's deadline, or when nobody has paid for more."""
    wait, wait_max = AWAY_SECONDS
    while True:
        try:
            return read()
        except StoreUnavailable:
            if SYSTEM.now() >= told.deadline_at or unpaid():
                raise
            SYSTEM.sleep(wait)
            wait = min(wait_max, wait * 2)
