"""What other systems than Linux answer: a socket is no file of ours there either."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from outlast.engines.local.bell import Bell
from outlast.engines.local.layout import LocalDir
from outlast.host import files


def test_a_socket_in_a_records_place_is_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Any, *_: object, **__: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "it is a socket", path)

    paths = LocalDir(tmp_path)
    monkeypatch.setattr(os, "open", refused)
    assert files.read(tmp_path / "record.json") is None
    assert files.read_end(tmp_path / "machine.log", 10) == b""
    assert not Bell(paths, "", "").heard()
