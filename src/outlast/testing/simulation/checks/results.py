"""What comes back: the result of an uninterrupted training, every byte of the logs, the outputs as the final head names them."""

from __future__ import annotations

import json

from outlast.testing.simulation.checks.check import Check, launch_id_of, machine_of
from outlast.testing.simulation.training import OUTPUT

STREAMS = ("log", "metrics")


class Results(Check):
    def ended(self) -> None:
        head = self.world.head
        if head is None:
            return
        if head["state"] == "succeeded":
            self._check_files(head["checkpoints"][-1]["name"], self.world.training.everything(self.options.steps))
            self._check_files(head["outputs"], self.world.training.outputs(self.options.steps))
            if not self.world.deleted and not self.world.chaos.damaged:
                self._check_metrics(head["attempt"])
        if head["outputs"] and not self.world.chaos.damaged:
            self._check_published(head["outputs"])
        for (attempt, rank, machine), lives in self.world.truth.written.items():
            if self.world.deleted and launch_id_of(machine) != head["launch_id"]:
                continue
            for stream in STREAMS:
                self._check_stream(head, attempt, rank, stream, [bytes(life[stream]) for life in lives])

    def _content(self, name: str) -> dict[str, bytes]:
        data = self.world.bucket.peek(self.world.keys.manifest(name))
        if data is None:
            return {}
        return {
            file["path"]: b"".join(self.world.bucket.peek(part["key"]) or b"" for part in file["parts"])
            for file in json.loads(data)["files"]
        }

    def _check_files(self, name: str, expected: dict[str, bytes]) -> None:
        if self.world.chaos.damaged:
            return
        found = self._content(name)
        for path in sorted(found.keys() | expected.keys()):
            if found.get(path) != expected.get(path):
                self.violated(
                    f"{name}: `{path}` holds {found.get(path)!r}, an uninterrupted training {expected.get(path)!r}"
                )

    def _check_metrics(self, attempts: int) -> None:
        """A step that was committed is not run again: what it logged is kept, whatever has become of its machine."""
        kept: set[int] = set()
        for attempt in range(1, attempts + 1):
            prefix = f"{self.world.keys.root}attempts/{attempt:06d}/metrics/0/"
            data = b"".join(
                self.world.bucket.peek(entry.key) or b"" for entry in self.world.bucket.list(prefix, "", None)
            )
            kept.update(json.loads(line)["step"] for line in data.split(b"\n") if line.endswith(b"}"))
        lost = sorted(set(range(1, self.options.steps + 1)) - kept)
        if lost:
            self.violated(f"what steps {lost} logged is lost, and nobody will run them again")

    def _check_published(self, name: str) -> None:
        root = f"{self.world.keys.root}outputs/"
        found = {
            entry.key.removeprefix(root): self.world.bucket.peek(entry.key)
            for entry in self.world.bucket.list(root, "", None)
        }
        expected = {
            path.removeprefix(OUTPUT): data for path, data in self._content(name).items() if path.startswith(OUTPUT)
        }
        if found != expected:
            self.violated(f"outputs/ shows {sorted(found)} as of another moment than the final head's {name}")

    def _is_foreign(self, key: str, head: dict[str, object]) -> bool:
        return any(
            write.key == key and launch_id_of(machine_of(write.by)) != head["launch_id"]
            for write in self.history.writes
        )

    def _check_stream(self, head: dict[str, object], attempt: int, rank: int, stream: str, lives: list[bytes]) -> None:
        """Sealed segments are what the trainer wrote, in order and without overlap; all of it if the attempt ended in peace."""
        prefix = f"{self.world.keys.root}attempts/{attempt:06d}/{stream}/{rank}/"
        position = 0
        truth = lives[-1]
        for entry in self.world.bucket.list(prefix, "", None):
            offset, data = int(entry.key.removeprefix(prefix)), self.world.bucket.peek(entry.key) or b""
            if self.world.deleted and self._is_foreign(entry.key, head):
                return  # a machine of the deleted job: segments carry no nonce
            if offset != position or truth[offset : offset + len(data)] != data:
                self.violated(
                    f"{stream} of attempt {attempt} rank {rank}: the segment at {offset} is not what was written"
                )
                return
            position += len(data)
        attempts = head["attempts"]
        assert isinstance(attempts, dict)
        peaceful = attempts.get(str(attempt), {}).get("exit_code") is not None
        if rank == 0 and peaceful and position < len(truth):
            self.violated(
                f"{stream} of attempt {attempt}: {position} of {len(truth)} bytes are kept, and nothing says so"
            )
