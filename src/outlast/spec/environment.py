"""`--env K=V`: variables for the trainer, and why a secret is not one of them."""

from __future__ import annotations

import re

from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.names import shown

VALUE_BYTES_MAX = 32 * 1024
RESERVED_PREFIX = "OUTLAST_"

_NAME = pattern(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SECRET_NAME = pattern(r"(^|_)(API|ACCESS|PRIVATE)?KEY$|SECRET|PASSWORD|PASSWD|PASSPHRASE|TOKEN(?!IZ)")
"""`TOKENIZERS_PARALLELISM` is a setting, not a token."""

_SECRET_VALUE = pattern(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|(sk-|ghp_|gho_|github_pat_|glpat-|hf_|xox[abp]-|AIza|AKIA|ya29\.)[A-Za-z0-9_\-./+=]{12,}"
)
_HARMLESS_VALUE = pattern(r"[0-9.,]{0,9}|true|false|yes|no", re.IGNORECASE)
"""`MAX_TOKENS=4096` is not a secret either."""


def parse_env(text: str) -> tuple[str, str]:
    """(name, value) of `K=V`. What looks like a secret is refused: everybody who reads the home reads the spec."""
    return check_env(*_split(text, "--env"))


def parse_env_plain(text: str) -> tuple[str, str]:
    """`--env-plain K=V`: somebody insists that it is no secret."""
    return check_env(*_split(text, "--env-plain"), insisted=True)


def _split(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        said = "what was given" if looks_secret("", text) else shown(text)
        raise UsageError(f"{said} is no variable", hint=f"write `{option} NAME=VALUE`")
    return name, value


def check_variable(name: str, option: str = "--env") -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{shown(name)} cannot be the name of a variable: letters, digits and `_`, the first one no digit",
            hint=f"write `{option} {_legal(name)}=VALUE`",
        )
    if name.startswith(RESERVED_PREFIX):
        raise UsageError(f"`{name}` is set by outlast itself", hint=f"no name may begin with `{RESERVED_PREFIX}`")
    return name


def check_env(name: str, value: str, *, insisted: bool = False) -> tuple[str, str]:
    check_variable(name)
    if not insisted and looks_secret(name, value):
        raise UsageError(
            f"`{name}` looks like a secret, and what `--env` sets is stored in the job's folder for all to read",
            hint=f"`--secret {name}=env:{name}` keeps the value out of it; `--env-plain {name}=...` if it is none",
        )
    try:
        size_bytes = len(value.encode())
    except UnicodeEncodeError:
        raise UsageError(f"the value of `{name}` is not UTF-8", hint="put it into a file of the bundle") from None
    if "\0" in value or size_bytes > VALUE_BYTES_MAX:
        raise UsageError(
            f"the value of `{name}` is {size_bytes:,} bytes long or holds a NUL; at most {VALUE_BYTES_MAX:,} fit",
            hint="put it into a file of the bundle",
        )
    return name, value


def looks_secret(name: str, value: str) -> bool:
    if _SECRET_VALUE.search(value):
        return True
    return bool(_SECRET_NAME.search(name.upper())) and not _HARMLESS_VALUE.fullmatch(value)


def _legal(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_").lstrip("0123456789") or "NAME"
