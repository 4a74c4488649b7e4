"""Options that several commands share, and the values that they take."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from outlast.errors import OutlastError, UsageError

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # not generic in every click 8


class Value(ParamType):
    """A value in words of our own: `read` raises ValueError, or an error that says what is legal."""

    def __init__(self, name: str, read: Callable[[str], Any], legal: str) -> None:
        self.name = name
        self._read = read
        self._legal = legal

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        option = param.opts[0] if isinstance(param, click.Option) else _argument(param) or self.name
        try:
            return self._read(value)
        except ValueError:
            raise UsageError(f"`{option}` is `{value}`, and that is not {self._legal}", hint=_hint(ctx)) from None
        except OutlastError as error:
            named = error.message if error.message.startswith(f"`{option}") else f"`{option}`: {error.message}"
            raise UsageError(named, state=error.state, hint=error.hint) from error


def _argument(param: click.Parameter | None) -> str:
    """As the usage line calls it."""
    return (param.metavar or "").strip("[]") if isinstance(param, click.Argument) else ""


def _hint(ctx: click.Context | None) -> str:
    return "" if ctx is None else f"`{ctx.command_path} --help`"


def whole(least: int, most: int = 10**9) -> Value:
    def read(text: str) -> int:
        number = int(text)
        if not least <= number <= most or not text.isascii():
            raise ValueError
        return number

    return Value("n", read, f"a whole number of at least {least}" if most == 10**9 else f"between {least} and {most:,}")


def _read_number(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number


def _read_duration(text: str) -> float:
    from outlast.spec.duration import parse_duration

    return parse_duration(text)


def _read_max_run(text: str) -> float:
    from outlast.spec.settings import parse_max_run

    return parse_max_run(text)


def _read_text(text: str) -> str:
    from outlast.spec.names import check_said

    return check_said(text)


def _read_words(text: str) -> tuple[str, ...]:
    return tuple(shlex.split(text))


NUMBER = Value("x", _read_number, "a number of at least 0")
DURATION = Value("duration", _read_duration, "a duration such as `90s`, `30m`, `2h` or `7d`")
MAX_RUN = Value("duration", _read_max_run, "a duration such as `90s`, `30m`, `2h` or `7d`")
TEXT = Value("text", _read_text, "a text")
WORDS = Value("words", _read_words, "made of words as a shell takes them: a quotation mark is left open")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, everything else on stderr.")
CLOUD_KEY = "OUTLAST_CLOUD_KEY"
"""Where a key stands that no command line names; `--cloud-key` stands above it."""


def _name_key(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """For this command, and for the agents of what it starts."""
    if value is not None:
        if not value.strip():
            raise UsageError("`--cloud-key` is empty", hint=_hint(ctx))
        os.environ[CLOUD_KEY] = os.path.abspath(os.path.expanduser(value))


cloud_key_option = click.option(
    "--cloud-key",
    metavar="FILE",
    expose_value=False,
    callback=_name_key,
    help="A key to use instead of gcloud's login, for homes in buckets.",
)


def home_option(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Which homes are looked into, and who asks."""
    home = click.option(
        "--home",
        type=TEXT,
        metavar="URL",
        help="Look in this home only (a directory or `gs://BUCKET`), not in all that you have used.",
    )
    return home(cloud_key_option(callback))


_GROUP = "outlast.xgroup"


def _keep_group(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.meta[_GROUP] = value


def named_group(ctx: click.Context) -> str | None:
    """The sweep that an older tool's `--xgroup` names."""
    found: str | None = ctx.meta.get(_GROUP)
    return found


def _has_cells(ctx: click.Context) -> bool:
    return any(param.name == "cell" for param in ctx.command.params)


def _or_group(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    group = named_group(ctx)
    if group is not None and value is not None and value.isdecimal() and _has_cells(ctx):
        return f"{group}.{value}"  # the first word of `logs --xgroup SWEEP 21` is a cell
    if group is not None and value is not None:
        raise UsageError(f"`--xgroup {group}` and `{value}` are two jobs", hint=_hint(ctx))
    return value if group is None else group


group_option = click.option(
    "--xgroup",
    metavar="NAME",
    hidden=True,
    is_eager=True,
    expose_value=False,
    callback=_keep_group,
    help="The sweep, as an older tool named it.",
)


def job_argument(callback: Callable[..., Any]) -> Callable[..., Any]:
    """A job, a sweep or a cell; a sweep also as an older tool named it."""
    return group_option(click.argument("job", required=False, metavar="[JOB]", callback=_or_group)(callback))


cell_argument = click.argument("cell", required=False, type=whole(1), metavar="[CELL]")
