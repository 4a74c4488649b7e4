"""Every setting that flags, variables and files can give, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.spec import renting
from outlast.spec.duration import parse_duration
from outlast.spec.environment import check_env
from outlast.spec.machine import CPUS_MAX, parse_count
from outlast.spec.names import check_label, check_name, check_said, shown
from outlast.spec.spec import MAX_RUN_SECONDS_DEFAULT

RETRIES_MAX = 1000
MAX_RUN_SECONDS_MIN = 1.0


@dataclass(frozen=True)
class Setting:
    """`read` takes what a file or a variable holds and answers the value, or raises UsageError with the legal form."""

    name: str
    read: Callable[[Any], Any]
    default: Any = None
    variable: str = ""
    """Empty: cannot be given by a variable, because the trainer's own variables have that name."""

    guarded: bool = False
    """Says where data and money go: a repository that was merely cloned may not set it."""


def _text(value: Any) -> str:
    if isinstance(value, str) and "\0" not in value:
        return check_said(value)
    raise UsageError(f"{_seen(value)} is no text", hint='write it as `"text"`')


def _texts(value: Any) -> tuple[str, ...]:
    """One text, or a list of them; none of them is split."""
    return tuple(_text(one) for one in value) if isinstance(value, (list, tuple)) else (_text(value),)


def _count(option: str, lowest: int, highest: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        return parse_count(option, _number_text(value), lowest, highest)

    return read


def _duration(value: Any) -> float:
    return parse_duration(_number_text(value))


def parse_max_run(text: str) -> float:
    seconds = parse_duration(text)
    if seconds < MAX_RUN_SECONDS_MIN:
        raise UsageError(
            f"{shown(text)} is no time for a job", hint="at least `1s`; as `30m`, `2h` or `7d`, and `7d` if not said"
        )
    return seconds


def _number_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return repr(value)
    return str(value)


def _words(value: Any) -> tuple[str, ...]:
    """A list of words, or one line that is split as a shell would."""
    if isinstance(value, str):
        import shlex

        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            raise UsageError(f"{shown(value)} cannot be split into words: {error}", hint="close the quote") from error
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise UsageError(f"{_seen(value)} is no list of words", hint='write `["--resume", "last.pt"]`')


def _bucket(value: str) -> str:
    """A bucket's name; `gs://` before it is what everybody is used to."""
    name = value.removeprefix("gs://").rstrip("/")
    if not name or "/" in name:
        raise UsageError(
            f"{_seen(value)} is no bucket's name", hint="write `--bucket NAME`, or `--home gs://NAME/PLACE`"
        )
    return name


def _table(check: Callable[[str, str], tuple[str, str]]) -> Callable[[Any], dict[str, str]]:
    def read(value: Any) -> dict[str, str]:
        if isinstance(value, str):
            value = dict(one.partition("=")[::2] for one in value.split(",") if one)
        if not isinstance(value, Mapping):
            raise UsageError(f"{_seen(value)} is no table", hint='write `{ key = "value" }`')
        return dict(check(str(name), _plain_text(item)) for name, item in value.items())

    return read


def _plain_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise UsageError(f"{_seen(value)} is no text", hint='write it as `"text"`')


def _seen(value: Any) -> str:
    return shown(value if isinstance(value, str) else repr(value))


SETTINGS = (
    Setting("home", _text, variable="OUTLAST_HOME", guarded=True),
    Setting("bucket", lambda value: _bucket(_text(value)), variable="OUTLAST_BUCKET", guarded=True),
    Setting("project", renting.read_project, "", variable="OUTLAST_PROJECT", guarded=True),
    Setting("region", renting.read_regions, "", variable="OUTLAST_REGION"),
    Setting("cloud-key", _text, "", variable="OUTLAST_CLOUD_KEY", guarded=True),
    Setting("name", lambda value: check_name(_text(value)), "", variable="OUTLAST_NAME"),
    Setting("on", _text, "local", variable="OUTLAST_ON"),
    Setting("cpus", _count("--cpus", 1, CPUS_MAX), 1, variable="OUTLAST_CPUS"),
    Setting("gpus", renting.read_gpus, 0, variable="OUTLAST_GPUS"),
    Setting("machine-type", renting.read_machine_type, "", variable="OUTLAST_MACHINE_TYPE"),
    Setting("zone", renting.read_zones, (), variable="OUTLAST_ZONE"),
    Setting("exclude-zone", renting.read_zones, (), variable="OUTLAST_EXCLUDE_ZONE"),
    Setting("spot", renting.read_flag, True, variable="OUTLAST_SPOT"),
    Setting("disk-gb", renting.read_disk_gb, None, variable="OUTLAST_DISK_GB"),
    Setting("disk-type", renting.read_disk_type, "", variable="OUTLAST_DISK_TYPE"),
    Setting("image", renting.read_image, "", variable="OUTLAST_IMAGE"),
    Setting("service-account", renting.read_service_account, "", variable="OUTLAST_SERVICE_ACCOUNT", guarded=True),
    Setting("network", renting.read_network, "", variable="OUTLAST_NETWORK"),
    Setting("external-ip", renting.read_flag, True, variable="OUTLAST_EXTERNAL_IP"),
    Setting("max-cost", renting.read_max_cost, None, variable="OUTLAST_MAX_COST"),
    Setting("linger", _duration, 0.0, variable="OUTLAST_LINGER"),
    Setting("retries", _count("--retries", 0, RETRIES_MAX), 0, variable="OUTLAST_RETRIES"),
    Setting(
        "max-run", lambda value: parse_max_run(_number_text(value)), MAX_RUN_SECONDS_DEFAULT, variable="OUTLAST_MAX_RUN"
    ),
    Setting("stall", _duration, None, variable="OUTLAST_STALL"),
    Setting("checkpoint-dir", _text, ""),
    Setting("output-dir", _text, ""),
    Setting("resume-args", _words, (), variable="OUTLAST_RESUME_ARGS"),
    Setting("python", _text, "", variable="OUTLAST_PYTHON"),
    Setting("requirements", _words, (), variable="OUTLAST_REQUIREMENTS"),
    Setting("extras", _words, (), variable="OUTLAST_EXTRAS"),
    Setting("setup", _text, "", variable="OUTLAST_SETUP"),
    Setting("base-image", _text, "", variable="OUTLAST_BASE_IMAGE"),
    Setting("registry", _text, "", variable="OUTLAST_REGISTRY", guarded=True),
    Setting("apt", _words, (), variable="OUTLAST_APT"),
    Setting("container-args", _words, (), variable="OUTLAST_CONTAINER_ARGS", guarded=True),
    Setting("notify", _texts, (), variable="OUTLAST_NOTIFY", guarded=True),
    Setting("labels", _table(lambda key, value: check_label(f"{key}={value}")), {}, variable="OUTLAST_LABELS"),
    Setting("env", _table(check_env), {}),
)
BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}


def normal_name(text: str) -> str:
    """Any option may be written with underscores; `label` is what the flag is called."""
    name = text.replace("_", "-")
    return "labels" if name == "label" else name
