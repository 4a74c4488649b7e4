"""The options of a job that Vertex AI runs, its older ones too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from outlast.cli.options import Value, whole
from outlast.spec.managing import REPLICAS_MAX, Managing


def _read_tier(text: str) -> str:
    from outlast.catalog.older import read_tier

    return read_tier(text)


def _read_machine(text: str) -> str:
    from outlast.catalog.older import machine_of

    machine_of(text)
    return text.strip().lower()


def _read_tpu(text: str) -> str:
    from outlast.catalog.vertex_tpus import parse_tpu_spec

    found = parse_tpu_spec(text)
    return f"{found.count}x{found.kind}"


def _read_tensorboard(text: str) -> str:
    from outlast.spec.managing import check_tensorboard

    return check_tensorboard(text)


TIER = Value("tier", _read_tier, "a tier")
MACHINE = Value("machine", _read_machine, "a machine")
TPU = Value("tpu", _read_tpu, "a TPU slice")
TENSORBOARD = Value("tensorboard", _read_tensorboard, "a TensorBoard")
REPLICAS = whole(0, REPLICAS_MAX)

OPTIONS = (
    click.option("--tpu-spec", type=TPU, metavar="NUMxTYPE", help="On Vertex AI: a TPU, `8xV2` or `4xV5E`."),
    click.option("--nogpu", is_flag=True, help="No GPUs, which is so if none are asked for."),
    click.option("--flex-start", is_flag=True, help="On Vertex AI: wait in the queue for GPUs, then keep them."),
    click.option(
        "--tensorboard", type=TENSORBOARD, metavar="ID", help="On Vertex AI: its TensorBoard to which logs go."
    ),
    click.option(
        "--scale-tier",
        type=TIER,
        metavar="TIER",
        help="On Vertex AI: what AI Platform's BASIC, BASIC_GPU, ... are now.",
    ),
    click.option("--master-type", type=MACHINE, metavar="TYPE", help="The first machine of `--scale-tier CUSTOM`."),
    click.option("--worker-type", type=MACHINE, metavar="TYPE", help="Its workers' machines."),
    click.option("--worker-count", type=REPLICAS, metavar="N", help="How many; 2 with a type, 0 without."),
    click.option("--parameter-server-type", type=MACHINE, metavar="TYPE", help="Its parameter servers' machines."),
    click.option("--parameter-server-count", type=REPLICAS, metavar="N", help="How many; 0 if not said."),
)


def vertex_options(callback: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        callback = option(callback)
    return callback


def managed_changes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was typed, by the names of a request's fields: what `resume` changes."""
    from outlast.spec.containing import Containing

    managed = managing(given)
    container = Containing(base_image=given.get("base_image") or "", image_tag=given.get("image_tag") or "")
    changes: dict[str, Any] = {"managed": managed} if managed != Managing() else {}
    return changes | ({"container": container} if container != Containing() else {})


def managing(given: Mapping[str, Any]) -> Managing:
    return Managing(
        tpu=given.get("tpu_spec") or "",
        no_gpu=bool(given.get("nogpu")),
        flex_start=bool(given.get("flex_start")),
        tensorboard=given.get("tensorboard") or "",
        scale_tier=given.get("scale_tier") or "",
        master_type=given.get("master_type") or "",
        worker_type=given.get("worker_type") or "",
        worker_count=given.get("worker_count"),
        server_type=given.get("parameter_server_type") or "",
        server_count=given.get("parameter_server_count"),
    )
