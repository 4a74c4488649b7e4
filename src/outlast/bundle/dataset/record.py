"""`datasets/<digest>.json` and `datasets/names/<name>.json`: what a dataset is made of, and what people call it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from outlast.bundle.dataset.listing import Row, decode_shard
from outlast.bundle.listing import DIGEST_FORM
from outlast.bundle.unpack import open_pack
from outlast.dataclass import dataclass
from outlast.errors import Damaged, KeyMissing, NotFound
from outlast.folder import layout
from outlast.spec.record import decode
from outlast.store.store import Store

SHARD_BYTES_MAX = 256 << 20
_HINT = "push the dataset again: what is missing is uploaded again"


@dataclass(frozen=True)
class Shard:
    """A part of the listing, in the order of the paths; it is the only content of its pack."""

    pack: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class DatasetRecord:
    digest: str
    files: int
    bytes: int
    listing: tuple[Shard, ...]
    packs: Mapping[str, int]
    """All in which its contents lie, with their sizes; those of the listing come on top."""

    file: str = ""
    """The name of the only file, if the dataset is a file; empty: a directory."""

    @property
    def all_packs(self) -> dict[str, int]:
        return {**self.packs, **{shard.pack: shard.bytes for shard in self.listing}}


@dataclass(frozen=True)
class DatasetName:
    """The newest push of a name counts; earlier ones are found by digest."""

    name: str
    digest: str
    pushed_at: float


def read_record(store: Store, digest: str) -> DatasetRecord:
    """`Damaged` if it is gone or names another dataset."""
    try:
        return find_record(store, digest)
    except KeyMissing as missing:
        raise Damaged(f"`{missing.key}` is gone from `{store.url}`", hint=_HINT) from None


def find_record(store: Store, digest: str) -> DatasetRecord:
    """The same, but `KeyMissing` if it is gone."""
    if not DIGEST_FORM.fullmatch(digest):
        raise Damaged(f"`{digest[:80]}` is no digest of a dataset")
    key = layout.dataset(digest)
    record = decode(DatasetRecord, store.get(key).data, key)
    if record.digest != digest or "/" in record.file or "\0" in record.file or record.file in (".", ".."):
        raise Damaged(f"`{key}` is damaged: it is not the record of this dataset")
    if not all(DIGEST_FORM.fullmatch(pack) for pack in record.all_packs):
        raise Damaged(f"`{key}` is damaged: a pack's name is no digest")
    return record


def read_name(store: Store, name: str) -> DatasetName:
    key = layout.dataset_name(name)
    try:
        return decode(DatasetName, store.get(key).data, key)
    except KeyMissing:
        raise NotFound(
            f"there is no dataset `{name}` in `{store.url}`", hint=f"`outlast push DIRECTORY {name}` makes one"
        ) from None


def read_shards(store: Store, record: DatasetRecord) -> Iterator[list[Row]]:
    """The rows, so many at a time; each shard is what was written, or `Damaged`."""
    for shard in record.listing:
        key = layout.pack(shard.pack)
        if shard.bytes > SHARD_BYTES_MAX:
            raise Damaged(
                f"`{layout.dataset(record.digest)}` is damaged: no part of a listing is {shard.bytes:,} bytes long"
            )
        pieces = open_pack(store, shard.pack).pieces(shard.bytes, shard.sha256, b"the listing")
        yield list(decode_shard(b"".join(pieces), key))
