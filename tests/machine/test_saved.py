"""What counts as saved: the library's checkpoints, and an unmodified script's files when they are quiet."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from outlast.agent.child import Changed, Saved
from outlast.clock import SYSTEM, SystemClock
from outlast.host import system
from outlast.machine import settle, unmodified
from outlast.machine.disk_file import DiskFile, Seen
from outlast.machine.trainer import ProcessChild
from outlast.testing.engine_place import until
from tests.machine.conftest import Bench, log, start_of, wait_for_exit

PREAMBLE = """
import json, os, shutil, sys, time, zipfile
from pathlib import Path
run, ckpt, out = (Path(os.environ[f"OUTLAST_{name}_DIR"]) for name in ("RUN", "CHECKPOINT", "OUTPUT"))
attempt = int(os.environ["OUTLAST_ATTEMPT"])
def wait(name):
    while not Path(name).exists(): time.sleep(0.005)
def save(step, number, text="x", complete=False, outputs=()):
    saving = ckpt / f".saving-{number}"
    saving.mkdir(parents=True)
    (saving / "state.json").write_text(json.dumps(text))
    (saving / "sub").mkdir()
    (saving / "sub" / "w.bin").write_bytes(b"w" * 100)
    record = {"format": 1, "step": step, "complete": complete, "attempt": attempt, "number": number,
              "metrics": {"loss": 0.5}, "created_at": 0.0, "outputs": list(outputs)}
    (saving / "checkpoint.json").write_text(json.dumps(record))
    os.rename(saving, ckpt / f"step-{step:012d}")
