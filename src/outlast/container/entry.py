"""What every image has of ours beside the agent: its entry point, and what shows its packages to any Python."""

from __future__ import annotations

import hashlib
from pathlib import Path

from outlast.host import image_places as places

HERE = Path(__file__).parent


def entry_files() -> dict[str, bytes]:
    """By their paths in the image."""
    return {
        places.START: (HERE / "start.py").read_bytes(),
        f"{places.SITE}/sitecustomize.py": (HERE / "sitecustomize.py").read_bytes(),
    }


def agent_key(archive: bytes) -> str:
    """Another one whenever the agent's layer is another. `archive`: as `bundle.agent.archive` packs it."""
    digest = hashlib.sha256(archive)
    for data in entry_files().values():
        digest.update(hashlib.sha256(data).digest())
    return digest.hexdigest()
