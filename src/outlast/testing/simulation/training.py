"""What the simulated job computes: a chain of hashes, so that every byte of an uninterrupted training is known beforehand."""

from __future__ import annotations

import hashlib
from dataclasses import field

from outlast.dataclass import dataclass

CHECKPOINT = "checkpoint/"
OUTPUT = "output/"

PHASE_SAVES = 4
"""So many saves in a row have the same `phase`: longer than head keeps one of them."""


@dataclass
class Training:
    """`library`: checkpoints come as whole new folders; otherwise the script rewrites the same files in place."""

    steps: int
    save_every: int
    salt: str
    library: bool = True
    _chain: list[str] = field(default_factory=list)
    _best: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        state, best, best_loss = self.salt, 0, 2.0
        self._chain.append(state)
        self._best.append(0)
        for step in range(1, self.steps + 1):
            state = hashlib.sha256(f"{state} {step}".encode()).hexdigest()[:24]
            self._chain.append(state)
            loss = int(state[:6], 16) / 0xFFFFFF
            if loss < best_loss:
                best, best_loss = step, loss
            self._best.append(best)

    def state(self, step: int) -> str:
        return self._chain[step]

    def checkpoint(self, step: int) -> dict[str, bytes]:
        """The files of the checkpoint at that step. `tokens` never changes; `phase` comes back to what it once was."""
        folder = f"{CHECKPOINT}step-{step:012d}/" if self.library else CHECKPOINT
        phase = step // self.save_every // PHASE_SAVES % 2
        return {
            f"{folder}model.bin": f"model {step} {self.state(step)}\n".encode(),
            f"{folder}optimizer.bin": f"optimizer {step} {self.state(step)}\n".encode(),
            f"{folder}phase.bin": f"phase {phase} {self.salt}\n".encode(),
            f"{folder}tokens.bin": f"tokens {self.salt}\n".encode(),
        }

    def rows(self, first: int, last: int) -> bytes:
        """The rows of `log.csv` for the steps after `first` up to `last`."""
        return "".join(f"{step},{self.state(step)[:8]}\n" for step in range(first + 1, last + 1)).encode()

    def outputs(self, step: int) -> dict[str, bytes]:
        """The outputs after that step: one file that is replaced now and then, one that only grows."""
        if step == 0:
            return {}
        best = self._best[step]
        return {
            f"{OUTPUT}best.bin": f"best {best} {self.state(best)}\n".encode(),
            f"{OUTPUT}log.csv": self.rows(0, step),
        }

    def everything(self, step: int) -> dict[str, bytes]:
        return {**self.checkpoint(step), **self.outputs(step)}

    def step_of(self, files: dict[str, bytes]) -> int | None:
        """The step of a restored checkpoint; None: there is none. The newest folder counts, as for the library."""
        models = sorted(path for path in files if path.startswith(CHECKPOINT) and path.endswith("model.bin"))
        if not models:
            return None
        return int(files[models[-1]].split()[1])
