"""What one machine's metadata server knows: a tree that the emulator changes and the machine reads, with etags and waits.

Keys are as in paths (`service-accounts`); an answer in JSON has them as Google writes them there (`serviceAccounts`), while
names that users chose (attributes, guest attributes, accounts) stay as they are.
"""

from __future__ import annotations

import copy
import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from outlast_emulator.clock import monotonic

Token = Callable[[str, tuple[str, ...]], Mapping[str, Any]]
"""(account's address, scopes) -> `{"access_token", "expires_in", "token_type"}`."""
Identity = Callable[[str, str, bool], str]
"""(account's address, audience, whether in full) -> a signed token."""

CHOSEN = ("attributes", "guest-attributes")
GUEST = "instance/guest-attributes"


class NotThere(KeyError):
    """No such path in the tree."""


class Metadata:
    """Paths are `instance/attributes/startup-script`: without a slash at either end; "" is the whole tree.

    Thread-safe. What is put in and given out is copied: nobody holds a part of the tree itself.
    """

    def __init__(
        self, tree: Mapping[str, Any] | None = None, *, token: Token | None = None, identity: Identity | None = None
    ) -> None:
        self.token = token
        self.identity = identity
        self._tree: dict[str, Any] = {"instance": {"attributes": {}}, "project": {"attributes": {}}}
        self._changed = threading.Condition()
        for path, value in (tree or {}).items():
            self.set(path, value)

    def get(self, path: str) -> Any:
        with self._changed:
            return copy.deepcopy(self._find(path))

    def set(self, path: str, value: Any) -> None:
        """Directories above it are made as needed; whoever waits for a change of it is woken."""
        with self._changed:
            *parents, name = path.split("/")
            place = self._tree
            for part in parents:
                found = place.setdefault(part, {})
                if not isinstance(found, dict):
                    raise NotThere(path)
                place = found
            place[name] = copy.deepcopy(value)
            self._changed.notify_all()

    def delete(self, path: str) -> None:
        """What is not there is not an error."""
        with self._changed:
            *parents, name = path.split("/")
            try:
                place = self._find("/".join(parents))
            except NotThere:
                return
            if isinstance(place, dict) and place.pop(name, None) is not None:
                self._changed.notify_all()

    def etag(self, path: str) -> str:
        with self._changed:
            return etag_of(self._find(path))

    def wait(self, path: str, last_etag: str, seconds: float) -> Any:
        """The value, as soon as its etag is another than `last_etag` ("": than now), or when the time is over."""
        with self._changed:
            before = last_etag or etag_of(self._find(path))
            ends_at = monotonic() + seconds
            while etag_of(self._find(path)) == before:
                if not self._changed.wait(ends_at - monotonic()) and monotonic() >= ends_at:
                    break
            return copy.deepcopy(self._find(path))

    # ------------------------------------------------------------------------------------------------- guest attributes

    @property
    def takes_guest_attributes(self) -> bool:
        for place in ("instance", "project"):
            try:
                value = self.get(f"{place}/attributes/enable-guest-attributes")
            except NotThere:
                continue
            return str(value).upper() in ("TRUE", "1", "Y", "YES")
        return False

    def guest_attributes(self) -> dict[str, dict[str, str]]:
        """Namespace -> key -> value."""
        try:
            found: dict[str, dict[str, str]] = self.get(GUEST)
        except NotThere:
            return {}
        return found

    def _find(self, path: str) -> Any:
        value: Any = self._tree
        for part in path.split("/") if path else ():
            if isinstance(value, list) and part.isdigit() and int(part) < len(value):
                value = value[int(part)]
            elif isinstance(value, dict) and part in value:
                value = value[part]
            else:
                raise NotThere(path)
        return value


def etag_of(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def is_directory(value: Any) -> bool:
    """A list of values (`tags`, `scopes`) is one value; a list of things (`disks`) a directory of numbers."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def listing(value: Any) -> str:
    """A directory's names, as lines; directories end with a slash."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return "".join(f"{name}/\n" if is_directory(one) else f"{name}\n" for name, one in pairs)


def as_json(value: Any) -> Any:
    """The same, with keys as Google writes them in JSON."""
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {_camel(name): one if name in CHOSEN else as_json(one) for name, one in value.items()}


def as_text(value: Any) -> str:
    """Recursive answers in text have one line per value: its path, a space, the value."""
    return "".join(f"{path} {_plain(one)}\n" for path, one in _flat("", value))


def _flat(path: str, value: Any) -> list[tuple[str, Any]]:
    if not is_directory(value):
        return [(path, value)]
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return [found for name, one in pairs for found in _flat(f"{path}/{name}" if path else str(name), one)]


def _plain(value: Any) -> str:
    return "\n".join(str(one) for one in value) if isinstance(value, list) else str(value)


def _camel(name: str) -> str:
    if "@" in name:
        return name
    head, *rest = name.split("-")
    return head + "".join(word.capitalize() for word in rest)
