"""A job's log out of its folder: attempts and ranks in order, every byte once, every gap shown, no machine needed."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterator

from outlast.dataclass import dataclass
from outlast.errors import KeyMissing, NotFound
from outlast.folder.folder import Folder
from outlast.folder.records import Attempt, Cause, Head

OFFSET_DIGITS = 15
"""A tail begins with the offset of its first byte, a segment's name is it."""


LIST_READS = 15
"""Where a list is billed, every so many reads look for segments unasked."""

NEVER_STARTED = (Cause.DAMAGED, Cause.DISK_FULL, Cause.FAILED)
"""Without an exit code: there was no trainer yet, and so no log that could be missing."""


class PieceKind(enum.Enum):
    BEGIN = "begin"
    BYTES = "bytes"
    GAP = "gap"
    END = "end"


@dataclass(frozen=True, slots=True)
class LogPiece:
    """`begin` and `end` frame an attempt; `bytes` of one rank come in order; `gap` stands where some are lost."""

    kind: PieceKind
    attempt: int
    rank: int = 0
    offset: int = 0
    """Of the first byte in `data`, or of the first one that is missing, in this attempt's stream of this rank."""

    data: bytes = b""
    missing_bytes: int = 0
    at_least: bool = False
    """Of a `gap`: more may be missing, perhaps nothing; the machine died, and how much it had written nobody knows."""

    resumed_from_step: int | None = None
    """Of a `begin`; None: from nothing."""

    cause: str = ""
    """Of an `end`: how the attempt ended, in the word of the record."""


class LogReader:
    """Reads a log while it grows: every call of `read` yields what has come since the last one.

    It only reads. Who wants lines within a fraction of a second rings the bell (`Folder.ring`), so that the agent keeps
    the tail fresh; without it, segments come as they are sealed.
    """

    def __init__(
        self,
        folder: Folder,
        *,
        attempt: int | None = None,
        stream: str = "log",
        first: int = 1,
        only: frozenset[str] | None = None,
    ) -> None:
        """`attempt`: only this one. `first`: this one and those after it. `only`: of the segments, those with these keys."""
        self._folder = folder
        self._stream = stream
        self._only = attempt
        self._keys = only
        self._attempt = attempt or first
        self._begun = False
        self._ranks: list[_RankReader] | None = None
        self.ended = False
        """Nothing more will come: the attempt asked for is over, or head was final when the last `read` began."""

    def read(self) -> Iterator[LogPiece]:
        head = self._folder.existing_head().head
        self._check_attempt(head)
        while self._attempt <= head.attempt:
            number = self._attempt
            attempt = head.attempts.get(str(number))
            over = number < head.attempt or head.state.final
            yield from self._read_attempt(number, attempt, over)
            if not over:
                return
            if self._begun:
                yield LogPiece(PieceKind.END, number, cause=attempt.cause.value if attempt and attempt.cause else "")
            self._begun, self._ranks = False, None
            self._attempt += 1
            if number == self._only:
                self.ended = True
                return
        self.ended = head.state.final

    def _read_attempt(self, number: int, attempt: Attempt | None, over: bool) -> Iterator[LogPiece]:
        if self._ranks is None:
            workers = self._folder.read_spec().workers
            self._ranks = [
                _RankReader(self._folder, self._stream, number, rank, only=self._keys) for rank in range(workers)
            ]
        died = attempt is not None and attempt.exit_code is None and attempt.cause not in (None, *NEVER_STARTED)
        for rank in self._ranks:
            for piece in rank.read(over, died and over):
                yield from self._begin(number, attempt, over)
                yield piece
        if not self._begun and attempt is not None and self._is_settled(number, attempt, over):
            yield from self._begin(number, attempt, over)

    def _is_settled(self, number: int, attempt: Attempt, over: bool) -> bool:
        """Whether it has begun, and from where. Until its trainer runs, a damaged checkpoint may be passed over for the one before."""
        if attempt.running_at is None:
            return False
        return over or attempt.resumed_from_step is None or self._folder.read_beat(number) is not None

    def _begin(self, number: int, attempt: Attempt | None, over: bool) -> Iterator[LogPiece]:
        """By head as it is now, which may be another than before the trainer began."""
        if not self._begun:
            self._begun = True
            step = attempt.resumed_from_step if attempt else None
            if step is not None and not over:
                attempt = self._folder.existing_head().head.attempts.get(str(number))
                step = attempt.resumed_from_step if attempt else None
            yield LogPiece(PieceKind.BEGIN, number, resumed_from_step=step)

    def _check_attempt(self, head: Head) -> None:
        if self._only is not None and not 1 <= self._only <= head.attempt:
            legal = {0: "none has begun", 1: "there is only 1"}.get(head.attempt, f"there are 1 to {head.attempt}")
            hint = f"`outlast show {self._folder.job}` lists them"
            raise NotFound(f"job `{self._folder.job}` has no attempt {self._only}: {legal}", hint=hint)


