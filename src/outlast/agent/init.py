"""The tiny parent of agent and trainer on one machine: starts both, and writes down how the trainer ended.

Single-threaded and asleep: it wakes for a signal, a byte from the agent, or a time limit. Whoever kills it kills the
machine; whoever kills the agent gets a new one that finds everything as it was.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence

from outlast.agent import agent_process, trainer_process
from outlast.agent.agent_process import EXIT_AGENT_AGAIN, EXIT_AGENT_DONE, EXIT_AGENT_SPARE
from outlast.clock import SYSTEM, Clock
from outlast.dataclass import dataclass
from outlast.host import files, health, system
from outlast.host.machine_dir import NOTICE_SECONDS_DEFAULT, ORPHAN_SECONDS_MAX, Assignment, MachineDir
from outlast.host.process import Process
from outlast.host.series import Follower, Leader, pair

EXIT_LEFT = 0
EXIT_DIED = 1
ORDER_START, ORDER_TERM, ORDER_END = b"s", b"t", b"e"
"""What the agent asks for: start what `trainer.json` says; SIGTERM to the trainer's group; end it with all that it started."""

TIDING_EXIT, TIDING_NOTICE = b"x", b"n"

AGENT_SOUND_SECONDS = 60.0
AGENT_BACKOFF_SECONDS = (0.0, 0.1, 0.5, 2.0, 10.0, 30.0)
"""How long to wait before the next agent, by how many in a row did not live for AGENT_SOUND_SECONDS."""

CLEAR_SECONDS_MAX = 30.0
"""What SIGKILL has not ended by then hangs in the kernel."""

LOOK_SECONDS_MAX = 2.0
"""The wall clock may have been set, and the directory removed: deadlines and the directory are looked at this often."""


def run(
    directory: str,
    boot: Callable[[str], int],
    follower: Follower | None = None,
    clock: Clock = SYSTEM,
    program: Sequence[str] = (),
) -> int:
    """A machine's whole life, in the process that calls it; returns its exit code. With a follower: one machine after another.

    `program`: what its agent is, where it may not be a copy of this process (see `agent_process.be`).
    """
    if os.getsid(0) != os.getpid():
        os.setsid()
    gc.disable()
    system.become_subreaper()
    system.name_process("outlast-init")
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    agent: Agent | None = None
    while True:
        paths = MachineDir(directory)
        if not begin(paths):
            return EXIT_DIED  # a supervisor gave this machine up before it began
        assignment = paths.read_assignment()
        if assignment.files_max:
            health.allow_files(assignment.files_max)
        init = Init(paths, assignment, boot, clock, agent, series=follower is not None, program=program)
        code = init.live()
        agent = init.close()
        following = follower.following() if follower is not None and agent is not None else None
        if following is None:
            return code
        directory = following


def begin(paths: MachineDir) -> bool:
    """False: it may not. Where this process is named already, the directory is that of the machine that it was before, and its log too."""
    me = Process.me()
    if Process.read(files.read_json(paths.init)) == me:
        return True
    try:
        if not files.create(paths.init, me.encode()):
            return False
    except FileNotFoundError:
        return False  # its directory is buried already
    agent_process.redirect(paths.log)
    return True


@dataclass
class Agent:
    """The agent's process, as its parent holds it."""

    pid: int
    leader: Leader | None
    """None: it is there for one machine only."""


