"""A bucket of Cloud Storage, or a part of one, as a store."""

from __future__ import annotations

import itertools
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TypeVar

from outlast.clock import SYSTEM, Clock
from outlast.errors import Denied, KeyMissing, NotFound, OutlastError, PreconditionFailed, StoreUnavailable
from outlast.google.errors import ApiError
from outlast.google.storage import LIST_MAX, StorageClient
from outlast.google.transport import Transport
from outlast.google.wire import Answer, NoAnswer
from outlast.store.crew import Crew, Gauge
from outlast.store.gcs_content import content_generation, whole
from outlast.store.gcs_downloads import Download
from outlast.store.gcs_names import Names
from outlast.store.gcs_uploads import PIECE_BYTES, SourceMoved, generation_of, upload_again, upload_stream
from outlast.store.keys import check_key
from outlast.store.one_by_one import created, unwatched
from outlast.store.store import Entry, Stored, Upload
from outlast.store.store_time import StoreTime

T = TypeVar("T")

THREADS = 8
"""Requests at a time, and so pieces in memory: enough to fill a machine's network at a continent's distance."""

LARGE_AT_ONCE = max(4, 2 * (os.cpu_count() or 1))
"""Large uploads that are sent at a time: each keeps a core busy with its md5, and more of them push each other's bytes out of the cache."""

BROKEN_MAX = 3
"""How often an answer that broke on its way is asked for again."""

PURGE_ALONE_MAX = 2
"""Up to so many deletes are not worth a crew."""


