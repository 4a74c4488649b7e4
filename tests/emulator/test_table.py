"""The table of the emulator's methods is complete, claims nothing, and names the clients that have been seen."""

from __future__ import annotations

from outlast_emulator.sources import SOURCES, WORDS
from tools import emulator_table

CLIENTS = (
    "gcloud ai",
    "google-cloud-aiplatform, google-cloud-logging",
    "skopeo, podman",
    "gcloud compute",
    "gcloud iam",
    "gcloud storage",
    "gcsfs",
    "google-auth",
    "google-cloud-compute",
    "google-cloud-storage",
    "gsutil",
    "obstore",
    "rclone",
)


def test_every_served_method_says_where_its_behaviour_is_from() -> None:
    assert sorted(SOURCES) == emulator_table.served()
    for method_id, origin in SOURCES.items():
        assert origin and set(origin) <= set(WORDS), method_id


def test_only_what_is_served_has_been_used() -> None:
    assert set(emulator_table.used()) <= set(emulator_table.served())


def test_every_client_has_used_something() -> None:
    assert sorted({client for clients in emulator_table.used().values() for client in clients}) == sorted(CLIENTS)


def test_a_method_is_served_or_answers_501_and_never_both() -> None:
    assert not set(emulator_table.served()) & set(emulator_table.unserved())
    page = emulator_table.page()
    assert all(f"- `{method_id}`" in page for method_id in emulator_table.unserved())
