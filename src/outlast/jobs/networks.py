"""The network that machines are to be in, looked at before anything is started: a wrong one would fail after everything else was made."""

from __future__ import annotations

from collections.abc import Iterable

from outlast.errors import UsageError
from outlast.google.compute_project import ComputeProject
from outlast.google.errors import ApiError
from outlast.google.transport import Transport
from outlast.google.wire import NoAnswer
from outlast.pattern import pattern
from outlast.spec.names import shown

_NAME = r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"
_PROJECT = r"(?:(?:https?://.+?/)?projects/(?P<project>[^/]+)/)?"
_NETWORK = pattern(rf"(?:{_PROJECT}global/networks/)?(?P<network>{_NAME})")
_SUBNETWORK = pattern(rf"{_PROJECT}regions/(?P<region>{_NAME})/subnetworks/(?P<subnetwork>{_NAME})")


def check_network(transport: Transport, project: str, text: str, regions: Iterable[str]) -> None:
    """UsageError: there is no such network, or it has nothing in a region that is tried. Who may not look is believed."""
    network, subnetwork = _NETWORK.fullmatch(text), _SUBNETWORK.fullmatch(text)
    found = network or subnetwork
    if found is None:
        raise _refused(
            f"{shown(text)} is no network",
            "a network is `NAME` or `projects/P/global/networks/NAME`, a part of it `regions/R/subnetworks/NAME`",
        )
    client = ComputeProject(transport, found["project"] or project)
    try:
        if network is not None:
            _check_whole(client, network["network"], regions)
        elif subnetwork is not None:
            _check_part(client, subnetwork["region"], subnetwork["subnetwork"], regions)
    except ApiError as error:
        if error.status != 403:
            raise transport.explain(error, f"network `{text}`") from error
    except NoAnswer as error:
        raise transport.explain(error, f"network `{text}`") from error


def _check_whole(client: ComputeProject, name: str, regions: Iterable[str]) -> None:
    if client.find_network(name) is None:
        raise _refused(
            f"there is no network `{name}` in project `{client.project}`",
            f"`gcloud compute networks list --project={client.project}` lists them; without `--network` it is `default`",
        )
    for region in regions:
        if not client.subnetworks(region, name):
            raise _refused(
                f"network `{name}` has nothing in `{region}`",
                f"another `--region`, or `outlast doctor --on compute --network {name} --region {region}`",
            )


def _check_part(client: ComputeProject, region: str, name: str, regions: Iterable[str]) -> None:
    for wanted in regions:
        if wanted != region:
            raise _refused(
                f"subnetwork `{name}` is in `{region}`, and machines are rented in `{wanted}`", f"`--region {region}`"
            )
    if client.find_subnetwork(region, name) is None:
        raise _refused(
            f"there is no subnetwork `{name}` in `{region}` of project `{client.project}`",
            f"`gcloud compute networks subnets list --project={client.project}` lists them",
        )


def _refused(message: str, hint: str) -> UsageError:
    return UsageError(
        message,
        state="nothing was started, nothing is being spent",
        hint=f"{hint}; `--force` asks for it all the same",
    )
