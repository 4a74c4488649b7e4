"""The bucket of the home: which one, made if it is absent, removed only if it is empty and ours."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from outlast.google import buckets
from outlast.google.bucket_access import BucketAccess
from outlast.google.errors import ApiError, is_off
from outlast.google.storage import StorageClient
from outlast.google.transport import Transport
from outlast.google.wire import NoAnswer
from outlast.jobs.init_step import Setup, Step
from outlast.spec.plain_file import read_plain, write_private

PRINTED = "buckets.json"
"""In the user's directory: project and region -> the name that `outlast init --print` has printed."""

PRINTED_BYTES_MAX = 1 << 20


def choose_bucket(transport: Transport, project: str, region: str, given: str, random: Random) -> str:
    """The one that was named; else this project's own for homes in the region; else a new name, which nobody can guess."""
    if given:
        return buckets.check_name(given)
    try:
        found = buckets.find_default(StorageClient(transport, ""), project, region)
    except (ApiError, NoAnswer) as error:
        if not isinstance(error, ApiError) or not is_off(error):  # where storage is off there is none of ours
            explained = transport.explain(error, f"looking for a bucket of project `{project}`")
            explained.state = "nothing was made"
            if isinstance(error, ApiError):
                explained.hint = "name it: `--bucket NAME`; or `gcloud storage buckets list` tells who may look"
            raise explained from error
        found = None
    return found.name if found is not None else new_name(region, random)


def new_name(region: str, random: Random) -> str:
    return next(buckets.default_names(region, random))


def printed_name(user_dir: Path, project: str, region: str, random: Random) -> str:
    """A new name that is the same each time: nobody can guess it, so it is kept and not computed."""
    path = user_dir / PRINTED
    try:
        kept = json.loads(read_plain(path, PRINTED_BYTES_MAX))
    except (OSError, ValueError, RecursionError):
        kept = {}
    names = kept if isinstance(kept, dict) else {}
    key = f"{project} {region}"
    if isinstance(names.get(key), str):
        return buckets.check_name(names[key])
    name = new_name(region, random)
    try:
        write_private(path, json.dumps({**names, key: name}))
    except OSError:
        return name  # the script is as good; only the next one has another name in it
    return name


def bucket_step(setup: Setup, transport: Transport) -> Step:
    client = StorageClient(transport, setup.bucket)

    def is_there() -> bool:
        try:
            client.get_bucket()
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def make() -> None:
        buckets.ensure(client, setup.project, setup.region)

    def undo() -> str:
        if not is_there():
            return ""
        if not buckets.is_ours(client):
            return f"bucket `{setup.bucket}` stays: outlast has not made it"
        if BucketAccess(transport, setup.bucket).delete():
            return f"bucket `{setup.bucket}` was deleted: it was empty"
        return f"bucket `{setup.bucket}` stays: it holds data; `gcloud storage rm -r gs://{setup.bucket}` removes it"

    place = f"gs://{setup.bucket}"
    flags = "--uniform-bucket-level-access --public-access-prevention --soft-delete-duration=0"
    return Step(
        "bucket",
        f"bucket `{setup.bucket}` is there, in `{setup.region}` if it is new",
        is_there,
        make,
        (
            f"gcloud storage buckets create {place} --project={setup.project} --location={setup.region} {flags}",
            f"gcloud storage buckets update {place} --update-labels={buckets.LABEL}={buckets.LABEL_VALUE}",
        ),
        undo,
        (f"gcloud storage buckets delete {place}",),
        f"bucket `{setup.bucket}` is deleted if it is empty",
        of_bucket=True,
    )
