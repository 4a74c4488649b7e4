"""What the local engine holds on this computer: launches that run or wait, as `start` was told of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from outlast.engines.engine import Launch
from outlast.engines.local.layout import LocalDir, is_id, read_order
from outlast.errors import OutlastError


def held(user_dir: Path) -> Iterator[Launch]:
    """Each once. One whose order cannot be read is passed over: its supervisor ends it for that."""
    paths = LocalDir(user_dir / "local")
    # In the direction in which a launch moves, or one on its way would be missed.
    ids = dict.fromkeys([*_ids(paths.incoming), *_ids(paths.launches)])
    for launch_id in ids:
        try:
            order = read_order(paths.incoming_order(launch_id)) or read_order(paths.order(launch_id))
        except OutlastError:
            continue
        if order is not None and paths.read_end(launch_id) is None:
            yield order.launch


def _ids(path: Path) -> list[str]:
    try:
        names = sorted(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [
        launch_id
        for launch_id, _, kind in (name.rpartition(".") for name in names)
        if kind == "json" and is_id(launch_id)
    ]
