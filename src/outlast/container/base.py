"""Which base image an image begins with: one for machines with GPUs, one for those without."""

from __future__ import annotations

from collections.abc import Mapping

from outlast.container.reference import DOCKER_HUB, Reference, parse_reference
from outlast.errors import UsageError
from outlast.pattern import pattern

VARIANTS = ("cpu", "gpu")
DEFAULTS: Mapping[str, str] = {"cpu": "python:{python}-slim", "gpu": "python:{python}"}
"""Packages bring their own CUDA libraries; what they compile on a GPU needs the compiler that the slim image has not got."""

GPU_ENV: Mapping[str, str] = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
"""So the driver of the machine is seen inside."""

DEEP_LEARNING = "gcr.io/deeplearning-platform-release"
_DLVM = pattern(r"dlvm:([a-z0-9]+(?:-[a-z0-9]+)*-(?:cpu|gpu))(?:[-.](\d+(?:[.-]\d+)*))?")


def choose_base(asked: str, variant: str, python_version: str, *, emulator: str = "") -> Reference:
    """`asked`: a name, one with `{}` for the variant, `cpu=NAME,gpu=NAME`, or empty. `emulator`: its host, where Docker Hub is too."""
    text = _of_variant(asked, variant) if asked else ""
    name = _named(text, variant) if text else DEFAULTS[variant].format(python=python_version)
    found = parse_reference(name)
    if emulator and found.host == DOCKER_HUB:
        return Reference(emulator, found.path, found.tag, found.digest)
    return found


def _of_variant(asked: str, variant: str) -> str:
    if "=" not in asked:
        return asked
    given: dict[str, str] = {}
    for one in asked.split(","):
        kind, _, name = one.strip().partition("=")
        if kind not in VARIANTS or not name or kind in given:
            raise UsageError(
                f"`{asked[:200]}` names no base images", hint="write `NAME`, or `cpu=NAME,gpu=NAME`, each at most once"
            )
        given[kind] = name
    return given.get(variant, "")


def _named(text: str, variant: str) -> str:
    name = text.replace("{}", variant)
    if name.startswith("dlvm:"):
        found = _DLVM.fullmatch(name)
        if found is None:
            raise UsageError(
                f"`{text[:200]}` names no base image",
                hint="write `dlvm:LIBRARY-{}` or `dlvm:LIBRARY-{}-VERSION`, such as `dlvm:pytorch-gpu-1.4`",
            )
        version = f".{found[2].replace('.', '-')}" if found[2] else ""
        return f"{DEEP_LEARNING}/{found[1]}{version}"
    return name
