"""The wire over real sockets: proxies, certificates, limits, forks, and names that are encoded once."""

from __future__ import annotations

import datetime
import ipaddress
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from outlast.errors import UsageError
from outlast.google.connections import Connections
from outlast.google.endpoints import GOOGLE, endpoints
from outlast.google.proxies import proxy_for
from outlast.google.wire import NoAnswer, Request
from outlast.store.registry import open_store
from outlast_emulator.testing import Running

LIMITS = {"connect_seconds": 2.0, "stall_seconds": 1.0}
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@contextmanager
def serving(answer: bytes, *, context: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """(port, what was asked). Each connection gets this one answer as often as it asks."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve(connection: socket.socket) -> None:
            with connection:
                while data := connection.recv(1 << 16):
                    asked.append(data)
                    connection.sendall(answer)

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                    if context is not None:
                        connection = context.wrap_socket(connection, server_side=True)
                except ssl.SSLError:
                    continue
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], asked


def test_connections_are_kept_and_answers_come_whole() -> None:
    with serving(HELLO) as (port, asked):
        wire = Connections({})
        for _ in range(3):
            answer = wire.send(Request("GET", f"http://127.0.0.1:{port}/x?y=%2Fz"), **LIMITS)
            assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"hello", "5")
        assert all(one.startswith(b"GET /x?y=%2Fz HTTP/1.1\r\n") for one in asked)


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", b"HTTP/1.1 200 OK\r\nContent-Le", b"nonsense\r\n\r\n", b"HTTP/1.1 "],
    ids=["stalled body", "stalled head", "nonsense", "stalled line"],
)  # fmt: skip
def test_what_is_no_whole_answer_is_none(answer: bytes) -> None:
    with serving(answer) as (port, _), pytest.raises(NoAnswer) as caught:
        Connections({}).send(Request("GET", f"http://127.0.0.1:{port}/"), **LIMITS)
    assert caught.value.sent


def test_a_port_that_nobody_listens_at_was_sent_nothing() -> None:
    with socket.socket() as unused, pytest.raises(NoAnswer) as caught:
        unused.bind(("127.0.0.1", 0))  # held, so that nobody else comes to listen there
        Connections({}).send(Request("GET", f"http://127.0.0.1:{unused.getsockname()[1]}/"), **LIMITS)
    assert not caught.value.sent


def test_a_redirection_is_an_answer_and_is_not_followed() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    with serving(moved) as (port, _):
        assert Connections({}).send(Request("GET", f"http://127.0.0.1:{port}/"), **LIMITS).status == 302


def test_a_proxy_is_honoured_with_its_login() -> None:
    with serving(HELLO) as (port, asked):
        wire = Connections({"http_proxy": f"http://me:secret@127.0.0.1:{port}"})
        answer = wire.send(Request("GET", "http://storage.example.com/x"), **LIMITS)
        assert answer.body == b"hello"
        assert asked[0].startswith(b"GET http://storage.example.com/x HTTP/1.1\r\n")
        assert b"roxy-authorization: Basic " in asked[0] or b"roxy-Authorization: Basic " in asked[0]


def test_tls_goes_through_a_proxy_by_connect() -> None:
    with serving(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n") as (port, asked):
        wire = Connections({"HTTPS_PROXY": f"127.0.0.1:{port}"})
        with pytest.raises(NoAnswer) as caught:
            wire.send(Request("GET", f"{GOOGLE.storage}/x"), **LIMITS)
        assert asked[0].startswith(b"CONNECT storage.googleapis.com:443 HTTP/1.")
        assert not caught.value.sent


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("https://storage.googleapis.com/x", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("https://storage.googleapis.com/x", {"HTTPS_PROXY": "p:1"}, "http://p:1"),
        ("https://storage.googleapis.com/x", {"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ("https://storage.googleapis.com/x", {"http_proxy": "http://p:1"}, ""),
        ("https://storage.googleapis.com/x", {"https_proxy": "http://p:1", "no_proxy": ".googleapis.com"}, ""),
        ("https://storage.googleapis.com/x", {"https_proxy": "http://p:1", "NO_PROXY": "x, googleapis.com"}, ""),
        (
            "https://storage.googleapis.com/x",
            {"https_proxy": "http://p:1", "NO_PROXY": "notgoogleapis.com"},
            "http://p:1",
        ),
        ("https://storage.googleapis.com/x", {"https_proxy": "http://p:1", "no_proxy": "*"}, ""),
        ("http://127.0.0.1:80/", {"http_proxy": "http://p:1"}, ""),
        ("http://localhost:80/", {"all_proxy": "http://p:1"}, ""),
        ("http://169.254.169.254/", {"http_proxy": "http://p:1"}, ""),
        ("http://x/", {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, ""),
    ],
)
def test_the_usual_variables_name_the_proxy(url: str, environ: dict[str, str], proxy: str) -> None:
    assert proxy_for(url, environ) == proxy


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`both.pem` with its key, `both.crt` without: of 127.0.0.1, signed by nobody else."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.with_suffix(".crt").write_bytes(made.public_bytes(Encoding.PEM))
    path.write_bytes(private + made.public_bytes(Encoding.PEM))
    return path


def test_a_certificate_is_trusted_if_a_variable_names_it_and_not_otherwise(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(HELLO, context=context) as (port, _):
        request = Request("GET", f"https://127.0.0.1:{port}/")
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
            trusting = Connections({name: str(certificate.with_suffix(".crt"))})
            assert trusting.send(request, **LIMITS).body == b"hello"
        with pytest.raises(NoAnswer) as caught:
            Connections({}).send(request, **LIMITS)
        assert caught.value.trust and not caught.value.sent


def test_a_bundle_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="holds no certificates") as caught:
        Connections({"SSL_CERT_FILE": str(tmp_path / "nothing")}).send(Request("GET", "https://x/"), **LIMITS)
    assert caught.value.trust


def test_a_forked_process_shares_no_connection_with_its_parent(home: str) -> None:
    """Both ask at once, often, and each gets its own answers."""
    store = open_store(home)
    for number in range(20):
        store.put(f"k/{number}", b"%d" % number)
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if all(store.get(f"k/{n}").data == b"%d" % n for _ in range(5) for n in range(20)) else 2
            finally:
                os._exit(code)
        children.append(child)
    assert all(store.get(f"k/{number}").data == b"%d" % number for _ in range(5) for number in range(20))
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]


@pytest.mark.parametrize("key", ["a b/c?d#e", "ü/%2F/%", "plus+and&equals=", "a/~tilde/..x", "\U0001f600"])
def test_names_are_encoded_once(key: str, home: str, emulator: Running, bucket: str) -> None:
    store = open_store(home)
    store.put(key, b"x")
    assert [entry.key for entry in store.list("")] == [key]
    names = [one["name"] for one in emulator.call("GET", f"/storage/v1/b/{bucket}/o").json()["items"]]
    assert names == [key]
    assert store.get(key).data == b"x"
    store.delete(key)


@pytest.mark.parametrize(
    "value", ["http://example.com:80", "https://storage.googleapis.com", "http://127.0.0.1:1/x", "ftp://127.0.0.1"]
)
def test_an_emulator_is_on_this_machine_or_it_is_none(value: str) -> None:
    """Whoever can set a variable of ours must not be able to have our data sent to him."""
    with pytest.raises(UsageError, match="OUTLAST_EMULATOR"):
        endpoints({"OUTLAST_EMULATOR": value})


def test_the_emulator_is_found_by_either_variable() -> None:
    assert endpoints({"OUTLAST_EMULATOR": "http://127.0.0.1:1"}).storage == "http://127.0.0.1:1"
    assert endpoints({"STORAGE_EMULATOR_HOST": "localhost:2"}).storage == "http://localhost:2"
    assert endpoints({}) is GOOGLE
