"""A log as text: whole characters, whatever the pieces that its bytes come in."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from outlast.results.logs import LogPiece, PieceKind


class RankTexts:
    """Text that is right across the edges of pieces; what is no UTF-8 is replaced."""

    def __init__(self) -> None:
        self._decoders: dict[int, codecs.IncrementalDecoder] = {}

    def decode(self, rank: int, data: bytes) -> str:
        if rank not in self._decoders:
            self._decoders[rank] = codecs.getincrementaldecoder("utf-8")("replace")
        return self._decoders[rank].decode(data)

    def end(self) -> Iterator[tuple[int, bytes]]:
        """The beginnings of characters that will not be finished, by worker."""
        decoders, self._decoders = self._decoders, {}
        for rank, decoder in sorted(decoders.items()):
            begun, _ = decoder.getstate()
            if begun:
                yield rank, begun


def texts(pieces: Iterable[LogPiece]) -> Iterator[str]:
    """What was said, and no word of where an attempt begins or something is missing."""
    ranks = RankTexts()
    for piece in pieces:
        if piece.kind is not PieceKind.BYTES:
            yield from _begun(ranks)
        elif text := ranks.decode(piece.rank, piece.data):
            yield text
    yield from _begun(ranks)


def _begun(ranks: RankTexts) -> Iterator[str]:
    for _, begun in ranks.end():
        yield begun.decode(errors="replace")
