"""The JSON API's routes: https://storage.googleapis.com/storage/v1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Operation, Route
from outlast_emulator.storage import acl
from outlast_emulator.storage.json_buckets import JsonBuckets
from outlast_emulator.storage.json_copies import JsonCopies
from outlast_emulator.storage.json_objects import JsonObjects
from outlast_emulator.storage.json_upload import JsonUpload
from outlast_emulator.storage.masks import cut
from outlast_emulator.storage.media import media_error

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

ROOT = "/storage/v1"
B = f"{ROOT}/b"
O = f"{ROOT}/b/{{bucket}}/o"  # noqa: E741
ONE = f"{O}/{{object}}"
SOURCE = f"{B}/{{sourceBucket}}/o/{{sourceObject}}"
TARGET_PART = "/b/{destinationBucket}/o/{destinationObject}"
TARGET = f"{ROOT}{TARGET_PART}"

SHOWING = {
    *(f"storage.buckets.{verb}" for verb in ("get", "insert", "list", "patch", "update")),
    *(f"storage.objects.{verb}" for verb in ("get", "insert", "list", "patch", "update")),
    *(f"storage.objects.{verb}" for verb in ("compose", "copy", "move", "restore", "rewrite")),
}
"""Methods that answer buckets and objects."""


def routes(emulator: Emulator) -> Iterable[Route]:
    buckets, objects, upload = JsonBuckets(emulator), JsonObjects(emulator), JsonUpload(emulator)
    copies = JsonCopies(emulator)
    table: tuple[tuple[str, str, str, Operation, bool], ...] = (
        ("storage.buckets.insert", "POST", B, buckets.insert, True),
        ("storage.buckets.list", "GET", B, buckets.list, True),
        ("storage.buckets.get", "GET", f"{B}/{{bucket}}", buckets.get, True),
        ("storage.buckets.patch", "PATCH", f"{B}/{{bucket}}", buckets.patch, True),
        ("storage.buckets.update", "PUT", f"{B}/{{bucket}}", buckets.update, True),
        ("storage.buckets.delete", "DELETE", f"{B}/{{bucket}}", buckets.delete, True),
        ("storage.buckets.getStorageLayout", "GET", f"{B}/{{bucket}}/storageLayout", buckets.storage_layout, True),
        ("storage.managedFolders.list", "GET", f"{B}/{{bucket}}/managedFolders", buckets.list_managed_folders, True),
        ("storage.folders.list", "GET", f"{B}/{{bucket}}/folders", buckets.list_folders, True),
        ("storage.objects.list", "GET", O, objects.list, False),
        ("storage.objects.get", "GET", ONE, objects.get, True),
        ("storage.objects.get", "GET", f"/download{ONE}", objects.get, True),
        ("storage.objects.patch", "PATCH", ONE, objects.patch, True),
        ("storage.objects.update", "PUT", ONE, objects.update, True),
        ("storage.objects.delete", "DELETE", ONE, objects.delete, True),
        ("storage.objects.restore", "POST", f"{ONE}/restore", objects.restore, True),
        ("storage.objects.compose", "POST", f"{TARGET}/compose", copies.compose, False),
        ("storage.objects.copy", "POST", f"{SOURCE}/copyTo{TARGET_PART}", copies.copy, True),
        ("storage.objects.rewrite", "POST", f"{SOURCE}/rewriteTo{TARGET_PART}", copies.rewrite, True),
        ("storage.objects.move", "POST", f"{O}/{{sourceObject}}/moveTo/o/{{destinationObject}}", copies.move, True),
        ("storage.objects.insert", "POST", O, upload.insert, True),
        *(
            ("storage.objects.insert", verb, f"{place}{O}", operation, verb == "POST")
            for place in ("/upload", "/resumable/upload")
            for verb, operation in (("POST", upload.insert), ("PUT", upload.resume), ("DELETE", upload.cancel))
        ),
    )
    for method_id, verb, template, operation, quick in table:
        render_media = media_error if method_id == "storage.objects.get" else None
        called = _masked(_with_lists(emulator, method_id, operation))
        yield Route(method_id, verb, template, called, quick, render_media=render_media)


def _with_lists(emulator: Emulator, method_id: str, operation: Operation) -> Operation:
    """`projection`: access control lists are answered to those who ask for them."""
    if method_id not in SHOWING:
        return operation
    show = acl.shower(emulator, method_id)

    def call(request: Request) -> Response:
        response = operation(request)
        if response.document is not None:
            show(request, response.document)
        return response

    return call


def _masked(operation: Operation) -> Operation:
    """`fields`: only what is asked for is answered."""

    def call(request: Request) -> Response:
        response = operation(request)
        if response.document is not None and "fields=" in request.query_text and request.query("fields"):
            response.document = cut(response.document, request.query("fields"))
        return response

    return call
