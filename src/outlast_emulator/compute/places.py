"""Google's regions and zones, as of 2026-08: the part of them that training is done in."""

from __future__ import annotations

from outlast_emulator.compute import links
from outlast_emulator.errors import ApiError, invalid

_REGIONS = (
    "africa-south1 asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 asia-south1 asia-south2 asia-southeast1 "
    "asia-southeast2 australia-southeast1 australia-southeast2 europe-central2 europe-north1 europe-north2 europe-southwest1 "
    "europe-west1 europe-west2 europe-west3 europe-west4 europe-west6 europe-west8 europe-west9 europe-west10 europe-west12 "
    "me-central1 me-central2 me-west1 northamerica-northeast1 northamerica-northeast2 northamerica-south1 southamerica-east1 "
    "southamerica-west1 us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4"
)
_LETTERS = {"us-central1": "abcf", "us-east1": "bcd", "europe-west1": "bcd"}

REGIONS: dict[str, tuple[str, ...]] = {
    region: tuple(f"{region}-{letter}" for letter in _LETTERS.get(region, "abc")) for region in _REGIONS.split()
}
"""Region -> its zones."""

ZONES: dict[str, str] = {zone: region for region, zones in REGIONS.items() for zone in zones}
"""Zone -> its region."""


def check_zone(zone: str) -> str:
    if zone not in ZONES:
        raise _unknown("zone", zone)
    return zone


def check_region(region: str) -> str:
    if region not in REGIONS:
        raise _unknown("region", region)
    return region


def scopes(*kinds: str) -> list[str]:
    """`global`, every `regions/R` and every `zones/Z`, as far as asked for by `global`, `regions`, `zones`."""
    found = [links.GLOBAL] if "global" in kinds else []
    if "regions" in kinds:
        found += [links.region_scope(region) for region in REGIONS]
    if "zones" in kinds:
        found += [links.zone_scope(zone) for zone in ZONES]
    return found


def _unknown(field: str, value: str) -> ApiError:
    return invalid(f"Invalid value for field '{field}': '{value}'. Unknown {field}.")
