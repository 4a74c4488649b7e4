"""The options that say which container image a job runs in, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.setting_option import setting_option
from outlast.cli.terminal import say, shown

if TYPE_CHECKING:
    from outlast.jobs.world import World
    from outlast.spec.caliban_config import CalibanConfig
    from outlast.spec.containing import Containing

SETTINGS = ("base-image", "registry", "apt", "container-args")
OF_IMAGES_ONLY = (*SETTINGS, "dockerfile", "conda", "no-cache", "image-tag")


def image_options(callback: Callable[..., Any]) -> Callable[..., Any]:
    """How an image is made."""
    for option in reversed(
        (
            setting_option(
                "base-image", "IMAGE", "What it begins with: a name, or `cpu=NAME,gpu=NAME`; Python's own if not said."
            ),
            click.option(
                "--dockerfile", metavar="FILE", default="", help="Begin with what this file makes; needs a builder."
            ),
            setting_option(
                "apt",
                "PACKAGE",
                "Install this Debian package below all else; repeatable; needs a builder.",
                several=True,
            ),
            click.option(
                "--conda", metavar="FILE", default="", help="Begin with this conda environment; needs a builder."
            ),
            setting_option(
                "registry", "HOST/PATH", "Where images are pushed; the project's Artifact Registry if not said."
            ),
            click.option("--no-cache", is_flag=True, help="Make every layer of an image again."),
            click.option(
                "--image-tag", metavar="IMAGE", default="", help="Use this image, which is there, and build none."
            ),
        )
    ):
        callback = option(callback)
    return callback


def container_options(callback: Callable[..., Any]) -> Callable[..., Any]:
    """The same for commands that run a job."""
    for option in reversed(
        (
            click.option("--container", is_flag=True, help="Run in a container image, by podman or docker."),
            setting_option("container-args", "WORDS", "Further options for `podman run` or `docker run`."),
        )
    ):
        callback = option(callback)
    return image_options(callback)


def container_flags(given: Mapping[str, Any]) -> dict[str, Any]:
    """As `load` takes them: what was not given is None."""
    flags = {name: given.get(name.replace("-", "_")) for name in SETTINGS}
    packages = tuple(name for several in flags["apt"] or () for name in several)
    return {**flags, "apt": packages or None}


def containing(world: World, settings: Any, given: Mapping[str, Any], *, tag: str = "") -> Containing:
    """What was asked for, then what the project's `.calibanconfig.json` says."""
    from pathlib import Path

    from outlast.spec.caliban_config import find_caliban_config
    from outlast.spec.containing import Containing, check_apt_package

    variant = "cpu" if given.get("nogpu") else given.get("variant") or ""
    asked = Containing(
        run=bool(given.get("container")),
        args=settings["container-args"],
        base_image=settings["base-image"],
        dockerfile=given.get("dockerfile") or "",
        apt_packages=tuple(sorted(set(map(check_apt_package, settings["apt"])))),
        conda=given.get("conda") or "",
        image_tag=given.get("image_tag") or "",
        registry=settings["registry"],
        tag=tag,
        variant=variant,
        no_cache=bool(given.get("no_cache")),
        said=tuple(f"--{name}" for name in OF_IMAGES_ONLY if given.get(name.replace("-", "_"))),
    )
    config = find_caliban_config(Path.cwd())
    if config is None:
        return asked
    for note in config.notes:
        say(f"note: {shown(note)}")
    named = config.project or config.cloud_key
    if named and not config.is_trusted(world.user_dir):
        say(f"note: `{config.path.name}` says who pays (`gcloud`): it counts after `outlast config --trust`")
    return _with_mode(asked, config, typed=bool(given.get("apt")))


def _with_mode(asked: Containing, config: CalibanConfig, *, typed: bool) -> Containing:
    """Its packages are those of the variant that is built."""
    from dataclasses import replace

    variant = asked.variant or config.default_mode
    packages = config.apt_packages.get(variant or "cpu", ())
    if typed or set(asked.apt_packages) != set(config.apt_packages.get(config.default_mode or "cpu", ())):
        packages = asked.apt_packages
    return replace(asked, variant=variant, apt_packages=tuple(sorted(set(packages))))
