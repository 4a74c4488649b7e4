"""The emulator's methods as a table: what is served, where its behaviour is from, and which foreign client has used it.

Made from the emulator's own routes, from `outlast_emulator.sources`, and from tests/emulator_clients/used.json, which the
tests of foreign clients write and compare.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from outlast_emulator.discovery.document import load, names
from outlast_emulator.discovery.validate import is_unserved
from outlast_emulator.emulator import Emulator
from outlast_emulator.iam.oauth import IAM_CREDENTIALS
from outlast_emulator.registry import api as registry_api
from outlast_emulator.sources import SOURCES, WORDS, permissions
from outlast_emulator.storage.xml_api import XmlApi

ROOT = Path(__file__).resolve().parent.parent
USED = ROOT / "tests" / "emulator_clients" / "used.json"

MEANINGS = {
    "document": "Google's discovery document",
    "page": "a page of Google's documentation",
    "report": "what others have seen, and what Google's own clients expect",
    "guess": "not settled: to be verified with a real project",
}


def served() -> list[str]:
    """Every method that the emulator implements, its control surface aside."""
    with tempfile.TemporaryDirectory() as scratch:
        emulator = Emulator(Path(scratch))
        routes = [route for route in emulator.router.routes if not is_unserved(route)]
        found = {route.method_id for route in routes}
        xml = set(XmlApi(emulator).method_ids)
        emulator.close()
    placeholders = {method_id for method_id in found if method_id.startswith(("xml.", "emulator.", "iamcredentials."))}
    registry = {f"{registry_api.METHOD}.{call}" for call in registry_api.CALLS.values()}
    return sorted((found - placeholders - {registry_api.METHOD}) | xml | registry | set(IAM_CREDENTIALS))


def unserved() -> list[str]:
    known = {method_id for name in names() for method_id in load(name).methods}
    return sorted(known - set(served()))


def unserved_xml() -> list[str]:
    """Of the XML API, which has no discovery document: what a query may ask for."""
    with tempfile.TemporaryDirectory() as scratch:
        emulator = Emulator(Path(scratch))
        served = XmlApi(emulator).served_verbs
        emulator.close()
    return [f"`?{name}`{f' but by {verbs[0]}' if verbs else ''}" for name, verbs in sorted(served.items())]


def used() -> dict[str, list[str]]:
    """Method -> the clients that have used it."""
    found: dict[str, set[str]] = {}
    for client, tests in json.loads(USED.read_text()).items():
        for methods in tests.values():
            for method_id in methods:
                found.setdefault(method_id, set()).add(client)
    return {method_id: sorted(clients) for method_id, clients in found.items()}


def page() -> str:
    by_client = used()
    revisions = ", ".join(f"`{name}` of {load(name).revision}" for name in names())
    lines = [
        "## What is served, and where it is from",
        "",
        f"Names and types of every request and answer are checked against Google's discovery documents ({revisions}). What a",
        "method does beyond that is from:",
        "",
        *(f"- *{word}*: {MEANINGS[word]}" for word in WORDS),
        "",
        "| method | behaviour is from | permissions | used by |",
        "| --- | --- | --- | --- |",
    ]
    for method_id in served():
        origin = "; ".join(f"*{word}*: {what}" for word, what in SOURCES[method_id].items())
        needed = ", ".join(f"`{permission}`" for permission in permissions(method_id))
        lines.append(f"| `{method_id}` | {origin} | {needed} | {', '.join(by_client.get(method_id, []))} |")
    lines += [
        "",
        "To replace a live object also takes `storage.objects.delete`.",
        "",
        "## What answers 501",
        "",
        "Google has these, the emulator does not; the answer names the method.",
        "",
        *(f"- `{method_id}`" for method_id in unserved()),
        "",
        "In the XML API, under names such as `xml.buckets.putAcl`: " + ", ".join(unserved_xml()) + "; forms",
        "(`xml.objects.postForm`); parts that are copied (`xml.uploads.partCopy`); keys of the customer's.",
    ]
    return "\n".join(lines) + "\n"