def say(text): print(text, flush=True)
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rules, with shorter times."""
    monkeypatch.setattr(settle, "SETTLE_SECONDS", 0.5)
    monkeypatch.setattr(settle, "SETTLE_SECONDS_RENAMED", 0.05)
    monkeypatch.setattr(settle, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(settle, "BUSY_SECONDS_MAX", 1.5)
    monkeypatch.setattr(settle, "TORN_SECONDS_MAX", 1.5)
    monkeypatch.setattr(unmodified, "OUTPUTS_SECONDS_MIN", 1.0)


def content(saved: Saved) -> dict[str, bytes]:
    return {file.path: b"".join(file.chunks(0, file.bytes)) for file in saved.files}


def await_saved(child: ProcessChild, after: int = 0) -> Saved:
    found: list[Saved | None] = []
    until(lambda: found.append(child.saved(after, last=False)) or found[-1] is not None, "something was saved")
    assert found[-1] is not None
    return found[-1]


def never_saved(child: ProcessChild, seconds: float, after: int = 0) -> None:
    """Looked for throughout that time, which is several times what would be enough."""
    end_at = SYSTEM.monotonic() + seconds
    while SYSTEM.monotonic() < end_at:
        saved = child.saved(after, last=False)
        assert saved is None, content(saved)
        SYSTEM.sleep(0.01)


def go(bench: Bench, name: str = "go") -> None:
    (Path(bench.paths.work) / name).touch()


def said(child: ProcessChild, word: str) -> Callable[[], bool]:
    return lambda: word in log(child)


# The library's.


def test_a_checkpoint_of_the_library_is_taken_as_it_was_put_in_place(bench: Bench) -> None:
    child = bench.run(PREAMBLE + "save(120, 1, complete=True); wait('go')")
    saved = await_saved(child)
    assert (saved.number, saved.step, saved.complete, saved.metrics) == (1, 120, True, {"loss": 0.5})
    found = content(saved)
    assert sorted(found) == [
        "checkpoint/step-000000000120/checkpoint.json",
        "checkpoint/step-000000000120/state.json",
        "checkpoint/step-000000000120/sub/w.bin",
    ]
    assert found["checkpoint/step-000000000120/sub/w.bin"] == b"w" * 100
    assert child.saved(1, last=False) is None
    go(bench)
    wait_for_exit(child)
    assert child.saved(1, last=True) is None


def test_what_the_library_has_not_put_in_place_is_no_checkpoint(bench: Bench) -> None:
    child = bench.run(PREAMBLE + "(ckpt / '.saving-x').mkdir(); (ckpt / '.saving-x' / 'a').write_text('a'); wait('go')")
    never_saved(child, 1.2)
    child.end()
    assert child.saved(0, last=True) is None


def test_the_newest_counts_and_one_that_is_removed_while_it_is_uploaded_is_still_whole(bench: Bench) -> None:
    child = bench.run(
        PREAMBLE + "save(1, 1); say('one'); wait('go'); save(2, 2); shutil.rmtree(ckpt / 'step-000000000001')\n"
        "say('two'); save(3, 3); say('three')"
    )
    first = await_saved(child)
    go(bench)
    wait_for_exit(child)
    assert content(first)["checkpoint/step-000000000001/state.json"] == b'"x"'
    newest = child.saved(1, last=True)
    assert newest is not None and (newest.number, newest.step) == (3, 3)


def test_checkpoints_that_were_restored_are_not_saved_again(bench: Bench) -> None:
    bench.files["train.py"] = PREAMBLE + "(out / 'x').write_text('x'); wait('go'); save(9, 1)"
    child = bench.child()
    child.clear("")
    record = json.dumps({"format": 1, "step": 7, "complete": False, "attempt": 1, "number": 4})
    child.restore("checkpoint/step-000000000007/checkpoint.json", 0o644, [record.encode()])
    child.start(start_of(2, resumed_step=7))
    never_saved(child, 1.2)
    assert child.step() == 7
    go(bench)
    assert await_saved(child).step == 9


def test_outputs_are_those_of_the_moment_of_the_save(bench: Bench) -> None:
    """A copy, and a link to a file that has grown since; one that was rewritten is a change."""
    child = bench.run(
        PREAMBLE + "(run / 'kept').mkdir()\n"
        "def keep(name, how):\n"
        "    s = (out / name).stat(); kept = f'{s.st_ino:x}-{s.st_mtime_ns:x}-{s.st_size:x}'\n"
        "    how(out / name, run / 'kept' / kept)\n"
        "    return {'path': name, 'bytes': s.st_size, 'mode': 0o600, 'kept': kept}\n"
        "for name in ('small', 'large', 'rewritten'): (out / name).write_text('then')\n"
        "outputs = [keep('small', shutil.copyfile), keep('large', os.link)]\n"
        "(out / 'small').write_text('now!')\n"
        "with open(out / 'large', 'a') as file: file.write(' and now')\n"
        "save(1, 1, outputs=outputs); say('one'); wait('go')\n"
        "outputs = [keep('rewritten', os.link)]\n"
        "time.sleep(0.02); (out / 'rewritten').write_text('anew')\n"
        "save(2, 2, outputs=outputs); say('two'); wait('end')"
    )
    saved = await_saved(child)
    found = content(saved)
    assert (found["output/small"], found["output/large"]) == (b"then", b"then")
    assert {file.mode for file in saved.files if file.path.startswith("output/")} == {0o600}
    go(bench)
    until(said(child, "two"), "it saved again")
    with pytest.raises(Changed):
        content(await_saved(child, after=1))
    child.end()
    last = {file.path: b"".join(file.chunks(0, file.bytes)) for file in child.outputs().files}
    assert last == {"output/small": b"now!", "output/large": b"then and now", "output/rewritten": b"anew"}


# An unmodified script's.


def test_files_are_taken_when_they_are_quiet(bench: Bench) -> None:
    child = bench.run(
        PREAMBLE + "(ckpt / 'ckpt-120.pt').write_text('weights'); (out / 'best.txt').write_text('best'); wait('go')\n"
        "(ckpt / 'ckpt-240.pt').write_text('more'); wait('end')"
    )
    saved = await_saved(child)
    assert (saved.number, saved.step, saved.complete) == (1, 120, False)
    assert content(saved) == {"checkpoint/ckpt-120.pt": b"weights", "output/best.txt": b"best"}
    never_saved(child, 0.8, after=1)
    assert child.step() == 120
    go(bench)
    second = await_saved(child, after=1)
    assert (second.number, second.step) == (2, 240)
    assert sorted(content(second)) == ["checkpoint/ckpt-120.pt", "checkpoint/ckpt-240.pt", "output/best.txt"]
    before = {file.path: file.identity for file in saved.files}
    after = {file.path: file.identity for file in second.files}
    assert {path for path in before if before[path] == after[path]} == set(before), "what is unchanged is known as such"


@pytest.mark.parametrize("how", ["open", "mapped", "by a child"])
def test_a_file_that_is_open_for_writing_is_not_taken(bench: Bench, how: str) -> None:
    """However quiet it is."""
    scripts = {
        "open": "file = open(ckpt / 'last.bin', 'wb', buffering=0); file.write(b'half'); say('half'); wait('go')\n"
        "file.write(b' whole'); file.close()",
        "mapped": "import mmap\nfile = open(ckpt / 'last.bin', 'w+b'); file.write(b'half      '); file.flush()\n"
        "m = mmap.mmap(file.fileno(), 0); file.close()\n"
        "for fd in os.listdir('/proc/self/fd'):  # Python keeps one of its own\n"
        "    try:\n"
        "        if os.readlink(f'/proc/self/fd/{fd}').endswith('last.bin'): os.close(int(fd))\n"
        "    except OSError: pass\n"
        "say('half'); wait('go'); m[:10] = b'half whole'; m.close()",
        "by a child": "import subprocess\nopen(ckpt / 'last.bin', 'wb').write(b'half')\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import sys; f = open(sys.argv[1], \"ab\"); "
        'sys.stdin.read(); f.write(b" whole")\', ckpt / "last.bin"], stdin=subprocess.PIPE)\n'
        "say('half'); wait('go'); p.communicate()",
    }
    child = bench.run(PREAMBLE + scripts[how] + "\nsay('done'); wait('end')")
    until(said(child, "half"), "half of it is written")
    never_saved(child, 1.2)
    go(bench)
    until(said(child, "done"), "it is written")
    assert content(await_saved(child)) == {"checkpoint/last.bin": b"half whole"}


def test_a_file_that_is_opened_again_and_again_is_not_taken_in_between(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "SETTLE_SECONDS", 3.0)  # a hundred times as long as it rests: also on a busy machine
    child = bench.run(
        PREAMBLE + "for i in range(40):\n"
        "    with open(ckpt / 'last.bin', 'ab') as file: file.write(b'%03d' % i)\n"
        "    time.sleep(0.03)\n"
        "wait('end')"
    )
    assert len(content(await_saved(child))["checkpoint/last.bin"]) == 120


def test_a_file_that_keeps_checkpoints_from_being_taken_is_named_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "HELD_UP_SECONDS", 0.5)
    child = bench.run(
        PREAMBLE + "held = open(ckpt / 'index.dat', 'w'); held.write('x'); held.flush()\n"
        "(ckpt / 'step-1.json').write_text('{}'); wait('go'); held.close(); say('closed'); wait('end')"
    )
    until(lambda: child.saved(0, last=False) is not None or "`index.dat` is open" in log(child), "a word about it")
    never_saved(child, 0.5)
    assert log(child).count("no checkpoint was taken") == 1
    go(bench)
    assert sorted(content(await_saved(child))) == ["checkpoint/index.dat", "checkpoint/step-1.json"]


def test_a_torn_file_is_refused_until_it_is_whole(bench: Bench) -> None:
    child = bench.run(
        PREAMBLE + "with zipfile.ZipFile('good.zip', 'w') as z: z.writestr('data', b'd' * 5000)\n"
        "data = Path('good.zip').read_bytes()\n"
        "(ckpt / 'last.pt').write_bytes(data[:3000]); say('torn'); wait('go')\n"
        "(ckpt / 'last.pt').write_bytes(data); wait('end')"
    )
    until(said(child, "torn"), "it is torn")
    never_saved(child, 2.5)
    go(bench)
    saved = await_saved(child)
    assert len(content(saved)["checkpoint/last.pt"]) > 5000


def test_an_odd_output_does_not_hold_up_the_checkpoints_for_ever(bench: Bench) -> None:
    child = bench.run(
        PREAMBLE + "(out / 'odd.json').write_text('{ half'); held = open(out / 'db.sqlite', 'wb')\n"
        "held.write(b'x'); held.flush(); (ckpt / 'a.bin').write_text('a'); wait('end')"
    )
    assert content(await_saved(child)) == {"checkpoint/a.bin": b"a", "output/odd.json": b"{ half"}


def test_a_log_that_is_written_all_the_time_is_taken_up_to_where_it_is(bench: Bench) -> None:
    child = bench.run(
        PREAMBLE + "(ckpt / 'a.bin').write_text('a')\n"
        "with open(out / 'log.csv', 'w', buffering=1) as log, open(ckpt / 'events.out.tfevents.1', 'w', buffering=1) as e:\n"
        "    i = 0\n"
        "    while not Path('end').exists():\n"
        "        log.write(f'{i}\\n'); e.write('x\\n'); i += 1; time.sleep(0.01)"
    )
    found = content(await_saved(child))
    assert found["checkpoint/a.bin"] == b"a"
    rows = found["output/log.csv"].decode().split("\n")
    assert rows[:-1] == [str(number) for number in range(len(rows) - 1)]
    assert found["checkpoint/events.out.tfevents.1"].startswith(b"x\nx\n")
    never_saved(child, 1.2, after=1)  # a log that grows is nothing new


def test_files_that_are_replaced_while_they_are_uploaded_are_still_whole(bench: Bench) -> None:
    child = bench.run(
        PREAMBLE + "def put(text):\n"
        "    (ckpt / 'tmp').write_text(text); time.sleep(0.02); os.rename(ckpt / 'tmp', ckpt / 'last.bin')\n"
        "put('one'); wait('go'); put('two'); say('two'); wait('end')"
    )
    saved = await_saved(child)
    go(bench)
    until(said(child, "two"), "it was replaced")
    assert content(saved) == {"checkpoint/last.bin": b"one"}
    assert content(await_saved(child, after=1)) == {"checkpoint/last.bin": b"two"}


def test_a_file_that_is_rewritten_in_place_while_it_is_uploaded_is_a_change(bench: Bench) -> None:
    child = bench.run(
        PREAMBLE + "(ckpt / 'last.bin').write_text('one'); wait('go'); (ckpt / 'last.bin').write_text('two')\n"
        "say('two'); wait('end')"
    )
    saved = await_saved(child)
    go(bench)
    until(said(child, "two"), "it was rewritten")
    with pytest.raises(Changed):
        content(saved)
    assert content(await_saved(child, after=1)) == {"checkpoint/last.bin": b"two"}


def test_outputs_alone_are_no_checkpoint(bench: Bench) -> None:
    child = bench.run(PREAMBLE + "(out / 'log.csv').write_text('row'); wait('go')")
    never_saved(child, 1.2)
    go(bench)
    wait_for_exit(child)
    assert child.saved(0, last=True) is None
    assert [file.path for file in child.outputs().files] == ["output/log.csv"]


def test_outputs_that_somebody_removed_with_their_machine_are_no_end_without_outputs(bench: Bench) -> None:
    child = bench.run(PREAMBLE + "(out / 'model').write_text('m')")
    wait_for_exit(child)
    shutil.rmtree(bench.paths.path)
    with pytest.raises(SystemExit):
        child.outputs()


def test_what_was_restored_is_no_save_and_steps_never_go_back(bench: Bench) -> None:
    bench.files["train.py"] = PREAMBLE + "wait('go'); (ckpt / 'last.bin').write_text('two'); wait('end')"
    child = bench.child()
    child.clear("")
    child.restore("checkpoint/last.bin", 0o644, [b"one"])
    child.restore("output/log.csv", 0o644, [b"row"])
    child.start(start_of(2, resumed_step=30))
    never_saved(child, 1.2)
    go(bench)
    assert await_saved(child).step == 31


def test_an_agent_that_is_started_again_knows_what_was_saved(bench: Bench) -> None:
    child = bench.run(
        PREAMBLE
        + "(ckpt / 'ckpt-5.bin').write_text('a'); wait('go'); (ckpt / 'ckpt-6.bin').write_text('b'); wait('end')"
    )
    first = await_saved(child)
    again = bench.child()
    assert (await_saved(again).number, await_saved(again).step) == (first.number, first.step)
    go(bench)
    assert (await_saved(again, after=1).number, await_saved(again, after=1).step) == (2, 6)


def test_links_inside_are_followed_and_links_outside_are_not(bench: Bench) -> None:
    child = bench.run(
        PREAMBLE + "(ckpt / 'epoch-3.bin').write_text('w'); os.symlink('epoch-3.bin', ckpt / 'last.bin')\n"
        "os.symlink('/etc', ckpt / 'etc'); os.symlink('/etc/hostname', out / 'host'); os.symlink('.', ckpt / 'self')\n"
        "os.symlink('nowhere', ckpt / 'broken'); os.mkfifo(ckpt / 'fifo'); wait('end')"
    )
    found = content(await_saved(child))
    assert found == {"checkpoint/epoch-3.bin": b"w", "checkpoint/last.bin": b"w"}


def test_the_users_own_directories_may_lie_in_one_another(bench: Bench) -> None:
    child = bench.run(
        PREAMBLE + "assert (ckpt, out) == (Path.cwd() / 'out/ckpt', Path.cwd() / 'out')\n"
        "(ckpt / 'a.bin').write_text('a'); (out / 'b').write_text('b'); wait('go')",
        checkpoint_dir="out/ckpt",
        output_dir="out",
    )
    assert content(await_saved(child)) == {"checkpoint/a.bin": b"a", "output/b": b"b"}
    go(bench)
    wait_for_exit(child)
    assert sorted(file.path for file in child.outputs().files) == ["output/b", "output/ckpt/a.bin"]


# At the end.


def test_what_a_trainer_wrote_last_is_taken_at_its_end(bench: Bench) -> None:
    child, exit = bench.finish(PREAMBLE + "(ckpt / 'ckpt-9.bin').write_text('last'); (ckpt / 'empty').touch()")
    assert exit.code == 0
    saved = child.saved(0, last=True)
    assert saved is not None and saved.step == 9
    assert content(saved) == {"checkpoint/ckpt-9.bin": b"last", "checkpoint/empty": b""}
    assert child.saved(saved.number, last=True) is None


@pytest.mark.parametrize("name", ["last.bin", "last.json", "last.npy"])
def test_a_file_that_a_kill_may_have_cut_is_not_taken(bench: Bench, name: str) -> None:
    half = (
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (100,), }"
        if "npy" in name
        else b'{"a": '
    )
    child = bench.run(
        PREAMBLE + f"file = open(ckpt / {name!r}, 'wb'); file.write({half!r}); file.flush(); say('half'); wait('end')"
    )
    until(said(child, "half"), "half of it is written")
    child.end()
    assert child.saved(0, last=True) is None


def test_a_file_that_was_whole_before_the_kill_is_taken(bench: Bench) -> None:
    child = bench.run(
        PREAMBLE
        + "(ckpt / 'tmp').write_text('renamed'); time.sleep(0.02); os.rename(ckpt / 'tmp', ckpt / 'last.bin')\n"
        "(ckpt / 'state.json').write_text('{}'); say('whole'); wait('end')"
    )
    until(said(child, "whole"), "it is written")
    child.end()
    saved = child.saved(0, last=True)
    assert saved is not None
    assert content(saved) == {"checkpoint/last.bin": b"renamed", "checkpoint/state.json": b"{}"}


def test_where_openness_cannot_be_seen_quiet_takes_longer(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "SETTLE_SECONDS_UNSEEN", 1.5)
    child = bench.run(PREAMBLE + "(ckpt / 'a.bin').write_text('a'); say('written'); wait('end')")
    until(said(child, "written"), "it is written")
    monkeypatch.setattr(system, "LINUX", False)
    asks = "a program is started each time, for an answer that shows nothing"
    monkeypatch.setattr(child._settling, "processes", lambda: pytest.fail(asks))
    never_saved(child, 0.8)
    assert content(await_saved(child)) == {"checkpoint/a.bin": b"a"}


@pytest.mark.parametrize(
    ("paths", "number"),
    [
        (["ckpt-120.pt"], 120),
        (["checkpoint-500/model.safetensors", "checkpoint-1000/rng_state_0.pth"], 1000),
        (["epoch=3-step=120.ckpt"], 120),
        (["step120.pt", "model_v2.pt"], 120),
        (["model-00001-of-00003.bin"], 0),
        (["weights.h5", "a.mp4"], 0),
        (["run-2026-11-15/last.pt", "20261115_last.pt"], 0),
        (["events.out.tfevents.1794776984.host.3"], 0),
        (["iter_0000300"], 300),
        (["ckpt.7"], 7),
        (["a1b2c3d4.pt"], 0),
        (["last.pt"], 0),
    ],
)
def test_the_step_is_the_highest_number_in_a_name(paths: list[str], number: int) -> None:
    assert unmodified.number_in(f"checkpoint/{path}" for path in paths) == number


def test_looking_costs_little_however_many_files_there_are(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number}").write_text("x")
    looks = []
    watching = settle.Settling(str(tmp_path), str(tmp_path / "out"), list, SYSTEM)
    scan = watching.scan
    watching.scan = lambda: looks.append(1) or scan()  # type: ignore[method-assign]
    for _ in range(1000):
        watching.look()
    assert len(looks) < 20, "asked too early it does not look"


class HandClock(SystemClock):
    """Turned by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


