"""What the library tells the person who reads the log: whole lines on stderr, some of them only once."""

from __future__ import annotations

import sys

_said: set[str] = set()


def say(text: str) -> None:
    """Never raises: a closed stderr must not end a training."""
    try:
        sys.stderr.write(f"outlast: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # closed, or there is none (pythonw)
        pass


def say_once(key: str, text: str) -> None:
    if key not in _said:
        _said.add(key)
        say(text)
