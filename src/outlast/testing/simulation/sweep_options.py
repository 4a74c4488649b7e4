"""What a schedule of a sweep is drawn from."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from outlast.dataclass import dataclass


@dataclass
class SweepOptions:
    seed: int
    workers: int
    cells: int
    cell_seconds: float
    bad: frozenset[int]
    """Cells whose script fails."""

    fault_seconds: float
    weather: float
    stop_at: float | None
    share_seconds: float | None = None
    """So long each worker's machines may be paid for; None: no sum limits that."""

    resumes: bool = False
    """Once it was stopped; machines of its first launch may wake up later."""

    refused: bool = False
    """Machines may not leave their group: they stay, and are paid for."""

    @classmethod
    def draw(cls, seed: int) -> SweepOptions:
        random = Random(f"sweep {seed}")
        cells = random.randint(1, 14)
        return cls(
            seed,
            workers=random.randint(1, 5),
            cells=cells,
            cell_seconds=random.choice([1.0, 20.0, 120.0]),
            bad=frozenset(cell for cell in range(1, cells + 1) if random.random() < 0.15),
            fault_seconds=random.uniform(60.0, 900.0),
            weather=random.choice([0.0, 0.02, 0.1]),
            stop_at=random.uniform(5.0, 600.0) if random.random() < 0.25 else None,
            share_seconds=random.choice([None, None, 600.0, 1200.0]),
            resumes=random.random() < 0.7,
            refused=random.random() < 0.2,
        )

    @classmethod
    def draw_poor(cls, seed: int) -> SweepOptions:
        """Whose money is spent before its cells are done, more often than not."""
        random = Random(f"poor {seed}")
        return replace(
            cls.draw(seed),
            cells=random.randint(1, 25),
            cell_seconds=random.choice([20.0, 120.0, 300.0]),
            share_seconds=random.choice([300.0, 600.0, 1200.0]),
            weather=random.choice([0.0, 0.02, 0.1]),
            refused=random.random() < 0.3,
        )