def test_a_look_that_was_held_up_is_not_weighed_and_one_that_is_always_slow_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = HandClock()
    watching = settle.Settling(str(tmp_path), str(tmp_path / "out"), list, clock)
    looked_at: list[float] = []
    scan = watching.scan

    def look_for(seconds: float, looks: int) -> float:
        """The time between the last two of so many looks that take so long."""

        def slow() -> dict[str, Seen]:
            looked_at.append(clock.seconds)
            clock.seconds += seconds
            return scan()

        monkeypatch.setattr(watching, "scan", slow)
        looked_at.clear()
        while len(looked_at) < looks:
            watching.look()
            clock.seconds += 0.01
        return looked_at[-1] - looked_at[-2]

    assert look_for(0.0, 3) < 0.25
    assert look_for(0.05, 2) < 0.3, "the one before was held up"
    assert look_for(0.05, 6) > 5.0, "all of them take so long"


@pytest.mark.parametrize("held", [False, True])
def test_a_change_is_seen_before_during_and_after_reading(tmp_path: Path, held: bool) -> None:
    path = tmp_path / "last.bin"
    for moment in ("before", "during"):
        path.write_bytes(bytes(3 << 20))
        file = DiskFile("checkpoint/last.bin", str(path), Seen.of(path.stat()))
        if held:
            file.hold()
        SYSTEM.sleep(0.01)  # the file system's clock ticks
        read = 0
        if moment == "before":
            path.write_bytes(b"x" * (3 << 20))
        with pytest.raises(Changed):
            for chunk in file.chunks(0, file.bytes):
                read += len(chunk)
                if moment == "during":
                    path.write_bytes(b"x" * (3 << 20))
        assert (read == 0) == (moment == "before"), "nothing is sent for nothing"
        file.release()
