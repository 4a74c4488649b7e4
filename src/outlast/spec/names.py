"""What may be called what: job ids, names and labels. A wrong one is answered with a legal one."""

from __future__ import annotations

import re
import unicodedata
from random import Random

from outlast.errors import UsageError
from outlast.pattern import pattern

JOB_ID_LENGTH_MAX = 40
"""An id becomes part of resource names and labels, whose limit is 63 in every cloud."""

SUFFIX_LENGTH = 6
SUFFIX_LETTERS = "bcdfghjkmnpqrstvwxz23456789"
"""No vowels, so no words; nothing that is read for something else."""

NAME_LENGTH_MAX = JOB_ID_LENGTH_MAX - 1 - SUFFIX_LENGTH
LABEL_LENGTH_MAX = 63
LABEL_WORDS_MAX = 256
"""Of a label as it is typed: what a cloud has of it is shorter (see spec/sweep/labels.py)."""

_JOB_ID = pattern(r"[a-z0-9][a-z0-9-]{0,39}")
_SHOWN_LENGTH_MAX = 60


def check_said(text: str) -> str:
    """An empty value is most often a variable of a script that was never set: what it stands for must not be guessed."""
    if text:
        return text
    raise UsageError("an empty value says nothing", hint="leave it out for the default, or give it a value")


def job_id(name: str, random: Random) -> str:
    """`<name>-<short random>`."""
    suffix = "".join(random.choice(SUFFIX_LETTERS) for _ in range(SUFFIX_LENGTH))
    return f"{legal_name(name)}-{suffix}"


def check_job_id(text: str, option: str = "--job-id") -> str:
    """`option`: by which it was given."""
    if _JOB_ID.fullmatch(text):
        return text
    raise UsageError(
        f"{shown(text)} cannot be a job id: at most {JOB_ID_LENGTH_MAX} of a-z, 0-9 and `-`, the first one no `-`",
        hint=f"`{option} {legal_name(text, JOB_ID_LENGTH_MAX)}`",
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
    """`k=v`, split at the first `=`, in the words in which it was typed: a cloud's rules are for what is put there."""
    key, equals, value = text.partition("=")
    key = key.strip()
    if equals and key and text.isprintable() and len(key) <= LABEL_WORDS_MAX and len(value) <= LABEL_WORDS_MAX:
        return key, value
    before, colon, behind = text.partition(":")
    likely = (before, behind) if colon and not equals else (key, value)
    typed = [re.sub(r"[^a-z0-9_-]+", "-", _folded(word))[:LABEL_LENGTH_MAX] for word in likely]
    raise UsageError(
        f"{shown(text)} is no label: `key=value`, each of at most {LABEL_WORDS_MAX} characters, none of them a control character",
        hint=f"`--label {typed[0].strip('-') or 'key'}={typed[1]}`",
    )


def shown(text: str) -> str:
    """What was typed, in backticks, safe to print: no control characters, not endless."""
    safe = "".join(one if one.isprintable() else one.encode("unicode_escape", "surrogatepass").decode() for one in text)
    return f"`{safe}`" if len(safe) <= _SHOWN_LENGTH_MAX else f"`{safe[:_SHOWN_LENGTH_MAX]}...`"


def one_spelling(path: str) -> str:
    """Equal for paths that a file system may take for one: a Mac's does not tell case, nor how a letter is composed."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
