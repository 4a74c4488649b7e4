"""What one worker may ask for: whole processors and graphics cards."""

from __future__ import annotations

from outlast.errors import UsageError
from outlast.spec.names import shown
from outlast.spec.spec import Machine

CPUS_MAX = 4096
GPUS_MAX = 64


def check_machine(cpus: int, gpus: int) -> Machine:
    return Machine(_within("--cpus", cpus, 1, CPUS_MAX), _within("--gpus", gpus, 0, GPUS_MAX))


def parse_count(option: str, text: str, lowest: int, highest: int) -> int:
    """A whole number as it was typed."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise UsageError(f"`{option}` is a whole number, not {shown(text)}", hint=f"`{option} {max(lowest, 1)}`")
    return _within(option, int(text[:20]), lowest, highest)


def _within(option: str, count: int, lowest: int, highest: int) -> int:
    if not lowest <= count <= highest:
        raise UsageError(
            f"`{option} {count}` is not between {lowest} and {highest:,}",
            hint=f"`{option} {min(max(count, lowest), highest)}`",
        )
    return count
