"""What an hour costs of machines that a service runs: all of its pools, and what the service asks for beside."""

from __future__ import annotations

from outlast.catalog.prices import Billed, Price, disk_usd, price
from outlast.catalog.table import Catalog, catalog
from outlast.catalog.vertex import MANAGEMENT_SHARE
from outlast.dataclass import replace
from outlast.jobs.rent_tpu import chips_of, slice_of
from outlast.spec.spec import Machine, Pool


def quoted_contained(machine: Machine, region: str, *, spot: bool) -> Price | None:
    """Of one machine: where there are pools, of all of them together divided by their number. None: the catalog does not know."""
    known, rented = catalog(), machine.rented
    assert rented is not None
    whole = _tpu_price if slice_of(machine) is not None else _pools_price
    now, on_demand = (whole(known, machine, region, spot=one) for one in (spot, False))
    if now is None:
        return None
    full = on_demand or now
    management = round((full.machine + full.gpus + full.disk) * MANAGEMENT_SHARE, 6)
    return replace(now, management=management, estimated=tuple(dict.fromkeys((*now.estimated, "management"))))


def _pools_price(known: Catalog, machine: Machine, region: str, *, spot: bool) -> Price | None:
    rented = machine.rented
    assert rented is not None
    first = Pool(rented.machine_type, 1, rented.accelerator, machine.gpus)
    pools = [pool for pool in (first, *rented.pools) if pool.replicas]
    workers = sum(pool.replicas for pool in pools)
    total = Price(0.0, 0.0, 0.0, 0.0)
    for pool in pools:
        one = _pool_price(known, pool, rented.disk_type, rented.disk_gb, region, spot=spot)
        if one is None:
            return None
        share = pool.replicas / workers
        total = replace(
            total,
            machine=total.machine + one.machine * share,
            gpus=total.gpus + one.gpus * share,
            disk=total.disk + one.disk * share,
            estimated=tuple(dict.fromkeys((*total.estimated, *one.estimated))),
        )
    return total


def _pool_price(known: Catalog, pool: Pool, disk_type: str, disk_gb: int, region: str, *, spot: bool) -> Price | None:
    machine_type = known.machine(pool.machine_type)
    gpu = next((one for one in known.gpus.values() if one.cloud_name == pool.accelerator), None)
    if machine_type is None or (pool.accelerator and gpu is None):
        return None
    billed = Billed(machine_type, gpu, pool.accelerators, disk_type, disk_gb, external_ip=False)
    return price(known, billed, region, spot=spot)


def _tpu_price(known: Catalog, machine: Machine, region: str, *, spot: bool) -> Price | None:
    tpu, rented = slice_of(machine), machine.rented
    assert tpu is not None and rented is not None
    kind = known.tpu(tpu.kind)
    offer = kind.offers.get(region) if kind is not None else None
    usd = offer.price(spot) if offer is not None else None
    disk = disk_usd(known, rented.disk_type, rented.disk_gb, region)
    if usd is None or disk is None:
        return None
    return Price(usd * chips_of(tpu), 0.0, disk, 0.0, ("machine",))
