"""The value of a secret, as a variable of a process can hold it and a log can be masked for it. No message repeats it."""

from __future__ import annotations

from outlast.errors import UsageError
from outlast.spec.environment import VALUE_BYTES_MAX

VALUE_CHARACTERS_MIN = 4
"""A shorter value could not be masked: it stands in every log by chance."""


def secret_text(data: bytes, reference: object, state: str = "") -> str:
    """Without the newline that an editor, or `echo`, has put behind it."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageError(
            f"the value of `{reference}` is not UTF-8", state=state, hint="encode it, as base64 for example"
        ) from None
    return check_value(text.removesuffix("\n").removesuffix("\r"), reference, state)


def check_value(value: str, reference: object, state: str = "") -> str:
    if len(value) < VALUE_CHARACTERS_MIN:
        raise UsageError(
            f"the value of `{reference}` is shorter than {VALUE_CHARACTERS_MIN} characters, and could not be masked",
            state=state,
            hint="what is that short is no secret: `--env-plain`",
        )
    if "\0" in value or len(value.encode(errors="surrogateescape")) > VALUE_BYTES_MAX:
        raise UsageError(
            f"the value of `{reference}` is above {VALUE_BYTES_MAX:,} bytes or holds a NUL",
            state=state,
            hint="no variable of a process can hold it",
        )
    return value
