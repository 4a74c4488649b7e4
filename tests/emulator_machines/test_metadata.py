"""A machine's metadata server: the tree, its waits, its refusals, and clients that we did not write."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from outlast_emulator.machines.metadata import Metadata, NotThere
from outlast_emulator.machines.metadata_server import MetadataServer
from tests.emulator_machines.conftest import Yard
from tests.waiting import until

FLAVOR = {"Metadata-Flavor": "Google"}
ROOT = "/computeMetadata/v1/"
EMAIL = "runner@emulated.iam.gserviceaccount.com"
ACCOUNT = {"aliases": ["default"], "email": EMAIL, "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}
TREE = {
    "instance/id": 4711,
    "instance/name": "m1",
    "instance/zone": "projects/1/zones/us-central1-a",
    "instance/preempted": "FALSE",
    "instance/tags": ["a", "b"],
    "instance/disks": [{"device-name": "boot", "index": 0, "mode": "READ_WRITE"}],
    "instance/attributes": {"startup-script": "true", "my-Key_1": "v"},
    "instance/service-accounts": {"default": ACCOUNT, EMAIL: ACCOUNT},
    "project/project-id": "emulated",
    "project/numeric-project-id": 424242424242,
    "project/attributes": {"enable-guest-attributes": "TRUE"},
}


class Served:
    def __init__(self, metadata: Metadata, port: int) -> None:
        self.metadata = metadata
        self.port = port

    def ask(
        self, path: str, verb: str = "GET", body: bytes | None = None, headers: dict[str, str] = FLAVOR
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(verb, path if path.startswith("/") else ROOT + path, body, headers)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()


@pytest.fixture
def served() -> Iterator[Served]:
    metadata = Metadata(
        TREE,
        token=lambda email, scopes: {
            "access_token": f"{email} {len(scopes)}",
            "expires_in": 3599,
            "token_type": "Bearer",
        },
        identity=lambda email, audience, full: f"{email} {audience} {full}",
    )
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = MetadataServer(metadata, listener)
    yield Served(metadata, port)
    server.close()


def test_a_value_is_text_with_an_etag_and_the_flavor(served: Served) -> None:
    status, headers, body = served.ask("instance/name")
    assert (status, body, headers["metadata-flavor"]) == (200, b"m1", "Google")
    assert headers["content-type"] == "application/text" and headers["etag"]
    assert served.ask("instance/id")[2] == b"4711"
    assert served.ask("instance/name?alt=json")[2] == b'"m1"'


@pytest.mark.parametrize("headers", [{}, {"Metadata-Flavor": "google"}, {**FLAVOR, "X-Forwarded-For": "10.0.0.1"}])
def test_without_the_header_or_through_a_proxy_it_is_refused(served: Served, headers: dict[str, str]) -> None:
    status, answered, body = served.ask("instance/name", headers=headers)
    assert status == 403 and b"m1" not in body and answered["metadata-flavor"] == "Google"


def test_the_root_says_what_it_is_to_everybody(served: Served) -> None:
    status, headers, body = served.ask("/", headers={})
    assert (status, headers["metadata-flavor"], body) == (200, "Google", b"computeMetadata/\n")


def test_a_directory_is_a_list_of_names(served: Served) -> None:
    assert served.ask("")[2] == b"instance/\nproject/\n"
    assert served.ask("instance/attributes/")[2] == b"startup-script\nmy-Key_1\n"
    assert served.ask("instance/disks/")[2] == b"0/\n"
    assert served.ask("instance/disks/0/device-name")[2] == b"boot"
    assert b"service-accounts/\n" in served.ask("instance/")[2]


def test_a_directory_without_its_slash_moved_there(served: Served) -> None:
    status, headers, _ = served.ask("instance/attributes?recursive=true")
    assert (status, headers["location"]) == (301, ROOT + "instance/attributes/?recursive=true")


def test_recursive_is_json_with_googles_keys_and_the_users_own(served: Served) -> None:
    found = json.loads(served.ask("?recursive=true")[2])
    assert found["project"]["numericProjectId"] == 424242424242
    assert found["instance"]["attributes"] == TREE["instance/attributes"]
    assert found["instance"]["disks"][0]["deviceName"] == "boot"
    assert set(found["instance"]["serviceAccounts"]) == {"default", EMAIL}
    assert json.loads(served.ask("instance/attributes/?recursive=true&alt=json")[2]) == TREE["instance/attributes"]
    assert b"attributes/my-Key_1 v\n" in served.ask("instance/?recursive=true&alt=text")[2]


def test_lists_of_values_are_values(served: Served) -> None:
    assert json.loads(served.ask("instance/tags")[2]) == ["a", "b"]
    assert served.ask("instance/service-accounts/default/aliases")[2] == b"default\n"


def test_what_is_not_there_is_not_found(served: Served) -> None:
    for path in ("instance/nothing", "instance/name/deeper", "instance/disks/7/", "/computeMetadata/v2/", "/x"):
        assert served.ask(path)[0] == 404


def test_a_wait_ends_with_the_change_and_a_wait_with_an_old_etag_at_once(served: Served) -> None:
    etag = served.ask("instance/preempted")[1]["etag"]
    found: list[Any] = []
    path = f"instance/preempted?wait_for_change=true&last_etag={etag}&timeout_sec=50"
    waiting = threading.Thread(target=lambda: found.append(served.ask(path)))
    waiting.start()
    served.metadata.set("instance/maintenance-event", "NONE")
    waiting.join(0.3)
    assert waiting.is_alive()
    served.metadata.set("instance/preempted", "TRUE")
    waiting.join(30)
    assert found[0][2] == b"TRUE" and found[0][1]["etag"] != etag
    assert served.ask(path)[2] == b"TRUE"


def test_a_wait_of_a_directory_ends_with_a_change_below(served: Served) -> None:
    found: list[Any] = []
    path = "instance/attributes/?recursive=true&wait_for_change=true"
    waiting = threading.Thread(target=lambda: found.append(served.ask(path)))
    waiting.start()
    until(lambda: served.metadata._changed._waiters)  # type: ignore[attr-defined]
    served.metadata.set("instance/attributes/new", "1")
    waiting.join(30)
    assert json.loads(found[0][2])["new"] == "1"


def test_a_wait_that_runs_out_answers_with_what_is(served: Served) -> None:
    assert served.ask("instance/preempted?wait_for_change=true&timeout_sec=0")[2] == b"FALSE"
    assert served.ask("instance/nothing?wait_for_change=true&timeout_sec=50")[0] == 404


def test_guest_attributes_are_put_read_listed_and_deleted(served: Served) -> None:
    assert served.ask("instance/guest-attributes/space/key", "PUT", b"v 1")[0] == 200
    assert served.metadata.guest_attributes() == {"space": {"key": "v 1"}}
    assert served.ask("instance/guest-attributes/space/key")[2] == b"v 1"
    assert served.ask("instance/guest-attributes/")[2] == b"space/\n"
    assert served.ask("instance/guest-attributes/space/key", "DELETE")[0] == 200
    assert served.metadata.guest_attributes() == {"space": {}}


def test_nothing_but_guest_attributes_can_be_written_and_those_only_where_enabled(served: Served) -> None:
    assert served.ask("instance/name", "PUT", b"x")[0] == 405
    assert served.ask("instance/name", "POST", b"x")[0] == 405
    assert served.ask("instance/guest-attributes/only-a-namespace", "PUT", b"x")[0] == 400
    assert served.ask("instance/guest-attributes/a/b", "PUT", b"x" * (300 << 10))[0] == 400
    assert served.ask("instance/guest-attributes/a/b", "PUT", b"x" * (2 << 20))[0] == 413
    served.metadata.set("instance/attributes/enable-guest-attributes", "FALSE")
    assert served.ask("instance/guest-attributes/a/b", "PUT", b"x")[0] == 403
    assert served.ask("instance/guest-attributes/")[0] == 403


def test_tokens_are_made_by_whoever_issues_them(served: Served) -> None:
    token = json.loads(served.ask("instance/service-accounts/default/token")[2])
    assert token == {"access_token": f"{EMAIL} 1", "expires_in": 3599, "token_type": "Bearer"}
    assert json.loads(served.ask(f"instance/service-accounts/{EMAIL}/token?scopes=a,b")[2])["access_token"].endswith(
        "2"
    )
    path = "instance/service-accounts/default/identity"
    assert served.ask(f"{path}?audience=me&format=full")[2].decode() == f"{EMAIL} me True"
    assert served.ask(path)[0] == 400
    assert served.ask("instance/service-accounts/other@x/token")[0] == 404
    served.metadata.delete("instance/service-accounts")
    assert served.ask("instance/service-accounts/default/token")[0] == 404


def test_what_is_given_out_is_nobodys_handle_on_the_tree() -> None:
    metadata = Metadata(TREE)
    metadata.get("instance/attributes")["mine"] = "x"
    with pytest.raises(NotThere):
        metadata.get("instance/attributes/mine")


def test_googles_own_library_logs_in_with_it(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    import google.auth.compute_engine
    import google.auth.compute_engine._metadata as asked
    import google.auth.transport.requests

    place = f"127.0.0.1:{served.port}"
    for module, names in ((asked, ("_GCE_METADATA_HOST", "_METADATA_IP_ROOT", "_METADATA_ROOT", "_GCE_DEFAULT_HOST")),):
        for name in names:
            if hasattr(module, name):
                prefix = "" if "HOST" in name else "http://"
                suffix = "/computeMetadata/v1/" if name == "_METADATA_ROOT" else ""
                monkeypatch.setattr(module, name, prefix + place + suffix)
    monkeypatch.setenv("GCE_METADATA_HOST", place)
    monkeypatch.setenv("GCE_METADATA_IP", place)
    credentials = google.auth.compute_engine.Credentials()
    credentials.refresh(google.auth.transport.requests.Request())
    assert credentials.token.startswith(EMAIL)
    assert asked.get_project_id(google.auth.transport.requests.Request()) == "emulated"


def test_inside_it_answers_at_googles_address_and_name(yard: Yard) -> None:
    ask = "curl -sfL -H 'Metadata-Flavor: Google'"
    script = f"""
    tell by-name "$({ask} http://metadata.google.internal/computeMetadata/v1/instance/name)"
    tell waited "$({ask} 'http://169.254.169.254/computeMetadata/v1/instance/preempted?wait_for_change=true')"
    sleep 1000
    """
    booted = yard.boot(script, tree={"instance/preempted": "FALSE"})
    assert booted.told("by-name") == booted.machine.name
    until(lambda: booted.metadata._changed._waiters)  # type: ignore[attr-defined]
    booted.metadata.set("instance/preempted", "TRUE")
    assert booted.told("waited") == "TRUE"