class _RankReader:
    """One rank's stream in one attempt."""

    def __init__(
        self,
        folder: Folder,
        stream: str,
        attempt: int,
        rank: int,
        position: int = 0,
        only: frozenset[str] | None = None,
    ) -> None:
        self._folder = folder
        self._stream = stream
        self._attempt = attempt
        self._rank = rank
        self._position = position
        self._only = only
        self._after = ""
        self._reads = 0

    def read(self, over: bool, died: bool = False) -> Iterator[LogPiece]:
        """`over`: the attempt has ended. `died`: and its owner did not say how, so its last words may be lost."""
        # Where a list is billed, the tail says when there is something new to list; the list is for when nobody writes a tail.
        if over or self._folder.store.write_seconds == 0 or self._reads % LIST_READS == 0:
            yield from self._read_segments()
        self._reads += 1
        offset, data = self._read_tail()
        if offset > self._position:
            # The agent sealed a segment between our list and our look at the tail, and a list made now shows it; what
            # is still missing after that was dropped by the cap.
            yield from self._read_segments()
        if offset + len(data) > self._position:
            yield from self._take(offset, data)
        if over:
            yield from self._read_end(died)

    def _read_segments(self) -> Iterator[LogPiece]:
        store = self._folder.store
        prefix = self._folder.keys.stream(self._attempt, self._stream, self._rank)
        for entry in store.list(prefix, after=self._after):
            offset = _offset(entry.key.removeprefix(prefix))
            if offset is None:
                continue
            self._after = entry.key
            if offset + entry.bytes <= self._position or (self._only is not None and entry.key not in self._only):
                continue
            try:
                for chunk in store.download(entry.key):
                    yield from self._take(offset, chunk)
                    offset += len(chunk)
            except KeyMissing:
                continue  # dropped by the cap since the list; the next offset shows the gap

    def _read_tail(self) -> tuple[int, bytes]:
        key = self._folder.keys.tail(self._attempt, self._stream, self._rank)
        try:
            data = self._folder.store.get(key).data
        except KeyMissing:
            return 0, b""
        offset = _offset(data[:OFFSET_DIGITS].decode("ascii", "replace"))
        # What is no tail is passed over: the sealed segments are the log, and what they lack is shown as a gap.
        return (0, b"") if offset is None else (offset, data[OFFSET_DIGITS:])

    def _read_end(self, died: bool) -> Iterator[LogPiece]:
        """A machine that died took with it what it had not sealed: its last beat says how much there was at least."""
        written = 0
        if self._rank == 0:
            beat = self._folder.read_beat(self._attempt)
            written = 0 if beat is None else beat.log_bytes if self._stream == "log" else beat.metrics_bytes
        if died:
            missing = max(0, written - self._position)
            yield LogPiece(
                PieceKind.GAP, self._attempt, self._rank, self._position, missing_bytes=missing, at_least=True
            )
        else:
            yield from self._skip_to(written)

    def _take(self, offset: int, data: bytes) -> Iterator[LogPiece]:
        yield from self._skip_to(offset)
        fresh = data[self._position - offset :]
        if fresh:
            at, self._position = self._position, self._position + len(fresh)
            yield LogPiece(PieceKind.BYTES, self._attempt, self._rank, at, fresh)

    def _skip_to(self, offset: int) -> Iterator[LogPiece]:
        if offset > self._position:
            at, self._position = self._position, offset
            yield LogPiece(PieceKind.GAP, self._attempt, self._rank, at, missing_bytes=offset - at)


def _offset(text: str) -> int | None:
    return int(text) if len(text) == OFFSET_DIGITS and text.isascii() and text.isdigit() else None


def read_log(folder: Folder, *, attempt: int | None = None, stream: str = "log") -> Iterator[LogPiece]:
    """What there is by now, and no more."""
    return LogReader(folder, attempt=attempt, stream=stream).read()


def read_last(folder: Folder, attempt: int, *, bytes_max: int, stream: str = "log", rank: int = 0) -> bytes:
    """The end of one rank's stream, without reading all that stands before it."""
    prefix = folder.keys.stream(attempt, stream, rank)
    newest: deque[tuple[int, int]] = deque()
    held = 0
    for entry in folder.store.list(prefix):
        offset = _offset(entry.key.removeprefix(prefix))
        if offset is not None:
            newest.append((offset, entry.bytes))
            held += entry.bytes
            while held - newest[0][1] >= bytes_max:
                held -= newest.popleft()[1]
    data = b""
    for piece in _RankReader(folder, stream, attempt, rank, newest[0][0] if newest else 0).read(over=False):
        data = (data + piece.data)[-bytes_max:]
    return data
