"""Objects of any size on their way up: small ones in one request, large ones in a resumable session."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator

from outlast.errors import Damaged
from outlast.google.errors import ApiError, passing
from outlast.google.storage import StorageClient, md5_text
from outlast.google.wire import Answer, NoAnswer, SourceFailed, Stream
from outlast.store.gcs_source import Source

PIECE_BYTES = 8 << 20
"""What one request carries at most, and what is held in memory for it; a multiple of Cloud Storage's 256 KiB."""

BLOCK_BYTES = 256 << 10
"""Of what is not the last request of a session, Cloud Storage keeps whole blocks."""

SESSIONS_MAX = 3
"""How often an upload begins anew because its session is gone."""

ANSWERS_LOST_MAX = 8
"""How often one piece may be sent before the upload is given up."""

GONE = (404, 410)

Piece = list[bytes]


class SourceMoved(Exception):
    """A session wants bytes again that its source no longer gives."""


def upload_stream(
    client: StorageClient, name: str, chunks: Iterable[bytes], *, if_generation: int | None, op: str
) -> tuple[int, int]:
    """(bytes, generation). What the chunks raise, the caller gets; nothing is there then."""
    pieces = _pieces(chunks)
    first = next(pieces, [])
    second = next(pieces, None)
    if second is None:
        answer = client.insert(name, first, if_generation=if_generation, op=op)
        return _bytes(first), generation_of(answer)
    return _Session(client, name, if_generation, op).send_all(itertools.chain((first, second), pieces))


def upload_again(
    client: StorageClient,
    name: str,
    chunks: Callable[[], Iterable[bytes]],
    *,
    if_generation: int | None,
    op: str,
    size: int | None = None,
) -> tuple[int, int]:
    """The same for what can be read again: a session that is gone is begun anew. `size`: nothing needs to be held."""
    for tries_left in reversed(range(SESSIONS_MAX)):
        try:
            if size is not None and size > PIECE_BYTES:
                source = Source(chunks, size)
                return _Session(client, name, if_generation, op, size).send_source(source)
            return upload_stream(client, name, chunks(), if_generation=if_generation, op=op)
        except SourceMoved as error:
            if not tries_left:
                raise NoAnswer("its session was lost again and again", sent=True) from error
    raise AssertionError("unreachable")