class Init:
    def __init__(
        self,
        paths: MachineDir,
        assignment: Assignment,
        boot: Callable[[str], int],
        clock: Clock,
        agent: Agent | None = None,
        *,
        series: bool = False,
        program: Sequence[str] = (),
    ) -> None:
        """`agent`: of the machine before, and free. `series`: it may stay for the machine after."""
        self.paths = paths
        self.assignment = assignment
        self.boot = boot
        self.clock = clock
        self.exit_code: int | None = None
        self._series = series
        self._program = program
        self._agent = agent
        self._agent_born_at = 0.0
        self._agent_due_at = 0.0
        self._agent_losses = 0
        self._sound_at = clock.monotonic()
        self._trainer: trainer_process.Trainer | None = None
        self._ended_trainer = False
        self._asked_to_leave = False
        self._statuses: dict[int, int] = {}
        self._listen()
        if agent is not None:
            self._take_over(agent)

    def _listen(self) -> None:
        for fifo in (self.paths.orders, self.paths.tidings):
            if not os.path.exists(fifo):
                os.mkfifo(fifo, 0o600)
        # Read and write: neither side's absence is an end of file here, and nothing blocks.
        self._orders = os.open(self.paths.orders, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._tidings = os.open(self.paths.tidings, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._on_term)
        self._poll = select.poll()
        self._poll.register(self._orders, select.POLLIN)
        self._poll.register(self._woken, select.POLLIN)

    def close(self) -> Agent | None:
        """Lets go of all that was this machine's; the agent, if it is free for another one."""
        signal.set_wakeup_fd(-1)
        for descriptor in (self._orders, self._tidings, self._woken, self._wake):
            os.close(descriptor)
        return self._agent

    def live(self) -> int:
        try:
            while self.exit_code is None:
                if self.paths.vanished():
                    self._die()
                else:
                    self._go_on()
        except FileNotFoundError:
            if not self.paths.vanished():
                raise
            self._die()
        return EXIT_DIED if self.exit_code is None else self.exit_code

    def _go_on(self) -> None:
        self._mind_agent()
        if self.exit_code is not None:
            return
        self._poll.poll(self._timeout_milliseconds())
        self._drain(self._woken)
        self._obey(self._drain(self._orders))
        self._reap()
        self._mind_notice()
        self._mind_trainer()

    # Agent.

    def _mind_agent(self) -> None:
        if self._agent is None:
            if self.clock.monotonic() >= self._agent_due_at:
                self._start_agent()
        elif self._agent.pid in self._statuses:
            code = os.waitstatus_to_exitcode(self._statuses.pop(self._agent.pid))
            self._drop_agent()
            if code in (EXIT_AGENT_DONE, EXIT_AGENT_AGAIN, EXIT_AGENT_SPARE):
                self._leave(done=code == EXIT_AGENT_DONE, spare=code == EXIT_AGENT_SPARE)
            else:
                self._lost_agent(code)
        elif self._agent.leader is not None and self._agent.leader.freed():
            if system.children(self._agent.pid):
                # Started for this machine, and it must not outlive it: without its parent it is ours to end.
                os.kill(self._agent.pid, signal.SIGKILL)
                self._drop_agent()
            self._leave(done=True)

    def _start_agent(self) -> None:
        parent = os.getpid()
        leader, follower = pair() if self._series else (None, None)
        self._agent_born_at = self.clock.monotonic()
        pid = os.fork()
        if pid == 0:
            agent_process.be(self.paths, self.boot, parent, follower, self._program)
        if follower is not None:
            follower.close()
        self._agent = Agent(pid, leader)
        self._hear_agent()

    def _take_over(self, agent: Agent) -> None:
        """From the machine before. Whoever has died since is replaced."""
        assert agent.leader is not None
        self._agent_born_at = self.clock.monotonic()
        self._reap()
        if agent.pid in self._statuses or not agent.leader.hand_over(self.paths.path):
            self._statuses.pop(agent.pid, None)
            self._drop_agent()
        self._hear_agent()

    def _hear_agent(self) -> None:
        if self._agent is not None and self._agent.leader is not None:
            self._poll.register(self._agent.leader.hear, select.POLLIN)

    def _drop_agent(self) -> None:
        if self._agent is not None and self._agent.leader is not None:
            try:
                self._poll.unregister(self._agent.leader.hear)
            except KeyError:
                pass  # it was never heard on this machine
            self._agent.leader.close()
        self._agent = None

    def _lost_agent(self, code: int) -> None:
        now = self.clock.monotonic()
        if not os.path.exists(self.paths.up):
            self._say(f"the agent ended with {code} before it was up")
            self._die()
            return
        if now - self._agent_born_at >= AGENT_SOUND_SECONDS:
            self._agent_losses, self._sound_at = 0, now
        if now - self._sound_at >= ORPHAN_SECONDS_MAX:
            self._say(f"no agent stayed alive for {ORPHAN_SECONDS_MAX:.0f} s")
            self._tell_losses(now, given_up=True)
            self._die()
            return
        delay = AGENT_BACKOFF_SECONDS[min(self._agent_losses, len(AGENT_BACKOFF_SECONDS) - 1)]
        self._say(f"the agent ended with {code}; the next one starts in {delay:.1f} s")
        self._agent_losses += 1
        self._tell_losses(now)
        self._agent_due_at = now + delay
        self._start_trainer()  # its last order may have come without the byte
        self._mind_agent()

    def _tell_losses(self, now: float, *, given_up: bool = False) -> None:
        """For whoever looks at the job: nobody but an agent can say anything in its home."""
        document = {"losses": self._agent_losses, "at_monotonic": now}
        try:
            files.put_json(self.paths.losses, {**document, "given_up": True} if given_up else document)
        except OSError:
            pass  # a full disk: the machine goes on without these words

    # Trainer.

    def _obey(self, orders: bytes) -> None:
        for order in (orders[i : i + 1] for i in range(len(orders))):
            if order == ORDER_START:
                self._start_trainer()
            elif order == ORDER_END:
                self._end_trainer()
            elif order == ORDER_TERM and self._trainer is not None:
                self._trainer.terminate()

    def _start_trainer(self) -> None:
        """Once per attempt, however often it is asked."""
        order = trainer_process.read_order(self.paths)
        if order is None or self._trainer is not None or os.path.exists(self.paths.trainer_process(order.attempt)):
            return
        self._ended_trainer = False
        self._trainer = trainer_process.start(self.paths, order, self.assignment.machine)

    def _end_trainer(self) -> None:
        """Whatever the trainer left behind ends as well, also when it is gone itself."""
        self._ended_trainer = True
        self._clear()
        self._mind_trainer()

    def _mind_trainer(self) -> None:
        if self._trainer is None:
            return
        if self._trainer.pid not in self._statuses and self.clock.now() >= self.assignment.deadline_at:
            self._say("the deadline has passed")
            self._ended_trainer = True
            self._clear()
        if self._trainer.pid in self._statuses:
            # Nothing that it started may write behind its back, once its end is told.
            self._clear()
            self._trainer.conclude(self._statuses.pop(self._trainer.pid), killed_by_us=self._ended_trainer)
            self._trainer = None
            self._tell(TIDING_EXIT)

    # The machine.

    def _mind_notice(self) -> None:
        if not self._asked_to_leave:
            return
        self._asked_to_leave = False
        if not os.path.exists(self.paths.notice):
            leave_by = self.clock.monotonic() + NOTICE_SECONDS_DEFAULT
            files.put_json(self.paths.notice, {"leave_by_monotonic": leave_by})
        self._tell(TIDING_NOTICE)

    def _leave(self, *, done: bool, spare: bool = False) -> None:
        self._ended_trainer = True
        self._clear()
        files.put_json(self.paths.left, {"done": done, "spare": spare} if spare else {"done": done})
        left = (self.paths.work, self.paths.run, self.paths.taken, self.paths.spool)
        # In a series the little that is left goes with the directory, or becomes the next one's and is cleared there.
        if not self._series or not files.is_small(left):
            for path in left:
                files.remove(path)
        self.exit_code = EXIT_LEFT

    def _die(self) -> None:
        if self._agent is not None:
            self._kill(self._agent.pid)
            self._drop_agent()
        self._clear()
        self.exit_code = EXIT_DIED

    def _clear(self) -> None:
        """Ends every process below this one but the agent. Orphans are its children, so what is left shows up as such."""
        give_up_at = self.clock.monotonic() + CLEAR_SECONDS_MAX
        groups = [self._trainer.pid] if self._trainer is not None else []
        while True:
            self._reap()
            rest = [pid for pid in system.below(os.getpid(), groups) if self._agent is None or pid != self._agent.pid]
            if not rest or self.clock.monotonic() >= give_up_at:
                return
            for pid in rest:
                self._kill(pid)
            self.clock.sleep(0.001)

    def _kill(self, pid: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return  # gone, or another user's by its own rights (`sudo`): the machine goes on

    def _reap(self) -> None:
        known = [one.pid for one in (self._agent, self._trainer) if one is not None]
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in known:
                self._statuses[pid] = status

    # Words.

    def _timeout_milliseconds(self) -> float | None:
        if self._statuses:
            return 0
        seconds = LOOK_SECONDS_MAX
        if self._agent is None:
            seconds = min(seconds, self._agent_due_at - self.clock.monotonic())
        if self._trainer is not None:
            seconds = min(seconds, self.assignment.deadline_at - self.clock.now())
        return max(0.0, seconds) * 1000 + 1

    def _tell(self, tiding: bytes) -> None:
        try:
            os.write(self._tidings, tiding)
        except BlockingIOError:
            pass  # full of tidings that nobody has read: it will be woken by those

    def _drain(self, descriptor: int) -> bytes:
        try:
            return os.read(descriptor, 4096)
        except BlockingIOError:
            return b""

    def _on_term(self, *_: object) -> None:
        self._asked_to_leave = True

    def _say(self, text: str) -> None:
        try:
            sys.stderr.write(f"init: {text}\n")
            sys.stderr.flush()
        except OSError:
            pass  # a full disk: the machine goes on without this line
