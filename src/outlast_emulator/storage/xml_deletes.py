"""Many objects deleted by one request of the XML API, as clients of the other cloud do it."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.storage import crc32c
from outlast_emulator.storage import xml_headers as headers
from outlast_emulator.storage.conditions import NONE
from outlast_emulator.storage.xml_errors import XmlError, code_and_message
from outlast_emulator.storage.xml_lists import UPLOADS_NAMESPACE, document, parsed
from outlast_emulator.storage.xml_objects import XmlObjects

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

KEYS_MAX = 1000


class XmlDeletes:
    def __init__(self, emulator: Emulator, objects: XmlObjects) -> None:
        self._emulator = emulator
        self._objects = objects

    def delete(self, request: Request) -> Response:
        """Each by itself: what one is refused with does not keep the others. What is not there is deleted."""
        bucket = request.params["bucket"]
        self._objects.bucket(bucket)
        text = request.text()
        headers.check_digests(request, hashlib.md5(text, usedforsecurity=False).digest(), crc32c.extend(0, text))
        root = parsed(text)
        rows = [_fields(child) for child in root if _tag(child) == "Object"]
        if _tag(root) != "Delete" or not rows or len(rows) > KEYS_MAX or not all(row.get("Key") for row in rows):
            message = "The XML you provided was not well-formed or did not validate against our published schema."
            raise XmlError(400, "MalformedXML", message, f"1 to {KEYS_MAX} objects with a key are expected.")
        quiet = _fields(root).get("Quiet", "").lower() == "true"
        said = [self._deleted(request, bucket, row, quiet) for row in rows]
        return document("DeleteResult", "".join(said), UPLOADS_NAMESPACE)

    def _deleted(self, request: Request, bucket: str, row: dict[str, str], quiet: bool) -> str:
        name, version = row["Key"], row.get("VersionId", "")
        which = f"<Key>{escape(name)}</Key>" + (f"<VersionId>{escape(version)}</VersionId>" if version else "")
        try:
            if version and not re.fullmatch(r"\d{1,19}", version):
                raise XmlError(400, "InvalidArgument", "Invalid argument.", f"VersionId: {version}")
            self._emulator.demand(request, "storage.objects.delete", bucket, name)
            self._emulator.storage.objects.delete(bucket, name, NONE, int(version) if version else None)
        except ApiError as error:
            if error.status != 404:
                code, message, _ = code_and_message(error)
                return f"<Error>{which}<Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error>"
        return "" if quiet else f"<Deleted>{which}</Deleted>"


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rsplit("}", 1)[-1]


def _fields(element: ElementTree.Element) -> dict[str, str]:
    """A name keeps the blanks around it."""
    return {_tag(child): child.text or "" for child in element}
