"""What the trainers really did: where they began, and every byte that they wrote to their logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.agent.child import Start
from outlast.testing.simulation.history import Event
from outlast.testing.simulation.training import OUTPUT

if TYPE_CHECKING:
    from outlast.testing.simulation.machine import SimulatedMachine
    from outlast.testing.simulation.world import World


class Truth:
    def __init__(self, world: World) -> None:
        self._world = world
        self.written: dict[tuple[int, int, str], list[dict[str, bytearray]]] = {}
        """Attempt, rank and stream's machine -> its streams; more than one: the attempt was started twice there."""

    def streams(self, attempt: int, rank: int, machine: str) -> dict[str, bytearray]:
        streams = {"log": bytearray(), "metrics": bytearray()}
        self.written.setdefault((attempt, rank, machine), []).append(streams)
        return streams

    def begins(self, machine: SimulatedMachine, start: Start, files: dict[str, bytes]) -> int:
        """The step at which the trainer begins, by the files that it finds; whatever is wrong with them is a violation."""
        world, training = self._world, self._world.training
        where = f"attempt {start.attempt} rank {start.rank} on {machine.uid}"
        step = training.step_of(files)
        if step != start.resumed_step:
            world.history.violated(f"{where} was told to begin after step {start.resumed_step}, its files say {step}")
        expected = {} if step is None else training.everything(step)
        for path in sorted(expected.keys() | files.keys()):
            if files.get(path) != expected.get(path):
                what = "outputs are" if path.startswith(OUTPUT) else "checkpoint is"
                world.history.violated(f"{where}: the {what} not as of step {step}: `{path}` holds {files.get(path)!r}")
        if start.args != world.args(start.resumed_step is not None):
            world.history.violated(f"{where} was started with {start.args}")
        world.history.happened(
            Event(
                world.schedule.now,
                "begins",
                machine.launch_id,
                start.rank,
                machine.uid,
                f"attempt {start.attempt} after step {step}",
                attempt=start.attempt,
                step=step,
            )
        )
        return step or 0
