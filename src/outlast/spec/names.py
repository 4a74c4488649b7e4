"""What may be called what: job ids, names and labels. A wrong one is answered with its legal form."""

from __future__ import annotations

import re
import unicodedata
from random import Random

from outlast.errors import UsageError

JOB_ID_LENGTH_MAX = 40
"""An id becomes part of resource names and labels, whose limit is 63 in every cloud."""

SUFFIX_LENGTH = 6
SUFFIX_LETTERS = "bcdfghjkmnpqrstvwxz23456789"
"""No vowels, so no words; nothing that is read for something else."""

NAME_LENGTH_MAX = JOB_ID_LENGTH_MAX - 1 - SUFFIX_LENGTH
LABELS_MAX = 32
LABEL_LENGTH_MAX = 63

_JOB_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
_SHOWN_LENGTH_MAX = 60


def job_id(name: str, random: Random) -> str:
    """`<name>-<short random>`."""
    suffix = "".join(random.choice(SUFFIX_LETTERS) for _ in range(SUFFIX_LENGTH))
    return f"{legal_name(name)}-{suffix}"


def check_job_id(text: str) -> str:
    if _JOB_ID.fullmatch(text):
        return text
    raise UsageError(
        f"{shown(text)} cannot be a job id: at most {JOB_ID_LENGTH_MAX} of a-z, 0-9 and `-`, the first one no `-`",
        hint=f"`--job-id {legal_name(text, JOB_ID_LENGTH_MAX)}`",
    )


def check_name(text: str) -> str:
    """A job's name has the form of an id and is shorter, so that an id can be made of it."""
    if len(text) <= NAME_LENGTH_MAX and _JOB_ID.fullmatch(text):
        return text
    raise UsageError(
        f"{shown(text)} cannot be a name: at most {NAME_LENGTH_MAX} of a-z, 0-9 and `-`, the first one no `-`",
        hint=f"`--name {legal_name(text)}`",
    )


def name_of_target(text: str) -> str:
    """`src/Train_v2.py` -> `train-v2`, `pkg.training` -> `training`, `pkg.__main__` -> `pkg`."""
    last = text.rstrip("/").rpartition("/")[2]
    stem = re.sub(r"\.(py|sh|bash)$", "", last)
    words = [word for word in stem.split(".") if word.strip("_") not in ("", "main")]
    return legal_name(words[-1] if words else stem)


def legal_name(text: str, length_max: int = NAME_LENGTH_MAX) -> str:
    """The nearest legal name; `job` where nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", _folded(text)).strip("-")[:length_max].rstrip("-") or "job"


def check_label(text: str) -> tuple[str, str]:
    """`k=v`, by the rules that every cloud's labels have in common."""
    key, equals, value = text.partition("=")
    key = key.strip()
    if equals and _LABEL_KEY.fullmatch(key) and _LABEL_VALUE.fullmatch(value):
        return key, value
    legal_key = re.sub(r"[^a-z0-9_-]+", "-", _folded(key)).lstrip("-_0123456789")[:LABEL_LENGTH_MAX] or "label"
    legal_value = re.sub(r"[^a-z0-9_-]+", "-", _folded(value))[:LABEL_LENGTH_MAX]
    raise UsageError(
        f"{shown(text)} is no label: `key=value`, each at most {LABEL_LENGTH_MAX} of a-z, 0-9, `_` and `-`, "
        "the key's first one a letter",
        hint=f"`--label {legal_key}={legal_value}`",
    )


def shown(text: str) -> str:
    """What was typed, in backticks, safe to print: no control characters, not endless."""
    safe = "".join(one if one.isprintable() else one.encode("unicode_escape", "surrogatepass").decode() for one in text)
    return f"`{safe}`" if len(safe) <= _SHOWN_LENGTH_MAX else f"`{safe[:_SHOWN_LENGTH_MAX]}...`"


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
