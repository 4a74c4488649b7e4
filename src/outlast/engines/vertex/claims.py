"""What a launch's custom jobs and whoever starts them agree on: small objects beside its boots in the home.

claim-<rank>    which custom job counts, by a word of its labels; changed by whoever starts another one in its place
stopped         the launch was stopped, and is not started any more

Vertex AI has no names that can be taken only once, and no request ids: a bucket has.
"""

from __future__ import annotations

from outlast.dataclass import dataclass
from outlast.engines.compute.names import Bucket
from outlast.engines.vertex.told import STOPPED, claim_name
from outlast.google.errors import ApiError
from outlast.google.storage import StorageClient


@dataclass(frozen=True)
class Claim:
    word: str
    generation: int


@dataclass(frozen=True)
class Claims:
    client: StorageClient
    bucket: Bucket
    boots: str

    def is_stopped(self) -> bool:
        return self._read(STOPPED) is not None

    def stop(self) -> None:
        """Once is enough; who comes second finds it there."""
        try:
            self.client.insert(self._name(STOPPED), b"", if_generation=0)
        except ApiError as error:
            if error.status not in (404, 412):  # 404: with its bucket everything is gone that could be started
                raise

    def read(self, rank: int) -> Claim | None:
        return self._read(claim_name(rank))

    def take(self, rank: int, before: Claim | None, word: str) -> bool:
        """False: somebody else was faster."""
        generation = before.generation if before is not None else 0
        try:
            self.client.insert(self._name(claim_name(rank)), word.encode(), if_generation=generation)
        except ApiError as error:
            if error.status not in (404, 412):
                raise
            if error.status == 404 and before is None:
                raise
            now = self.read(rank)
            return now is not None and now.word == word  # the answer to an earlier try was lost
        return True

    def up(self, rank: int, boot: int) -> str:
        """The word of the custom job in which that boot's agent came up; empty: it did not."""
        found = self._read(f"{rank}-{boot}-up")
        return found.word if found is not None else ""

    def _read(self, name: str) -> Claim | None:
        try:
            answer = self.client.read(self._name(name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        return Claim(answer.body.decode(errors="replace"), int(answer.headers.get("x-goog-generation") or 0))

    def _name(self, name: str) -> str:
        return self.bucket.object(f"{self.boots}{name}")
