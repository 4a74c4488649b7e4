"""Homes in buckets: what their urls mean, and what must be there before the first write."""

from __future__ import annotations

import os
from collections.abc import Mapping
from random import SystemRandom

from outlast.errors import UsageError
from outlast.google import buckets
from outlast.google.connect import connect
from outlast.google.project import project_of
from outlast.google.storage import StorageClient
from outlast.store.gcs import GcsStore
from outlast.store.keys import check_key

SCHEME = "gs://"
PREFIX_BYTES_MAX = 255
"""With its slash, what a name has room for beside the longest key."""


def split_url(url: str) -> tuple[str, str]:
    """(bucket, prefix) of `gs://bucket[/prefix]`; the bucket is empty where the project's own is meant."""
    if not url.startswith(SCHEME):
        raise UsageError(f"`{url}` names no bucket", hint="write `gs://bucket` or `gs://bucket/some/place`")
    bucket, _, prefix = url.removeprefix(SCHEME).partition("/")
    prefix = prefix.rstrip("/")
    if bucket:
        buckets.check_name(bucket)
    if prefix:
        try:
            check_key(prefix)
        except ValueError as error:
            raise UsageError(f"`{url}` cannot be a home: {error}", hint="write `gs://bucket/some/place`") from error
        if len(prefix.encode()) > PREFIX_BYTES_MAX:
            raise UsageError(f"`{url}` is too long: at most {PREFIX_BYTES_MAX} bytes after the bucket")
    return bucket, prefix


def open_bucket(url: str) -> GcsStore:
    bucket, prefix = split_url(url)
    if not bucket:
        raise UsageError(f"`{url}` names no bucket", hint="`outlast run --home gs://` makes one and says its name")
    return GcsStore(connect(), bucket, prefix)


def prepare(
    url: str, *, project: str = "", region: str = "", dry: bool = False, environ: Mapping[str, str] = os.environ
) -> tuple[str, tuple[str, ...]]:
    """(its url, what to say about it). The bucket is made if it is absent, unless this is a `dry` run.

    `gs://` alone is the project's own bucket for homes in the region.
    """
    name, prefix = split_url(url)
    transport = connect(environ)
    client = StorageClient(transport, name)
    if dry:
        return _rehearsed(client, url, region)
    if name:
        found = buckets.find(client)
        bucket = found or buckets.ensure(client, project_of(project, environ, transport), region)
    else:
        place = region or buckets.REGION_DEFAULT
        bucket = buckets.ensure_default(client, project_of(project, environ, transport), place, SystemRandom())
    return f"{SCHEME}{bucket.name}/{prefix}" if prefix else f"{SCHEME}{bucket.name}", _notes(bucket, region)


def _rehearsed(client: StorageClient, url: str, region: str) -> tuple[str, tuple[str, ...]]:
    if not client.bucket:
        raise UsageError(
            f"`--dry-run` cannot know the name of the bucket that `{url}` would make", hint="`--bucket NAME`"
        )
    bucket = buckets.find(client)
    if bucket is None:
        place = region or buckets.REGION_DEFAULT
        return url, (f"bucket `{client.bucket}` would be made in `{place}`",)
    return url, _notes(bucket, region)


def _notes(bucket: buckets.Bucket, region: str) -> tuple[str, ...]:
    notes = []
    if bucket.made:
        kind = "private" if bucket.soft_delete else "private, without soft delete"
        notes.append(f"made bucket `{bucket.name}` in `{bucket.location}`: {kind}")
    if bucket.soft_delete:
        notes.append(
            f"bucket `{bucket.name}` has soft delete: every checkpoint that is replaced is kept, and billed, for days; "
            f"`gcloud storage buckets update gs://{bucket.name} --clear-soft-delete` ends that"
        )
    if note := buckets.region_note(bucket, region):
        notes.append(note)
    return tuple(notes)
