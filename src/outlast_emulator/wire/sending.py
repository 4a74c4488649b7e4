"""Answers, written: head, body, and how a fault damages them."""

from __future__ import annotations

import os
import select
import socket
import ssl
import struct
from collections.abc import Callable, Iterable
from http import HTTPStatus

from outlast_emulator.clock import monotonic, pause
from outlast_emulator.response import PIECE_BYTES, FileSlice, Response, WireFault, pieces
from outlast_emulator.wire.bodies import BodyCut

_WORDS = {status.value: status.phrase for status in HTTPStatus} | {308: "Resume Incomplete"}


class Gone(ConnectionError):
    """Nobody is left to be answered, or nobody is meant to be."""


def head_bytes(response: Response, length: int | None, date: str, *, keep_alive: bool) -> bytes:
    """Everything up to the body. `length` None: the body is sent in chunks."""
    status = response.status
    lines = [f"HTTP/1.1 {status} {_WORDS.get(status, 'Unknown')}\r\ndate: {date}\r\nserver: outlast-emulator\r\n"]
    lines.extend(f"{name}: {value}\r\n" for name, value in response.headers.items())
    if length is None and status != 101:
        lines.append("transfer-encoding: chunked\r\n")
    elif status not in (101, 204, 304) and "content-length" not in response.headers:
        lines.append(f"content-length: {length}\r\n")
    if not keep_alive:
        lines.append("connection: close\r\n")
    lines.append("\r\n")
    return "".join(lines).encode("latin-1", "replace")


def body_length(body: bytes | FileSlice | Iterable[bytes]) -> int | None:
    if isinstance(body, bytes):
        return len(body)
    return body.length if isinstance(body, FileSlice) else None


def send(
    sock: socket.socket, verb: str, response: Response, date: str, watch: Callable[[], None], *, keep_alive: bool
) -> None:
    """Blocks until all is sent; `Gone` if the client does not take it."""
    body = response.payload()
    head = head_bytes(response, body_length(body), date, keep_alive=keep_alive)
    try:
        if verb == "HEAD" or response.status in (204, 304):
            sock.sendall(head)
        elif response.wire is not None:
            _send_damaged(sock, head, body, response.wire, watch)
        elif isinstance(body, bytes):
            sock.sendall(head + body if len(body) < PIECE_BYTES else head)
            if len(body) >= PIECE_BYTES:
                sock.sendall(body)
        else:
            sock.sendall(head, getattr(socket, "MSG_MORE", 0) if not isinstance(sock, ssl.SSLSocket) else 0)
            _send_body(sock, body, watch)
    except BodyCut:
        raise  # the network was cut: nothing is to end in order
    except OSError as error:
        raise Gone from error
    finally:
        if isinstance(body, FileSlice):
            body.file.close()


def _send_body(sock: socket.socket, body: FileSlice | Iterable[bytes], watch: Callable[[], None]) -> None:
    if isinstance(body, FileSlice):
        if isinstance(sock, ssl.SSLSocket):
            for piece in pieces(body):
                watch()
                sock.sendall(piece)
        else:
            _send_file(sock, body, watch)
        return
    for piece in body:
        if piece:
            watch()
            sock.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
    sock.sendall(b"0\r\n\r\n")


def _send_file(sock: socket.socket, body: FileSlice, watch: Callable[[], None]) -> None:
    """By the kernel, where it can; the socket is blocking with a time limit, so it is waited for by hand."""
    offset, left, source = body.start, body.length, body.file.fileno()
    while left:
        watch()
        try:
            sent = os.sendfile(sock.fileno(), source, offset, min(left, 8 * PIECE_BYTES))
        except BlockingIOError:
            limit = sock.gettimeout()
            if not select.select([], [sock], [], limit)[1]:
                raise TimeoutError from None
            continue
        if sent == 0:
            raise Gone("the file is shorter than its row says")
        offset += sent
        left -= sent


def _send_damaged(
    sock: socket.socket,
    head: bytes,
    body: bytes | FileSlice | Iterable[bytes],
    fault: WireFault,
    watch: Callable[[], None],
) -> None:
    if fault.kind == "lost":
        raise Gone("the answer was lost on purpose")
    if fault.kind == "stalled" and fault.after_bytes < 0:
        _stall(sock, fault.seconds, watch)
        raise Gone("stalled before the answer, on purpose")
    sock.sendall(head)
    at = 0
    for piece in pieces(body):
        reached = at <= fault.after_bytes < at + len(piece)
        if reached and fault.kind == "broken":
            place = fault.after_bytes - at
            piece = piece[:place] + bytes([piece[place] ^ 0xFF]) + piece[place + 1 :]
        elif reached:
            sock.sendall(piece[: fault.after_bytes - at])
            if fault.kind == "stalled":
                _stall(sock, fault.seconds, watch)
            raise Gone(f"{fault.kind} on purpose")
        sock.sendall(piece)
        at += len(piece)
    if fault.kind in ("stalled", "truncated"):
        raise Gone("an answer too short to be damaged where it was asked")


def _stall(sock: socket.socket, seconds: float, watch: Callable[[], None]) -> None:
    """Nothing is sent; ends early when the client gives up."""
    until = monotonic() + seconds
    while (left := until - monotonic()) > 0:
        watch()
        if select.select([sock], [], [], min(left, 0.5))[0]:
            try:
                if not sock.recv(1, socket.MSG_PEEK):
                    return
            except OSError:
                return
            pause(0.05)  # a request sent ahead of its turn keeps the socket readable


def reset(sock: socket.socket) -> None:
    """Closed without a goodbye, so that the client sees a broken connection."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    sock.close()
