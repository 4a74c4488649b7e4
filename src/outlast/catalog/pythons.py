"""Which Python a public image brings, by the system that its name tells."""

from __future__ import annotations

SYSTEMS = {
    "debian-11": "3.9",
    "debian-12": "3.11",
    "debian-13": "3.13",
    "ubuntu-2204": "3.10",
    "ubuntu-2404": "3.12",
    "ubuntu-accelerator-2204": "3.10",
    "ubuntu-accelerator-2404": "3.12",
}


def python_of(image: str) -> str:
    """`3.11` of `projects/debian-cloud/global/images/debian-12-bookworm-v20261013`; empty: its name does not tell."""
    name = image.rpartition("/")[2]
    return next((version for system, version in SYSTEMS.items() if f"{system}-" in f"{name}-"), "")
