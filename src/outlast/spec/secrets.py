"""`--secret NAME=REF`: where a value is found. The value itself stands in no record, no argument and no message."""

from __future__ import annotations

import os
import re
from pathlib import Path

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.environment import check_variable

KINDS = {
    "env": "env:VARIABLE",
    "file": "file:PATH",
    "secret": "secret:NAME",
    "sm": "sm:projects/PROJECT/secrets/NAME[/versions/N]",
}
"""Kind -> how it is written."""

BY_MACHINE = frozenset({"sm"})
"""Kinds whose value the job's machines ask for themselves, wherever they are: Google's Secret Manager."""

ON_THIS_COMPUTER = frozenset(KINDS) - BY_MACHINE
"""Kinds whose value is read here at submit, and kept here for the job's machines."""

LATEST = "latest"

NAME_LENGTH_MAX = 100
_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_VERSION = pattern(
    r"projects/[a-z0-9][a-z0-9.:-]{0,100}/secrets/[A-Za-z0-9_-]{1,255}(/versions/([1-9][0-9]{0,8}|latest))?", re.ASCII
)
_VARIABLE = pattern(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Reference:
    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.what}"


def parse_secret(text: str, directory: Path) -> tuple[str, str]:
    """(variable, reference) of `NAME=REF`. What is not a reference may be the secret itself, and is not repeated."""
    name, equals, reference = text.partition("=")
    if not equals:
        raise UsageError("`--secret` takes a variable and where its value is found", hint=_hint("NAME"))
    return check_secret(name, reference, directory)


def check_secret(name: str, reference: str, directory: Path) -> tuple[str, str]:
    check_variable(name, "--secret")
    try:
        return name, str(parse_reference(reference, directory))
    except UsageError as error:
        raise UsageError(f"`--secret {name}=...`: {error.message}", hint=_hint(name)) from None


def parse_reference(text: str, directory: Path) -> Reference:
    """Files by their absolute path: a resume may be typed elsewhere."""
    kind, colon, what = text.partition(":")
    if not colon or kind not in KINDS or not what or "\0" in text:
        raise UsageError(
            f"what follows is none of {', '.join(f'`{form}`' for form in KINDS.values())}",
            hint="`outlast secret set NAME` keeps a value, and `secret:NAME` refers to it",
        )
    if kind == "file":
        what = os.path.normpath(directory.absolute() / os.path.expanduser(what))
    elif kind == "env" and not _VARIABLE.fullmatch(what):
        raise UsageError("what follows `env:` is no variable's name")
    elif kind == "secret":
        check_secret_name(what)
    elif kind == "sm":
        found = _VERSION.fullmatch(what)
        if found is None:
            raise UsageError(f"what follows `sm:` is not as in `{KINDS['sm']}`")
        what = what if found[1] else f"{what}/versions/{LATEST}"
    return Reference(kind, what)


def check_secret_name(text: str) -> str:
    """A file's name in the user's directory. A wrong one may be the value itself, and is not repeated."""
    if _NAME.fullmatch(text) and len(text) <= NAME_LENGTH_MAX:
        return text
    raise UsageError(
        f"a secret's name has at most {NAME_LENGTH_MAX} letters, digits, `_`, `-` and `.`, and this is none",
        hint="`outlast secret set HF_TOKEN`",
    )


def _hint(name: str) -> str:
    return f"`--secret {name}=env:{name}`, or `outlast secret set {name}` and `--secret {name}=secret:{name}`"
