"""What prunes have condemned, so that a submit and a prune that run at the same moment never both rely on and remove a thing.

docs/home-format.md, "Pruning", has the rules and why they are safe. No clock is asked and nothing is locked. Whoever adds a kind of shared
object follows one of two patterns:

- a record, written with a condition: `condemns` says that it is to be written anew, on the generation that it has;
- a mass, written without one: its name contains `Prunes.number` (or a nonce), so that a condemned name is never written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from outlast.dataclass import dataclass
from outlast.errors import KeyMissing, PreconditionFailed
from outlast.folder import layout
from outlast.folder.records import Prune
from outlast.spec.record import decode, encode
from outlast.store.store import Entry, Store


@dataclass(frozen=True)
class Prunes:
    """As the newest record says. `number` 0: this home was never pruned."""

    number: int = 0
    records: Mapping[str, int] = field(default_factory=dict)
    masses: frozenset[str] = frozenset()

    def condemns(self, entry: Entry) -> bool:
        return entry.key in self.masses or self.records.get(entry.key) == entry.generation


def newest_prune(store: Store) -> int:
    return max((number for number, _ in _listed(store)), default=0)


def read_prunes(store: Store) -> Prunes:
    """An older record may be removed while it is read: then there is a newer one."""
    while True:
        number = newest_prune(store)
        if number == 0:
            return Prunes()
        key = layout.prune(number)
        try:
            record = decode(Prune, store.get(key).data, key)
        except KeyMissing:
            continue
        return Prunes(number, record.records, frozenset(record.masses))


def condemn(store: Store, before: Prunes, records: Mapping[str, int], masses: Iterable[str]) -> Prunes | None:
    """Writes the record that follows `before`, whose condemned are among these; None: somebody else did, look at all anew."""
    number = before.number + 1
    record = Prune(number, store.now(), dict(records), tuple(sorted(masses)))
    try:
        store.put(layout.prune(number), encode(record), if_generation=0)
    except PreconditionFailed:
        return None
    if newest_prune(store) != number:
        # It slept, and this number had come and gone: nobody reads it.
        store.purge([layout.prune(number)])
        return None
    store.purge([key for older, key in _listed(store) if older < number])
    return Prunes(number, record.records, frozenset(record.masses))


def _listed(store: Store) -> list[tuple[int, str]]:
    found = []
    for entry in store.list(layout.PRUNES):
        name = entry.key.removeprefix(layout.PRUNES).removesuffix(".json")
        if name.isascii() and name.isdigit() and entry.key == layout.prune(int(name)):
            found.append((int(name), entry.key))
    return found
