"""Records spoilt in every way: what a disk, a hand or somebody malicious may leave where a record was."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

FORMAT = 1
HUGE_BYTES = 100 * 1000 * 1000

Damage = Callable[[bytes], bytes]


def newest(path: Path) -> Path:
    """The file that holds an object: its highest generation, or the plain one."""
    generations = [one for one in path.parent.glob(f"{path.name}~*") if one.name.rpartition("~")[2].isdigit()]
    return max(generations, key=lambda one: int(one.name.rpartition("~")[2]), default=path)


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(newest(path).read_bytes())
    return document


def write(path: Path, document: object) -> None:
    newest(path).write_bytes(json.dumps(document).encode() + b"\n\n")


def change(path: Path, **fields: object) -> None:
    write(path, {**read(path), **fields})


def _document(change_it: Callable[[dict[str, Any]], object]) -> Damage:
    def damage(data: bytes) -> bytes:
        return json.dumps(change_it(json.loads(data))).encode() + b"\n\n"

    return damage


def _other_type(value: object) -> object:
    return {"x": [1]} if isinstance(value, (str, int, float, list, bool, type(None))) else "x"


def _wrong_types(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value if name == "format" else _other_type(value) for name, value in document.items()}


def _numbers(replacement: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: item if name == "format" else replaced(item) for name, item in value.items()}
        if isinstance(value, list):
            return [replaced(item) for item in value]
        return replacement if isinstance(value, (int, float)) and not isinstance(value, bool) else value

    return replaced


DAMAGES: dict[str, Damage] = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "truncated at a line": lambda data: data[: len(data) // 2] + b"\n",
    "garbage": lambda data: bytes(range(256)) * 4 + b"\n",
    "zeros": lambda data: b"\0" * len(data) + b"\n",
    "a list": lambda data: b"[1, 2, 3]\n\n",
    "a pickle": lambda data: b"cos\nsystem\n(S'touch canary'\ntR.\n",
    "wrong types": _document(_wrong_types),
    "nothing but a format": lambda data: b'{"format": 1}\n\n',
    "no format": _document(lambda one: {name: value for name, value in one.items() if name != "format"}),
    "a newer format": _document(lambda one: {**one, "format": FORMAT + 98}),
    "a foreign field": _document(lambda one: {**one, "foreign": 1}),
    "100 MB": lambda data: data[:-2] + b" " * HUGE_BYTES + b"\n\n",
    "deeply nested": lambda data: b'{"format":1,"job":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n\n",
    "huge numbers": _document(_numbers(10**400)),
    "negative numbers": _document(_numbers(-1)),
    "no numbers": _document(_numbers(float("nan"))),
    "endless numbers": _document(_numbers(float("inf"))),
    "not UTF-8": lambda data: data.replace(b'"', b'"\xff', 9),
}
"""How a record may be spoilt, in words."""


def spoil(path: Path, how: str) -> None:
    target = newest(path)
    if how == "missing":
        target.unlink()
    else:
        target.write_bytes(DAMAGES[how](target.read_bytes()))


def clone(home: Path, job: str, new: str) -> Path:
    """A second job with the same records. Both names have the same length, and stand in all of them."""
    assert len(job) == len(new)
    folder = home / "jobs" / new
    shutil.copytree(home / "jobs" / job, folder)
    for path in folder.rglob("*"):
        if path.is_file() and "parts" not in path.parts:
            path.write_bytes(path.read_bytes().replace(job.encode(), new.encode()))
    for entry in (home / "index").glob(f"*-{job}-*"):
        shutil.copyfile(entry, entry.with_name(entry.name.replace(job, new)))
    return folder
