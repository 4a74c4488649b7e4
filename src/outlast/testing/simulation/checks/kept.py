"""A committed checkpoint is never lost: whatever head names is there, whole, at every instant."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from outlast.testing.simulation.checks.check import Check, Document
from outlast.testing.simulation.history import Write


class Kept(Check):
    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.named: dict[str, list[str]] = {}
        """Manifest -> the keys that it needs, itself included, for each one that head names now."""

        self.protected: set[str] = set()
        self.checked: set[str] = set()

    def head_written(self, old: Document | None, new: Document, write: Write) -> None:
        names = [one["name"] for one in new["checkpoints"]] + ([new["outputs"]] if new["outputs"] else [])
        self.named = {name: self.named.get(name) or self._keys(name) for name in names}
        self.protected = {key for keys in self.named.values() for key in keys}
        for name, keys in self.named.items():
            missing = [key for key in keys if self.world.bucket.peek(key) is None]
            if missing:
                self.violated(f"head names {name}, and {missing[0]} is not there")

    def written(self, write: Write) -> None:
        if write.key in self.protected and write.op in ("delete", "purge"):
            self.violated(f"{write.by} deleted {write.key}, which head names")

    def _keys(self, name: str) -> list[str]:
        """Also checks, once, that the parts are what the manifest says."""
        key = self.world.keys.manifest(name)
        data = self.world.bucket.peek(key)
        if data is None:
            return [key]
        manifest = json.loads(data)
        keys = [key]
        for file in manifest["files"]:
            whole = b""
            for part in file["parts"]:
                keys.append(part["key"])
                content = self.world.bucket.peek(part["key"])
                if content is None or part["key"] in self.world.chaos.damaged:
                    continue
                whole += content
                if len(content) != part["bytes"] or hashlib.sha256(content).hexdigest() != part["sha256"]:
                    self.violated(f"{name} names {part['key']} with another content than is there")
        return keys
