"""What a user of directories pays for buckets: nothing."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

HEAVY = ("urllib3", "google.auth", "outlast.google.connections", "outlast.google.transport", "outlast.store.gcs")


@pytest.mark.parametrize("command", [["--help"], ["jobs"], ["show"], ["run", "nothing.py"]])
def test_a_command_on_a_directory_loads_nothing_of_the_network(command: list[str]) -> None:
    said = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "outlast.cli", *command], capture_output=True, text=True, check=False
    )
    loaded = set(re.findall(r"\| +(\S+)$", said.stderr, flags=re.MULTILINE))
    assert "outlast.cli" in loaded
    assert not loaded & set(HEAVY)