class GcsStore:
    poll_seconds: float = 1.0
    rewrite_seconds: float = 1.0
    write_seconds: float = 60.0

    def __init__(self, transport: Transport, bucket: str, prefix: str = "", *, clock: Clock = SYSTEM) -> None:
        self.url = f"gs://{bucket}/{prefix}" if prefix else f"gs://{bucket}"
        self._names = Names(f"{prefix}/" if prefix else "")
        self._transport = transport
        self._client = StorageClient(transport, bucket)
        self._time = StoreTime(clock, self._look)
        self._client.on_date = self._time.heard
        self._crew = Crew(THREADS)
        self._there = False
        """The bucket was seen."""

        self.on_denied: Callable[[str], None] = lambda words: None
        """Hears of every refusal for want of a right, beside whoever gets the error."""

    @property
    def billed_writes(self) -> int:
        return self._client.operations.class_a

    # Reading.

    def get(self, key: str) -> Stored:
        check_key(key)
        answer = self._read(key, partial(self._client.read, self._names.of(key)))
        return Stored(bytes(answer.body), content_generation(answer))

    def download(self, key: str) -> Iterator[bytes]:
        check_key(key)
        return Download(self._piece, self._crew).one(key)

    def download_many(self, keys: Iterable[str]) -> Iterator[Iterator[bytes]]:
        """Their pieces are fetched ahead."""
        return Download(self._piece, self._crew).many(map(_checked, keys))

    def list(self, prefix: str, *, after: str = "", limit: int | None = None) -> Iterator[Entry]:
        return itertools.islice(self._list(prefix, after, limit), limit)

    def now(self) -> float:
        return self._time.now()

    # Writing.

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        check_key(key)
        name = self._names.of(key)
        op = "" if if_generation is None else secrets.token_hex(8)
        try:
            if len(data) <= PIECE_BYTES:
                return generation_of(self._client.insert(name, data, if_generation=if_generation, op=op))
            return upload_again(self._client, name, lambda: (data,), if_generation=if_generation, op=op)[1]
        except ApiError as error:
            if error.status != 412:
                raise self._refused(error, "write", key) from error
            return self._told(key, name, op)
        except NoAnswer as error:
            raise self._transport.explain(error, self._doing("write", key)) from error

    def create_many(self, objects: Sequence[tuple[str, bytes]]) -> Sequence[bool]:
        if len(objects) == 1:
            return [created(self, *objects[0])]
        return list(self._crew.ahead(partial(created, self, key, data) for key, data in objects))

    def upload(self, key: str, chunks: Iterable[bytes]) -> int:
        check_key(key)
        try:
            return upload_stream(self._client, self._names.of(key), chunks, if_generation=None, op="")[0]
        except ApiError as error:
            raise self._refused(error, "write", key) from error
        except SourceMoved as error:
            raise StoreUnavailable(f"{self._doing('write', key)}: its session was lost") from error
        except NoAnswer as error:
            raise self._transport.explain(error, self._doing("write", key)) from error

    def upload_many(self, uploads: Iterable[Upload], between: Callable[[int], None] = unwatched) -> None:
        done = Gauge()
        ended = threading.Event()
        large = threading.Semaphore(LARGE_AT_ONCE)

        def watched(upload: Upload) -> Iterator[bytes]:
            for chunk in upload.chunks():
                if ended.is_set():
                    raise _Ended
                yield chunk
                done.add(len(chunk))

        def send(upload: Upload) -> None:
            with large if (upload.bytes or 0) > PIECE_BYTES else nullcontext():
                self._upload_again(upload.key, partial(watched, upload), upload.bytes)

        def calls() -> Iterator[Callable[[], None]]:
            for upload in uploads:
                check_key(upload.key)
                yield partial(send, upload)

        self._crew.each(calls(), lambda: between(done.value), ended)

    def delete(self, key: str, *, if_generation: int | None = None) -> None:
        check_key(key)
        if if_generation == 0:
            raise PreconditionFailed(key)
        try:
            self._client.delete(self._names.of(key), if_generation=if_generation)
        except ApiError as error:
            if error.status not in (404, 412):
                raise self._refused(error, "delete", key) from error
            if error.status == 404:
                self._check_bucket()
            # Gone, and an earlier try of ours had no answer: it was that one.
            if if_generation is not None and not (error.status == 404 and error.uncertain):
                raise PreconditionFailed(key) from None
        except NoAnswer as error:
            raise self._transport.explain(error, self._doing("delete", key)) from error

    def purge(self, keys: Iterable[str]) -> None:
        all_keys = list(keys)
        if len(all_keys) <= PURGE_ALONE_MAX:
            for key in all_keys:
                self.delete(key)
        else:
            self._crew.each((partial(self.delete, key) for key in all_keys), lambda: None)

    # Within.

    def _told(self, key: str, name: str, op: str) -> int:
        """412: somebody else's object is there, or our own, whose answer was lost. The object says whose."""
        try:
            document = self._client.describe(name)
        except ApiError as error:
            if error.status == 404:
                raise PreconditionFailed(key) from None
            raise self._refused(error, "read", key) from error
        except NoAnswer as error:
            raise self._transport.explain(error, self._doing("read", key)) from error
        if op and (document.get("metadata") or {}).get("outlast-op") == op:
            return int(document["generation"])
        raise PreconditionFailed(key)

    def _upload_again(self, key: str, chunks: Callable[[], Iterable[bytes]], size: int | None) -> None:
        try:
            upload_again(self._client, self._names.of(key), chunks, if_generation=None, op="", size=size)
        except ApiError as error:
            raise self._refused(error, "write", key) from error
        except NoAnswer as error:
            raise self._transport.explain(error, self._doing("write", key)) from error

    def _piece(
        self,
        key: str,
        *,
        generation: int | None = None,
        first: int = 0,
        size: int,
        place: Callable[[int], bytearray],
    ) -> Answer:
        name = self._names.of(key)
        return self._read(
            key, partial(self._client.read, name, generation=generation, first=first, size=size, place=place)
        )

    def _read(self, key: str, read: Callable[[], Answer]) -> Answer:
        try:
            for _ in range(BROKEN_MAX):
                answer = whole(read())
                self._there = True
                if answer is not None:
                    return answer
            raise StoreUnavailable(f"{self._doing('read', key)}: what comes is not what is stored, again and again")
        except ApiError as error:
            if error.status == 404:
                self._check_bucket()
                raise KeyMissing(key) from None
            if error.status == 416:  # an empty object has no first byte
                return Answer(200, error.answer.headers, b"")
            raise self._refused(error, "read", key) from error
        except NoAnswer as error:
            raise self._transport.explain(error, self._doing("read", key)) from error

    def _list(self, prefix: str, after: str, limit: int | None) -> Iterator[Entry]:
        token, start = "", self._names.prefix(after) if after else ""
        wanted = LIST_MAX if limit is None else limit + bool(after)
        name_prefix = self._names.prefix(prefix)
        while True:
            try:
                page = self._client.list(name_prefix, start=start, limit=wanted, token=token)
            except ApiError as error:
                raise self._refused(error, "list", prefix) from error
            except NoAnswer as error:
                raise self._transport.explain(error, self._doing("list", prefix)) from error
            self._there = True
            for name, generation, size in page.objects:
                key = self._names.key(name)
                if key is not None and key > after and _is_key(key):
                    yield Entry(key, generation, size)
            token = page.next_token
            if not token:
                return

    def _look(self) -> None:
        """Any request will do: every answer has the server's date."""
        try:
            self._client.describe(self._names.prefix("index"))
        except ApiError as error:
            if error.status != 404:
                raise self._refused(error, "read", "index") from error
        except NoAnswer as error:
            raise self._transport.explain(error, self._doing("read", "index")) from error

    def _check_bucket(self) -> None:
        """404 is said of an object and of its bucket alike; a list tells them apart, and is asked for once."""
        if not self._there:
            next(self._list("index/", "", 1), None)

    def _refused(self, error: ApiError, verb: str, key: str) -> OutlastError:
        if error.status == 404:
            return NotFound(
                f"there is no bucket `{self._client.bucket}`",
                hint=f"`outlast run --bucket {self._client.bucket} ...` makes it",
            )
        explained = self._transport.explain(error, self._doing(verb, key), bucket=self._client.bucket)
        if isinstance(explained, Denied):
            self.on_denied(explained.message)
        return explained

    def _doing(self, verb: str, key: str) -> str:
        return f"cannot {verb} `{self.url}/{key}`"


class _Ended(Exception):
    """Another upload of the same batch has failed, or nobody wants them any more."""


def _is_key(key: str) -> bool:
    """An object that something else has put there need not have a legal name (`a//b`, `folder/`)."""
    try:
        check_key(key)
    except ValueError:
        return False
    return True


def _checked(key: str) -> str:
    check_key(key)
    return key
