"""Somebody whom an admin has let into a project: what they do, step by step, in this process, and what they read when it is refused."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from outlast.container.reference import parse_reference
from outlast.container.registry import Registry, digest_of
from outlast.engines.compute.engine import ComputeEngine
from outlast.engines.engine import Launch
from outlast.engines.vertex.engine import VertexEngine
from outlast.errors import OutlastError
from outlast.google.connect import connect
from outlast.jobs import cloud_secrets, images, roles
from outlast.jobs.asked import Asked
from outlast.jobs.audit import audit
from outlast.jobs.catalog import refresh_catalog
from outlast.jobs.cloud import cloud_of
from outlast.jobs.doctor_cloud import diagnose
from outlast.jobs.finding import Health
from outlast.jobs.job import Job, as_launch
from outlast.jobs.repository import make_repository
from outlast.jobs.resume import resume
from outlast.jobs.stop import stop
from outlast.jobs.submit import submit
from outlast.jobs.world import World, system_world
from outlast_emulator.compute.hosting import Guest
from outlast_emulator.testing import Running, running
from tests.cloud.admin import Admin
from tests.compute.renter import RUNNER
from tests.waiting import until

ANN = "ann@example.com"
KEY = "ann.json"
IMAGES = "/compute/v1/projects/emulated/global/images"
ZONE = "/compute/v1/projects/emulated/zones/us-central1-a"
REGION = "/compute/v1/projects/emulated/regions/us-central1"
OURS = {"outlast": "1"}


@contextmanager
def company(scratch: Path) -> Iterator[Running]:
    """A project that an admin has made ready, where Ann may run jobs and keep secrets."""
    with running(scratch / "google", time_scale=0.02) as found:
        found.switch(enable_seconds=0.0, write_limit=False, registry_needs_repository=True)
        work = scratch / "admin"
        work.mkdir()
        admin = Admin(found, work, scratch / "admin-outlast")
        admin.bucket, admin.members = "a-home", (f"user:{ANN}",)
        admin.init()
        key = found.call("POST", "/_emulator/iam/users", {"email": ANN}).json()
        (scratch / KEY).write_text(json.dumps(key))
        for role in ("keeper", "objects"):
            body = {"roleId": role, "role": {"title": "t", "includedPermissions": [], "stage": "GA"}}
            assert found.call("POST", "/v1/projects/emulated/roles", body).status == 200
        binding = {"resource": "projects/emulated", "role": "projects/emulated/roles/keeper", "member": f"user:{ANN}"}
        assert found.call("POST", "/_emulator/iam/bindings", binding).status == 200
        yield found


def permit(emulator: Running, role: str, permissions: set[str]) -> None:
    path = f"/v1/projects/emulated/roles/{role}?updateMask=includedPermissions"
    answer = emulator.call("PATCH", path, {"includedPermissions": sorted(permissions)})
    assert answer.status == 200, answer.body


def take_away(emulator: Running, *permissions: str) -> None:
    """All others are hers."""
    permit(emulator, roles.USER_ROLE, {*roles.USER_ROLE_PERMISSIONS} - {*permissions})
    permit(emulator, "keeper", {*roles.SECRET_PERMISSIONS} - {*permissions})


@dataclass
class Member:
    """Each act is whole: it makes what it needs, as the project's owner where Ann is not to."""

    emulator: Running
    directory: Path
    number: int
    """Of this test: each has a home and names of its own."""

    said: list[str] = field(default_factory=list)
    """What she reads beside errors."""

    jobs: int = 0
    world: World = field(default_factory=system_world)

    # A job's life.

    def lives(self) -> None:
        """Run, stop, resume, stop, and two hours later an audit that removes what is left. No machine is to be had, so that none boots."""
        self.emulator.call("POST", "/_emulator/capacity", {"zone": "*", "machines": 0})
        job = self._submitted()
        audit(self.world, "", None, fix=False)
        stop(self.world, job)
        resume(self.world, job)
        stop(self.world, job)
        self.emulator.call("POST", "/_emulator/clock", {"skew_seconds": 7200})
        self._audits()

    def looks(self, flags: Mapping[str, Any] = MappingProxyType({}), *, contained: bool = False) -> None:
        """Without the look at rights themselves, which would name any that is missing."""
        found = [one.finding for one in diagnose(self.world, flags, contained=contained)]
        self.said += [one.fact for one in found if one.check != "rights" and one.health is not Health.GOOD]

    def looks_from_inside(self) -> None:
        """Machines without an address of their own."""
        self.looks({"external-ip": False})

    def lets_the_project_pay(self) -> None:
        """A login that names a project for its quota, as gcloud writes it."""
        key = Path(os.environ["GOOGLE_APPLICATION_CREDENTIALS"])
        paying = self.directory / "paying.json"
        paying.write_text(json.dumps({**json.loads(key.read_text()), "quota_project_id": "emulated"}))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(paying))
            images.Images(system_world(), {}).needed()

    def runs_in_a_subnetwork(self) -> None:
        self._submitted(network="regions/us-central1/subnetworks/default")

    def refills(self) -> None:
        """A sweep's group from which the last machine was sent away."""
        launch = self._launched()
        group = f"{REGION}/instanceGroupManagers/outlast-{launch.id}"
        assert self.emulator.call("POST", f"{group}/resize?size=0").status == 200
        ComputeEngine(self.world.clock).start(replace(launch, independent=True))

    def removes_leaks(self) -> None:
        machine = {
            "name": "leaked",
            "machineType": "zones/us-central1-a/machineTypes/e2-standard-2",
            "labels": OURS,
            "disks": [{"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": DEBIAN}}],
            "networkInterfaces": [{"network": "global/networks/default"}],
        }
        assert self.emulator.call("POST", f"{ZONE}/instances", machine).status in (200, 409)
        disk = {"name": "left", "sizeGb": "10", "labels": OURS}
        assert self.emulator.call("POST", f"{ZONE}/disks", disk).status in (200, 409)
        until(lambda: self._status("instances", "leaked") == "RUNNING", "the machine is there")
        until(lambda: self._status("disks", "left") == "READY", "the disk is there")
        self._audits()

    # Images and the catalog.

    def builds(self) -> None:
        """On an image of the project's own; the builder is a record, which somebody lets say that it is done."""
        self._publish()
        images.Images(self.world, {}).build(images.Asked(f"of-family-{self.number}", base="emulated/tools"), self._hear)

    def builds_on_an_image(self) -> None:
        self._publish()
        asked = images.Asked(f"of-image-{self.number}", base="projects/emulated/global/images/old")
        images.Images(self.world, {}).build(asked, self._hear)

    def saves(self) -> None:
        job = self._submitted()
        self._launched(job)
        images.Images(self.world, {}).save(job, f"saved-{self.number}", self._hear)

    def deletes_an_image(self) -> None:
        self._publish()
        known = images.Images(self.world, {})
        known.delete(known.named(["old"]))

    def refreshes(self) -> None:
        refresh_catalog(self.world, {}, "", lambda *_: None)

    # Vertex AI.

    def trains_in_a_container(self) -> None:
        self.emulator.call("POST", "/_emulator/capacity", {"zone": "*", "machines": 0})
        launch = self._contained(as_launch_of(self._submitted()))
        engine = VertexEngine(self.world.clock)
        engine.start(launch)
        list(engine.lines(launch))
        engine.stop(launch)
        engine.start(replace(launch, id="f" * 16, boots=f"{launch.boots}other/"))
        self.emulator.call("POST", "/_emulator/clock", {"skew_seconds": 7200})
        self._audits()

    def looks_at_vertex(self) -> None:
        self.looks(contained=True)

    def pushes(self) -> None:
        """To a repository that nobody has made yet."""
        at = parse_reference(f"us-central1-docker.pkg.dev/emulated/images-{self.number}/job")
        make_repository(self.world, at)
        host = self.emulator.url.partition("://")[2]
        login = base64.b64encode(f"oauth2accesstoken:{connect().credentials.renew().value}".encode()).decode()
        self.emulator.switch(require_login=True)  # a registry asks for a login, and is told one only then
        (self.directory / "config.json").write_text(json.dumps({"auths": {host: {"auth": login}}}))
        registry = Registry(host, environ={**os.environ, "DOCKER_CONFIG": str(self.directory)})
        data = b"a layer"
        registry.put_blob(at.path, digest_of(data), len(data), lambda: (data,))
        registry.get_blob(at.path, digest_of(data))

    # Secrets.

    def keeps_a_secret(self) -> None:
        cloud = cloud_of(self.world, {})
        name = f"TOKEN-{self.number}"
        reference = cloud_secrets.set_secret(cloud, name, "a value")
        cloud_secrets.pinned_version(reference)
        cloud_secrets.delete_secrets(cloud, (name,))

    # The parts of that.

    def refusal(self, act: Callable[[Member], None]) -> str:
        """Everything that she reads of it."""
        try:
            act(self)
        except OutlastError as error:
            self.said += [error.message, error.state]
        return "\n".join(self.said)

    def _audits(self) -> None:
        self.said += audit(self.world, "", None, fix=True).failed.values()

    def _submitted(self, network: str = "") -> Job:
        self.jobs += 1
        asked = Asked(
            target="train.py",
            directory=str(self.directory),
            on="compute",
            home=f"gs://a-home/{self.number}",
            job_id=f"job-{self.jobs}",
            network=network,
        )
        return submit(self.world, asked).job

    def _launched(self, job: Job | None = None) -> Launch:
        """Its machine runs."""
        launch = as_launch_of(job or self._submitted())
        engine = ComputeEngine(self.world.clock, {**os.environ, "GOOGLE_APPLICATION_CREDENTIALS": ""})
        until(lambda: engine.first_machine(launch) is not None, "its machine runs")
        return launch

    def _contained(self, launch: Launch) -> Launch:
        rented = launch.machine.rented
        assert rented is not None
        host = self.emulator.url.partition("://")[2]
        contained = replace(
            rented,
            service="vertex",
            machine_type="n1-standard-4",
            image=f"{host}/library/none",
            service_account=RUNNER,
            disk_gb=100,
        )
        return replace(launch, machine=replace(launch.machine, rented=contained))

    def _publish(self) -> None:
        body = {"name": "old", "family": "tools", "sourceImage": DEBIAN, "labels": OURS}
        assert self.emulator.call("POST", IMAGES, body).status in (200, 409)
        until(lambda: self.emulator.call("GET", f"{IMAGES}/old").json().get("status") == "READY", "the image is ready")

    def _hear(self, line: str) -> None:
        """Who is told of a builder lets it say that it is done."""
        self.said.append(line)
        found = re.match(r"builder `outlast-image-([0-9a-f]+)` in ", line)
        if found:
            until(lambda: self._guest(f"outlast-image-{found[1]}") is not None, "the builder is up")
            guest = self._guest(f"outlast-image-{found[1]}")
            assert guest is not None
            guest.tell("instance/guest-attributes/outlast/result", f"built {found[1]}")

    def _guest(self, name: str) -> Guest | None:
        inside = self.emulator.inside
        assert inside is not None
        instance = inside.compute.instances.named(name)
        return inside.compute.instances.guest(instance) if instance is not None else None

    def _status(self, kind: str, name: str) -> str:
        return str(self.emulator.call("GET", f"{ZONE}/{kind}/{name}").json().get("status"))


DEBIAN = "projects/debian-cloud/global/images/family/debian-12"


def as_launch_of(job: Job) -> Launch:
    head = job.folder.read_head().head
    return as_launch(job, job.folder.read_launch(head.launch), job.folder.read_spec())
