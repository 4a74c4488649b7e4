"""What one worker may ask for: whole processors and graphics cards."""

from __future__ import annotations

from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.names import shown

CPUS_MAX = 4096
GPUS_MAX = 64

_GPUS = pattern(r"(?:(?P<count>[0-9]{1,6})[xX])?(?P<type>[A-Za-z][A-Za-z0-9-]{0,40})")


def parse_count(option: str, text: str, lowest: int, highest: int) -> int:
    """A whole number as it was typed."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise UsageError(f"`{option}` is a whole number, not {shown(text)}", hint=f"`{option} {max(lowest, 1)}`")
    return _within(option, int(text[:20]), lowest, highest)


def parse_gpus(text: str) -> tuple[int, str]:
    """How many, and of which type: `2`, `L4`, `4xA100`. Whether there is such a type, a catalog says."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit():
        return parse_count("--gpus", text, 0, GPUS_MAX), ""
    typed = _GPUS.fullmatch(text)
    if typed is None:
        raise UsageError(
            f"`--gpus` is a number, a type, or both, not {shown(text)}",
            hint="`--gpus 2`, `--gpus L4` or `--gpus 4xA100`; `outlast run --help` says more",
        )
    return parse_count("--gpus", typed["count"] or "1", 1, GPUS_MAX), typed["type"]


def _within(option: str, count: int, lowest: int, highest: int) -> int:
    if not lowest <= count <= highest:
        raise UsageError(
            f"`{option} {count}` is not between {lowest} and {highest:,}",
            hint=f"`{option} {min(max(count, lowest), highest)}`",
        )
    return count