class _Session:
    """The pieces of one object, in order, each until the server has all of it."""

    def __init__(
        self, client: StorageClient, name: str, if_generation: int | None, op: str, total: int | None = None
    ) -> None:
        self._client = client
        self._name = name
        self._url = client.begin(name, if_generation=if_generation, total=total, op=op)
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._offset = 0

    def send_all(self, pieces: Iterator[Piece]) -> tuple[int, int]:
        try:
            held = next(pieces)
            for following in pieces:
                self._hash(held)
                self._send(held, None)
                held = following
        except BaseException:
            self._abandon()
            raise
        self._hash(held)
        return self._end(held)

    def send_source(self, source: Source) -> tuple[int, int]:
        """All but the last bytes in one request, hashed and sent as they are read; the last ones bring the md5 of the whole."""
        try:
            whole_blocks = (source.size - 1) // BLOCK_BYTES * BLOCK_BYTES
            self._send_blocks(source, whole_blocks)
            last = source.rest(whole_blocks)
        except SourceFailed as error:
            self._abandon()
            raise error.__cause__ or error from None
        except BaseException:
            self._abandon()
            raise
        self._md5 = source.md5
        return self._end([last])

    def _send_blocks(self, source: Source, end: int) -> None:
        tries = 0
        while self._offset < end:
            body = Stream(end - self._offset, source.between(self._offset, end))
            try:
                answer = self._client.send(self._url, body, self._offset, source.size)
            except (ApiError, NoAnswer) as error:
                answer = self._ask(source.size, error, tries)
            if answer.status != 308:
                raise Damaged(f"the upload of `{self._name}` was finished before its end")
            got = _received(answer)
            if not self._offset <= got <= end:
                raise SourceMoved  # what the server had, it has no longer
            tries = tries + 1 if got == self._offset else 0
            if tries >= ANSWERS_LOST_MAX:
                raise NoAnswer(f"the upload of `{self._name}` does not move", sent=True)
            self._offset = got

    def _end(self, piece: Piece) -> tuple[int, int]:
        total = self._offset + _bytes(piece)
        answer = self._send(piece, total)
        assert answer is not None
        self._check(answer, total)
        return total, generation_of(answer)

    def _hash(self, piece: Piece) -> None:
        for chunk in piece:
            self._md5.update(chunk)

    def _send(self, piece: Piece, total: int | None) -> Answer | None:
        """None: there is room for more."""
        end = self._offset + _bytes(piece)
        rest = piece
        md5 = md5_text(self._md5.digest()) if total is not None else ""
        for tries in range(ANSWERS_LOST_MAX):
            try:
                answer = self._client.send(self._url, rest, self._offset, total, md5)
            except (ApiError, NoAnswer) as error:
                answer = self._ask(total, error, tries)
            if answer.status != 308:
                if total is None:
                    raise Damaged(f"the upload of `{self._name}` was finished before its end")
                return answer
            got = _received(answer)
            if not self._offset <= got <= end:
                raise SourceMoved  # the server has forgotten what it had said to have: only the source can help
            rest = [b"".join(rest)[got - self._offset :]] if got < end else []
            self._offset = got
            if not rest and total is None:
                return None
        raise NoAnswer(f"the upload of `{self._name}` does not move", sent=True)

    def _ask(self, total: int | None, failed: ApiError | NoAnswer, tries: int) -> Answer:
        """After a piece that was refused for now, or had no answer: how much of it is there? Never the same bytes blindly again."""
        if isinstance(failed, ApiError) and failed.status != 401:  # the question comes with a new token
            self._judge(failed)
        self._client.transport.pause(tries)
        try:
            return self._client.ask(self._url, total)
        except ApiError as error:
            self._judge(error)
            raise

    def _judge(self, error: ApiError) -> None:
        if error.status in GONE:
            raise SourceMoved from error
        if not passing(error.answer):
            raise error

    def _check(self, answer: Answer, total: int) -> None:
        """Google compares md5 with what came; whatever stands between may not. Nothing names the object yet, so it is no loss."""
        document = described(answer)
        ours = md5_text(self._md5.digest())
        if int(document.get("size", total)) != total or document.get("md5Hash", ours) != ours:
            self._client.delete(self._name, if_generation=generation_of(answer))
            raise NoAnswer(f"`{self._name}` arrived as something else", sent=True)

    def _abandon(self) -> None:
        try:
            self._client.cancel(self._url)
        except (ApiError, NoAnswer):
            pass  # it ends by itself within a week


def generation_of(answer: Answer) -> int:
    return int(described(answer)["generation"])


def described(answer: Answer) -> dict[str, str]:
    try:
        document = json.loads(answer.body)
        int(document["generation"])
    except (ValueError, KeyError, TypeError) as error:
        raise NoAnswer("it was written, and the answer cannot be read", sent=True) from error
    return dict(document)


def _received(answer: Answer) -> int:
    """How many bytes the server has: `Range: bytes=0-N`; absent: none."""
    last = answer.headers.get("range", "").rpartition("-")[2]
    return int(last) + 1 if last.isascii() and last.isdigit() else 0


def _bytes(piece: Piece) -> int:
    return sum(map(len, piece))


def _pieces(chunks: Iterable[bytes]) -> Iterator[Piece]:
    """Gathered to whole pieces, and not joined: only the last may be shorter, and none is empty."""
    held: Piece = []
    size = 0
    for chunk in chunks:
        while size + len(chunk) >= PIECE_BYTES:
            cut = PIECE_BYTES - size
            held.append(chunk[:cut])
            yield held
            held, size, chunk = [], 0, chunk[cut:]
        if chunk:
            held.append(chunk)
            size += len(chunk)
    if held:
        yield held
