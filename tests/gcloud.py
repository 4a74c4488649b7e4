"""Google's own command line: not on every computer, and never missing where these tests are required."""

from __future__ import annotations

import shutil

import pytest


def need_gcloud() -> None:
    if shutil.which("gcloud") is None:
        pytest.skip("gcloud is not on the PATH; Google's installer or Debian package `google-cloud-cli` brings it")
