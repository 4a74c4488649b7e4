"""Flags, variables, files and defaults become settings, each with where it came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.spec.names import shown
from outlast.spec.project import SettingsFile, find_project_file, read_settings_file
from outlast.spec.settings import BY_NAME, SETTINGS, Setting, normal_name

CALIBAN = ".calibanconfig.json"


@dataclass(frozen=True)
class Found:
    value: Any
    source: str
    """`--home`, `OUTLAST_HOME`, a file's path, `[tool.outlast] of ...`, or `default`."""

    untrusted: Path | None = None
    """The project file that has set it without the user's yes."""


class Settings(Mapping[str, Any]):
    """Values by name (`max-run` or `max_run`). Asking for one that an untrusted file has set is an error; looking is not."""

    def __init__(self, found: Mapping[str, Found]) -> None:
        self.found = found

    def __getitem__(self, name: str) -> Any:
        one = self.found[normal_name(name)]
        if one.untrusted is not None:
            raise UsageError(
                f"`{one.untrusted}` sets {normal_name(name)} to {shown(str(one.value))}; "
                "a project's file may not say where data goes without your yes",
                hint="`outlast config --trust` says yes to the file as it is now; or give "
                f"`--{normal_name(name)}` yourself",
            )
        return one.value

    def __iter__(self) -> Any:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def source(self, name: str) -> str:
        return self.found[normal_name(name)].source


def load(flags: Mapping[str, Any], environ: Mapping[str, str], directory: Path, user_file: Path) -> Settings:
    """The first to give a setting wins: flags (None: not given), variables, the project's file, the user's file, defaults.

    Tables (labels, env) are joined, name by name.
    """
    project = find_project_file(directory)
    user = read_settings_file(user_file)
    given = {normal_name(name): value for name, value in flags.items() if value is not None}
    _check_names(given, "the command line")
    layers = [{name: Found(value, f"--{name}") for name, value in given.items() if value not in ((), {})}]
    layers.append(_from_variables(environ))
    if project is not None:
        layers.append(_from_file(project, environ, user_file.parent))
    if os.path.lexists(directory / CALIBAN):
        layers.append(_from_caliban(directory, user_file.parent))
    if user is not None:
        layers.append(_from_file(user, environ, None))
    layers.append({setting.name: Found(setting.default, "default") for setting in SETTINGS})
    return Settings({setting.name: _first(setting, layers) for setting in SETTINGS})


def home_of(settings: Settings) -> str | None:
    """`home`, or `bucket` as a home: whichever was given by the stronger source."""
    ranks = {name: _rank(settings.source(name)) for name in ("home", "bucket")}
    if ranks["home"] == ranks["bucket"] == 0:
        raise UsageError("`--home` and `--bucket` are the same thing twice", hint="give one of them")
    if settings.found["bucket"].value is not None and ranks["bucket"] < ranks["home"]:
        return f"gs://{settings['bucket']}"
    home: str | None = settings["home"]
    return home


def _rank(source: str) -> int:
    """Flags, variables, files, defaults."""
    if source.startswith("--"):
        return 0
    if source.startswith("OUTLAST_"):
        return 1
    return 3 if source == "default" else 2


def _first(setting: Setting, layers: list[dict[str, Found]]) -> Found:
    found = [layer[setting.name] for layer in layers if setting.name in layer]
    if not isinstance(setting.default, dict) or len(found) < 3:
        return found[0]
    joined: dict[str, str] = {}
    for one in reversed(found):
        joined.update(one.value)
    return Found(joined, ", ".join(one.source for one in found[:-1]))


def _from_variables(environ: Mapping[str, str]) -> dict[str, Found]:
    return {
        setting.name: Found(
            _read(setting, environ[setting.variable], setting.variable, rf"{setting.variable}=\1", environ, None),
            setting.variable,
        )
        for setting in SETTINGS
        if setting.variable and environ.get(setting.variable)
    }


def _from_file(file: SettingsFile, environ: Mapping[str, str], user_dir: Path | None) -> dict[str, Found]:
    """`user_dir` is where the yes to a project's file is kept; None: the user's own file needs none."""
    values = {normal_name(name): value for name, value in file.values.items()}
    _check_names(values, f"`{file.source}`")
    untrusted = None if user_dir is None or _trusted(file, values, user_dir) else file.path
    return {
        name: Found(
            _read(BY_NAME[name], value, f"`{file.source}`", rf'{name} = "\1"', environ, file.path.parent),
            file.source,
            untrusted if BY_NAME[name].guarded else None,
        )
        for name, value in values.items()
    }


def _from_caliban(directory: Path, user_dir: Path) -> dict[str, Found]:
    """What another tool's file says and is still meant; who pays, and with which key, only after the user's yes."""
    from outlast.spec.caliban_config import find_caliban_config

    config = find_caliban_config(directory)
    if config is None:
        return {}
    values: dict[str, Any] = {
        "base-image": config.base_image,
        "apt": config.apt_packages.get(config.default_mode or "cpu", ()),
    }
    if config.is_trusted(user_dir):
        values |= {"project": config.project, "cloud-key": config.cloud_key}
    return {name: Found(BY_NAME[name].read(value), str(config.path)) for name, value in values.items() if value}


def _trusted(file: SettingsFile, values: Mapping[str, Any], user_dir: Path) -> bool:
    if not any(BY_NAME[name].guarded for name in values):
        return True
    from outlast.spec.trust import is_trusted

    return is_trusted(file.path, file.content, user_dir)


def _check_names(values: Mapping[str, Any], where: str) -> None:
    unknown = sorted(values.keys() - BY_NAME.keys())
    if unknown:
        raise UsageError(
            f"{where} has an unknown setting {shown(unknown[0])}", hint=f"the settings are {', '.join(BY_NAME)}"
        )


def _read(setting: Setting, value: Any, where: str, written: str, environ: Mapping[str, str], base: Path | None) -> Any:
    """`written`: how a value, `\\1`, is written there. A hint names the flag, which does not mend what stands there."""
    try:
        read = setting.read(value)
    except UsageError as error:
        import re  # only here, and its import takes longer than the rest of a short command

        hint = re.sub(rf"(?<=`)--{setting.name} ([^`]+)(?=`)", written, error.hint)
        raise UsageError(f"{where}: {setting.name}: {error.message}", hint=hint) from error
    return _place(read, environ, base) if setting.name == "home" else read


def _place(text: str, environ: Mapping[str, str], base: Path | None) -> str:
    """A home on this machine as an absolute path: `~` is the user, and a file speaks of its own directory."""
    if ":" in text.split("/", 1)[0]:
        return text
    if text == "~" or text.startswith("~/"):
        text = environ.get("HOME", "~") + text[1:]
    return str(base / text) if base is not None else os.path.abspath(text)
