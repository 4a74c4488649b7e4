"""A TLS front for a loopback address, since gsutil speaks nothing else: self-signed, bytes passed on as they come."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def tls_front(url: str, directory: Path) -> Iterator[int]:
    """The port where `url` is also served by TLS."""
    host, _, port = url.removeprefix("http://").partition(":")
    certificate, key = make_certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        arguments = (listener, context, (host, int(port)))
        threading.Thread(target=_serve, args=arguments, daemon=True).start()
        yield listener.getsockname()[1]


def _serve(listener: socket.socket, context: ssl.SSLContext, target: tuple[str, int]) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_join, args=(client, context, target), daemon=True).start()


def _join(client: socket.socket, context: ssl.SSLContext, target: tuple[str, int]) -> None:
    try:
        outer = context.wrap_socket(client, server_side=True)
        inner = socket.create_connection(target)
    except OSError:
        client.close()
        return
    upward = threading.Thread(target=_pump, args=(outer, inner), daemon=True)
    upward.start()
    _pump(inner, outer)
    upward.join()
    outer.close()
    inner.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
    except OSError:
        pass
    for side, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
        try:
            side.shutdown(how)
        except OSError:
            pass


def make_certificate(directory: Path) -> tuple[Path, Path]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(
        now + datetime.timedelta(days=2)
    )
    certificate = builder.sign(key, hashes.SHA256())
    paths = directory / "certificate.pem", directory / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return paths
