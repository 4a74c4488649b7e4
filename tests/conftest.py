"""What holds for every test: nothing of the user's is touched, and in CI nothing is skipped."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests import requests_sent, this_clone

SCRATCH = pytest.StashKey[str]()

IN_CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")


def pytest_configure(config: pytest.Config) -> None:
    """A home directory and a user directory of this process's own; each test may choose a narrower one."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(
            signal.SIGINT, signal.default_int_handler
        )  # a shell's background job ignores it, and so would ours
    scratch = tempfile.mkdtemp(prefix="outlast-tests-")
    config.stash[SCRATCH] = scratch
    if not hasattr(config, "workerinput"):
        this_clone.check()
    for name in [name for name in os.environ if name.startswith("OUTLAST_")]:
        if not name.startswith("OUTLAST_TEST_"):
            del os.environ[name]
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONDONTWRITEBYTECODE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        os.environ.pop(name, None)
    home = Path(scratch) / "home"
    home.mkdir()
    os.environ["HOME"] = str(home)
    os.environ["OUTLAST_DIR"] = str(Path(scratch) / "outlast")
    # Threads of torch and numpy that wait for one another spin, on cores that other tests need: for tensors of a few numbers.
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    requests_sent.begin(Path(scratch) / "requests")
    if config.pluginmanager.hasplugin("hypothesispytest"):
        take_time()
    for who in ("AUTHOR", "COMMITTER"):
        os.environ[f"GIT_{who}_NAME"] = "Test"
        os.environ[f"GIT_{who}_EMAIL"] = "test@example.invalid"


def take_time() -> None:
    """An example that takes a fifth of a second, or is drawn slowly, says that the machine is busy and nothing else."""
    from hypothesis import HealthCheck, settings

    settings.register_profile("busy machine", settings(deadline=None, suppress_health_check=[HealthCheck.too_slow]))
    settings.load_profile("busy machine")


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[SCRATCH], ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def requests_are_googles() -> Iterator[None]:
    """Whatever the tests of this process made outlast send, Google documents it."""
    yield
    assert requests_sent.unknown_to_google() == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped:
        refuse_skip(report)
    return report


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """A missing component is a failure in CI: a test that never ran proves nothing."""
    if not IN_CI:
        return
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"A required test is never skipped in CI. {why}"
