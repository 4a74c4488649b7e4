"""The registry by plain requests: every way to bring contents in, and what is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from outlast_emulator.testing import Running, running
from tests.emulator_vertex.images import MANIFEST, digest_of, push, push_blob, tar

NAME = "emulated/outlast/train"
DATA = b"some contents" * 1000


def code_of(answer: object) -> str:
    return str(answer.json()["errors"][0]["code"])  # type: ignore[attr-defined]


def begin(emulator: Running, name: str = NAME) -> str:
    answer = emulator.call("POST", f"/v2/{name}/blobs/uploads/", b"")
    assert answer.status == 202 and answer.headers["docker-upload-uuid"]
    return answer.headers["location"]


def test_contents_come_in_pieces_and_are_read_whole_and_in_part(emulator: Running) -> None:
    place = begin(emulator)
    half = len(DATA) // 2
    first = emulator.call("PATCH", place, DATA[:half], {"content-range": f"0-{half - 1}"})
    assert (first.status, first.headers["range"]) == (202, f"0-{half - 1}")
    wrong = emulator.call("PATCH", place, DATA[half:], {"content-range": f"1-{half}"})
    assert (wrong.status, wrong.headers["range"]) == (416, f"0-{half - 1}")
    assert emulator.call("GET", place).headers["range"] == f"0-{half - 1}"
    done = emulator.call("PUT", f"{place}?digest={digest_of(DATA)}", DATA[half:])
    assert (done.status, done.headers["docker-content-digest"]) == (201, digest_of(DATA))
    blob = done.headers["location"]
    assert emulator.call("GET", blob).body == DATA
    head = emulator.call("HEAD", blob)
    assert (head.status, head.headers["content-length"], head.body) == (200, str(len(DATA)), b"")
    part = emulator.call("GET", blob, headers={"range": "bytes=5-12"})
    assert (part.status, part.body) == (206, DATA[5:13])
    assert emulator.call("GET", place).status == 404


def test_contents_that_are_not_what_was_said_are_refused(emulator: Running) -> None:
    place = begin(emulator)
    wrong = emulator.call("PUT", f"{place}?digest={digest_of(b'other')}", DATA)
    assert (wrong.status, code_of(wrong)) == (400, "DIGEST_INVALID")
    assert emulator.call("HEAD", f"/v2/{NAME}/blobs/{digest_of(b'other')}").status == 404
    assert code_of(emulator.call("GET", f"/v2/{NAME}/blobs/sha256:short")) == "DIGEST_INVALID"
    assert code_of(emulator.call("POST", "/v2/Upper/case/blobs/uploads/", b"")) == "NAME_INVALID"
    other = begin(emulator, "emulated/outlast/other").replace("other", "train")
    assert code_of(emulator.call("PATCH", other, b"x")) == "BLOB_UPLOAD_UNKNOWN"
    aborted = begin(emulator)
    assert emulator.call("DELETE", aborted).status == 204
    assert emulator.call("GET", aborted).status == 404


def test_a_blob_of_another_repository_is_mounted_without_its_contents(emulator: Running) -> None:
    push_blob(emulator, "emulated/outlast/first", DATA)
    path = f"/v2/{NAME}/blobs/uploads/?mount={digest_of(DATA)}&from=emulated/outlast/"
    assert emulator.call("POST", path + "nothing", b"").status == 202
    assert emulator.call("POST", path + "first", b"").status == 201
    assert emulator.call("GET", f"/v2/{NAME}/blobs/{digest_of(DATA)}").body == DATA
    emulator.call("DELETE", f"/v2/emulated/outlast/first/blobs/{digest_of(DATA)}")
    assert emulator.call("GET", f"/v2/{NAME}/blobs/{digest_of(DATA)}").body == DATA


def test_a_manifest_names_only_what_is_there_and_is_found_by_tag_and_digest(emulator: Running) -> None:
    address = push(emulator, NAME, "one", layers=(tar({"a": b"b"}),), based=False)
    digest = address.partition("@")[2]
    push(emulator, NAME, "two", layers=(tar({"a": b"c"}),), based=False)
    for reference in ("one", digest):
        found = emulator.call("GET", f"/v2/{NAME}/manifests/{reference}")
        assert digest_of(found.body) == digest == found.headers["docker-content-digest"]
        assert found.headers["content-type"] == MANIFEST
    lacking = {"schemaVersion": 2, "mediaType": MANIFEST, "config": {"digest": digest_of(b"?")}, "layers": []}
    refused = emulator.call("PUT", f"/v2/{NAME}/manifests/three", json.dumps(lacking).encode())
    assert (refused.status, code_of(refused)) == (404, "MANIFEST_BLOB_UNKNOWN")
    page = emulator.call("GET", f"/v2/{NAME}/tags/list?n=1")
    assert page.json() == {"name": NAME, "tags": ["one"]}
    rest = emulator.call("GET", page.headers["link"].split(">")[0].lstrip("<"))
    assert rest.json()["tags"] == ["two"] and "link" not in rest.headers
    assert emulator.call("GET", "/v2/_catalog").json() == {"repositories": [NAME]}
    assert emulator.call("DELETE", f"/v2/{NAME}/manifests/{digest}").status == 202
    assert code_of(emulator.call("GET", f"/v2/{NAME}/manifests/one")) == "MANIFEST_UNKNOWN"


def test_tokens_decide_who_may_pull_and_push(emulator: Running) -> None:
    def token(role: str) -> str:
        email = f"{role.rpartition('.')[2]}@example.com"
        emulator.call("POST", "/_emulator/iam/users", {"email": email, "roles": [role]})
        return str(emulator.call("POST", "/_emulator/iam/tokens", {"email": email}).json()["access_token"])

    push_blob(emulator, NAME, DATA)
    blob = f"/v2/{NAME}/blobs/{digest_of(DATA)}"
    reader, writer = token("roles/artifactregistry.reader"), token("roles/artifactregistry.writer")
    challenge = emulator.call("GET", "/v2/")
    assert challenge.status == 401 and f'realm="{emulator.url}/v2/token"' in challenge.headers["www-authenticate"]
    basic = base64.b64encode(f"oauth2accesstoken:{reader}".encode()).decode()
    login = {"authorization": f"Basic {basic}"}
    bearer = emulator.call("GET", "/v2/token?service=s&scope=repository:x:pull", headers=login).json()["token"]
    assert emulator.call("GET", "/v2/", headers={"authorization": f"Bearer {bearer}"}).status == 200
    for headers in (login, {"authorization": f"Bearer {bearer}"}):
        assert emulator.call("GET", blob, headers=headers).status == 200
        refused = emulator.call("POST", f"/v2/{NAME}/blobs/uploads/", b"", headers)
        assert (refused.status, code_of(refused)) == (403, "DENIED")
    may_write = {"authorization": f"Bearer {writer}"}
    assert emulator.call("POST", f"/v2/{NAME}/blobs/uploads/", b"", may_write).status == 202
    assert emulator.call("DELETE", blob, headers=may_write).status == 403
    emulator.switch(require_login=True)
    nobody = emulator.call("GET", blob)
    assert (nobody.status, code_of(nobody)) == (401, "UNAUTHORIZED")
    assert "www-authenticate" in nobody.headers


def test_an_upload_goes_on_after_the_emulator_was_killed(tmp_path: Path) -> None:
    import os
    import signal

    with running(tmp_path / "data", process=True) as emulator:
        place = begin(emulator)
        emulator.call("PATCH", place, DATA[:100])
        push(emulator, NAME, "kept", layers=(tar({"a": b"b"}),))
        assert emulator.pid is not None
        os.kill(emulator.pid, signal.SIGKILL)
    with running(tmp_path / "data", process=True) as emulator:
        assert emulator.call("PUT", f"{place}?digest={digest_of(DATA)}", DATA[100:]).status == 201
        assert emulator.call("GET", f"/v2/{NAME}/manifests/kept").status == 200
