"""Where each method's behaviour is from, as far as it goes beyond names and types: the table in the docs is made of this.

| word | meaning |
| --- | --- |
| document | Google's discovery document: parameters, fields, enums, and what it says of preconditions |
| page | a page of Google's documentation |
| report | what others have seen Google do: issues, field notes, the source of Google's own clients |
| guess | nobody told us: a switch, or what seemed the least harm; to be verified with a real project |
"""

from __future__ import annotations

from outlast_emulator.compute.origins import ORIGINS as COMPUTE
from outlast_emulator.iam.methods import DEMANDS
from outlast_emulator.project.origins import ORIGINS
from outlast_emulator.registry.origins import ORIGINS as REGISTRY
from outlast_emulator.vertex.origins import ORIGINS as VERTEX

WORDS = ("document", "page", "report", "guess")

SOURCES: dict[str, dict[str, str]] = {
    "storage.buckets.insert": {"document": "fields", "page": "rules of names, soft delete of 7 days by default"},
    "storage.buckets.get": {"document": "fields, metageneration"},
    "storage.buckets.list": {"document": "paging, prefix"},
    "storage.buckets.patch": {"document": "merge, preconditions", "guess": "which fields cannot be changed"},
    "storage.buckets.update": {"document": "replaces all fields", "guess": "what an absent field becomes"},
    "storage.buckets.delete": {"page": "409 unless empty", "document": "preconditions"},
    "storage.buckets.getStorageLayout": {"document": "fields", "report": "asked for by gcsfs and gcloud"},
    "storage.buckets.getIamPolicy": {"document": "fields", "page": "bindings of a new bucket"},
    "storage.buckets.setIamPolicy": {"document": "fields, etag", "guess": "the words of a refusal"},
    "storage.buckets.testIamPermissions": {"document": "fields"},
    "storage.folders.list": {"report": "asked for by gcloud; empty without a hierarchical namespace"},
    "storage.managedFolders.list": {"report": "asked for by gcloud; always empty here"},
    "storage.objects.insert": {
        "document": "preconditions",
        "page": "media, multipart and resumable uploads; checksums; one write a second per name",
        "report": "bare line feeds and `/resumable/upload` as gcloud sends them",
        "guess": "how much of a broken chunk is kept: switch `upload_persists_multiple`",
    },
    "storage.objects.get": {
        "document": "preconditions, `alt=media`",
        "page": "ranges, decompression of stored gzip",
        "report": "who asks for bytes is refused in plain words (seen by others with curl)",
        "guess": "404 or 412 for an absent object: switch `absent_condition_412`",
    },
    "storage.objects.list": {
        "document": "prefix, delimiter, offsets, globs, soft-deleted",
        "page": "order, consistency",
    },
    "storage.objects.patch": {"document": "merge, preconditions"},
    "storage.objects.update": {"document": "replaces all fields, preconditions"},
    "storage.objects.delete": {
        "document": "preconditions, generation",
        "page": "soft delete",
        "guess": "404 or 412 for an absent object: switch `absent_condition_412`",
    },
    "storage.objects.compose": {"document": "preconditions", "page": "32 sources, component count, no md5"},
    "storage.objects.copy": {"document": "preconditions of source and destination"},
    "storage.objects.rewrite": {
        "document": "token, preconditions",
        "guess": "when a copy takes several calls: a switch",
    },
    "storage.objects.move": {"document": "preconditions; one call, same bucket"},
    "storage.objects.restore": {"document": "generation", "page": "within the soft-delete policy's time"},
    "storage.projects.serviceAccount.get": {"document": "fields"},
    "storage.batch": {
        "page": "multipart/mixed, at most 100 calls",
        "report": "as google-cloud-storage and gcsfs send it",
    },
    "xml.buckets.list": {"page": "names of elements"},
    "xml.buckets.get": {"page": "HEAD of a bucket"},
    "xml.buckets.getLocation": {"page": "names of elements"},
    "xml.buckets.getVersioning": {"page": "names of elements"},
    "xml.buckets.getAcl": {"page": "names of elements", "guess": "ids of a project's teams"},
    "xml.buckets.getDefaultObjectAcl": {"page": "names of elements", "guess": "ids of a project's teams"},
    "xml.buckets.create": {"page": "location in the body"},
    "xml.buckets.delete": {"page": "409 unless empty"},
    "xml.objects.list": {"page": "versions 1 and 2, markers, tokens", "guess": "names that XML cannot hold"},
    "xml.objects.get": {"page": "headers, ranges, conditional reads"},
    "xml.objects.head": {"page": "headers"},
    "xml.objects.put": {"page": "headers, checksums, preconditions"},
    "xml.objects.copy": {"page": "x-goog-copy-source and its conditions"},
    "xml.objects.delete": {"page": "generation, preconditions"},
    "xml.objects.deleteMany": {
        "page": "1,000 keys, `Quiet`, `VersionId`, names of elements",
        "guess": "that what is not there counts as deleted, as in the other cloud",
    },
    "xml.objects.getAcl": {"page": "names of elements", "guess": "ids of a project's teams"},
    "xml.resumable.start": {"page": "201 and `Location`", "report": "as gsutil begins one"},
    "xml.resumable.put": {"page": "ranges, questions, 308", "report": "headers that gsutil looks for at the end"},
    "xml.resumable.cancel": {"page": "499"},
    "xml.uploads.start": {"page": "multipart uploads", "report": "which namespace google-cloud-storage expects"},
    "xml.uploads.part": {"page": "10,000 parts", "report": "x-goog-hash, which google-cloud-storage checks"},
    "xml.uploads.complete": {
        "page": "5 MiB a part, order, no md5 of the whole",
        "guess": "codes of refusals; that a precondition is taken here",
    },
    "xml.uploads.abort": {"page": "404 afterwards"},
    "xml.uploads.parts": {"page": "names of elements", "guess": "never more than one page"},
    "xml.uploads.list": {"page": "names of elements", "guess": "never more than one page"},
    "oauth2.token": {
        "page": "refresh tokens, signed assertions, their errors",
        "report": "how a login that must be renewed is refused (google-auth)",
    },
    "oauth2.tokeninfo": {"report": "fields"},
    "oauth2.userinfo": {"report": "fields"},
    "oauth2.revoke": {"page": "ends a refresh token"},
    "sts.token": {"page": "token exchange", "guess": "a foreign token's signature is not checked"},
    "iamcredentials.projects.serviceAccounts.generateAccessToken": {
        "page": "scopes, lifetime, the permission it takes"
    },
    "iamcredentials.projects.serviceAccounts.generateIdToken": {"page": "audience", "guess": "its signature is none"},
    "metadata.get": {
        "page": "header, tokens, waiting for changes",
        "report": "paths that google-auth and gcloud ask for",
    },
    "iap.tunnelInstances.connect": {
        "report": "the websocket and its frames, as gcloud speaks them; the codes that it closes with",
        "page": "the permission, the addresses that the network must let in",
        "guess": "`Failed to lookup instance` for one that does not run",
    },
    "iap.tunnelInstances.reconnect": {"report": "501: a tunnel that breaks is opened again by whoever needs it"},
    "metadata.root": {"report": "how google-auth and gcloud look for a metadata server"},
}

SOURCES.update(ORIGINS)
SOURCES.update(COMPUTE)
SOURCES.update(REGISTRY)
SOURCES.update(VERTEX)


def permissions(method_id: str) -> list[str]:
    """What the caller must be permitted, by Google's page of permissions per method."""
    return list(dict.fromkeys(demand.permission for demand in DEMANDS.get(method_id, ())))
