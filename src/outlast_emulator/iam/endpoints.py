"""All routes about identity: token endpoints, metadata server, bucket policies, control."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from outlast_emulator.iam.bucket_policy import BucketPolicies
from outlast_emulator.iam.control import Control
from outlast_emulator.iam.metadata import Metadata
from outlast_emulator.iam.oauth import Endpoints
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


def routes(emulator: Emulator) -> Iterable[Route]:
    authority = emulator.authority
    yield from Endpoints(authority).routes()
    yield from Metadata(authority).routes()
    yield from BucketPolicies(emulator, authority).routes()
    yield from Control(emulator, authority).routes()
