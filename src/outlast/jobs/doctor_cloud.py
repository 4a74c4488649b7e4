"""Doctor's look at a cloud: login, project, APIs, rights, quotas, bucket, network, clock; what it can mend, it says how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import Denied, OutlastError
from outlast.google import buckets
from outlast.google.bucket_access import BucketAccess
from outlast.google.errors import ApiError, is_off
from outlast.google.project_apis import ProjectApis
from outlast.google.storage import StorageClient
from outlast.google.transport import read_date
from outlast.google.wire import NoAnswer
from outlast.jobs import roles
from outlast.jobs.cloud import Cloud, cloud_of
from outlast.jobs.doctor_network import network_diagnoses
from outlast.jobs.doctor_quotas import quota_findings, training_findings
from outlast.jobs.finding import Diagnosis, Finding, bad, good, warning
from outlast.jobs.init import Initializer
from outlast.jobs.init_plan import Planner
from outlast.jobs.init_step import Setup, Step
from outlast.jobs.world import World

SKEW_SECONDS_MAX = 30.0
PERMISSIONS_SHOWN_MAX = 5
OF_ADMINS = ("role", "account", "binding")
"""Whoever runs jobs need not be allowed to look at these."""

OBJECT_PERMISSIONS = (
    "storage.objects.create",
    "storage.objects.delete",
    "storage.objects.get",
    "storage.objects.list",
    "storage.objects.update",
)

Look = Callable[[], Iterator[Diagnosis]]


@dataclass(frozen=True)
class Patient:
    """All that a look needs."""

    world: World
    cloud: Cloud
    apis: ProjectApis
    planner: Planner
    contained: bool = False
    """Its machines are a service's, which has quotas of its own, and a network unless one is named."""


def diagnose(world: World, flags: Mapping[str, Any], *, contained: bool = False) -> list[Diagnosis]:
    """In the order in which things depend on one another: without a login nothing else is looked at."""
    try:
        cloud = cloud_of(world, flags)
        account = _account(cloud)
    except OutlastError as error:
        return [
            Diagnosis(bad("login", error.message, error.hint.strip("`") or "gcloud auth application-default login"))
        ]
    patient = _patient(world, cloud, contained=contained)
    found = [Diagnosis(good("login", f"to Google as `{account}`"))]
    for name, look in _looks(patient):
        if name != "network" or not contained or flags.get("network") is not None:
            found += _guarded(patient, name, look)
    return found


def mend(world: World, flags: Mapping[str, Any]) -> Iterator[str]:
    """Mends what can be mended from here, and says of each what is true now: first what init would make, in its order."""
    cloud = cloud_of(world, flags)
    patient = _patient(world, cloud)
    for looked in Initializer(_steps(patient), cloud.transport, world.clock).make():
        if not looked.there:
            yield looked.step.wanted
    for diagnosis in diagnose(world, flags):
        if diagnosis.fix is not None:
            diagnosis.fix()
            yield diagnosis.mended


def _patient(world: World, cloud: Cloud, *, contained: bool = False) -> Patient:
    setup = Setup(cloud.project, cloud.region, cloud.bucket, network=cloud.network)
    planner = Planner(setup, cloud.transport, world.clock)
    return Patient(world, cloud, ProjectApis(cloud.transport, cloud.project), planner, contained)


def _steps(patient: Patient) -> list[Step]:
    """What init makes; without what is about a bucket where none is named."""
    steps = patient.planner.steps()
    return steps if patient.cloud.bucket else [step for step in steps if not step.of_bucket]


def _account(cloud: Cloud) -> str:
    """Asks for a token, which is what a login is for."""
    try:
        cloud.transport.credentials.renew()
    except (ApiError, NoAnswer) as error:
        raise cloud.transport.explain(error, "a token for Google") from error
    return cloud.transport.credentials.account


def _looks(patient: Patient) -> Iterator[tuple[str, Look]]:
    for step in _steps(patient):
        if step.name != "project":
            yield step.name, _step_look(patient, step)
            if step.name == "bucket":
                yield "bucket", lambda: _bucket(patient)
        else:
            yield "project", lambda: _project(patient)
            yield "clock", lambda: _clock(patient)
            yield "billing", lambda: _billing(patient)
    if not patient.cloud.bucket:
        yield "bucket", lambda: iter([Diagnosis(bad("bucket", "no home in a bucket is named", "outlast init"))])
    yield "rights", lambda: _rights(patient)
    quotas = training_findings if patient.contained else quota_findings
    yield "quotas", lambda: map(Diagnosis, quotas(patient.cloud))
    yield "network", lambda: network_diagnoses(patient.cloud)


def _guarded(patient: Patient, name: str, look: Look) -> list[Diagnosis]:
    """One look that fails hides no other."""
    try:
        return list(look())
    except ApiError as error:
        if is_off(error):
            return [Diagnosis(bad(name, "cannot be looked at: its API is off", "outlast doctor --on compute --fix"))]
        explained = patient.cloud.transport.explain(error, name)
        if error.status == 403 and name in OF_ADMINS:
            mend = "somebody with more rights types: outlast doctor --on compute"
            return [Diagnosis(warning(name, f"you may not look at it: {explained.message}", mend))]
        return [Diagnosis(bad(name, explained.message, explained.hint.strip("`") or "outlast init --print"))]
    except NoAnswer as error:
        explained = patient.cloud.transport.explain(error, name)
        return [Diagnosis(bad(name, explained.message, explained.hint))]
    except OutlastError as error:
        return [Diagnosis(bad(name, error.message, error.hint.strip("`") or "outlast init --print"))]


def _step_look(patient: Patient, step: Step) -> Look:
    def look() -> Iterator[Diagnosis]:
        if step.is_there():
            yield Diagnosis(good(step.name, step.wanted))
            return
        initializer = Initializer([step], patient.cloud.transport, patient.world.clock)
        finding = bad(step.name, f"not yet: {step.wanted}", step.commands[0] if step.commands else "outlast init")
        yield Diagnosis(finding, lambda: initializer.make_one(step), step.wanted)

    return look


def _project(patient: Patient) -> Iterator[Diagnosis]:
    found = patient.apis.get_project()
    state = str(found.get("lifecycleState", ""))
    if state == "ACTIVE":
        yield Diagnosis(good("project", f"`{patient.cloud.project}`, number {found.get('projectNumber')}"))
    else:
        raise Denied(
            f"project `{patient.cloud.project}` is {state.lower().replace('_', ' ')}",
            hint=f"`gcloud projects undelete {patient.cloud.project}`",
        )


def _bucket(patient: Patient) -> Iterator[Diagnosis]:
    """Where it is, and what it keeps: neither stops a job, both cost money."""
    found = buckets.find(StorageClient(patient.cloud.transport, patient.cloud.bucket))
    if found is None:
        return
    if note := buckets.region_note(found, patient.cloud.region):
        yield Diagnosis(warning("bucket", note, f"outlast init --region {found.location}, or another --bucket"))
    if found.soft_delete:
        fact = f"`{found.name}` has soft delete: every checkpoint that is replaced is kept, and billed, for days"
        command = f"gcloud storage buckets update gs://{found.name} --clear-soft-delete"
        yield Diagnosis(warning("bucket", fact, command))


def _billing(patient: Patient) -> Iterator[Diagnosis]:
    project = patient.cloud.project
    link = f"gcloud billing projects link {project} --billing-account=ACCOUNT"
    try:
        billed = patient.apis.is_billed()
    except ApiError as error:
        if not is_off(error):
            raise
        command = f"gcloud services enable cloudbilling.googleapis.com --project={project}"
        yield Diagnosis(warning("billing", "nobody can say whether it is on: the billing API is off", command))
        return
    yield Diagnosis(good("billing", "is on") if billed else bad("billing", f"is off for project `{project}`", link))


def _clock(patient: Patient) -> Iterator[Diagnosis]:
    date = read_date(patient.apis.date)
    skew = date - patient.world.clock.now() if date else 0.0
    if abs(skew) > SKEW_SECONDS_MAX:
        fact = f"this computer's differs from Google's by {skew:.0f} s: tokens may be refused"
        yield Diagnosis(warning("clock", fact, "timedatectl set-ntp true"))
    elif date:
        yield Diagnosis(good("clock", "this computer's and Google's agree"))


def _rights(patient: Patient) -> Iterator[Diagnosis]:
    """What this login itself may do, here and on what it needs."""
    runner, bucket = patient.planner.runner, patient.cloud.bucket
    yield Diagnosis(_lacking(patient, "in the project", roles.USER_ROLE_PERMISSIONS, patient.apis.held))
    if bucket:
        access = BucketAccess(patient.cloud.transport, bucket)
        yield Diagnosis(_lacking(patient, f"in bucket `{bucket}`", OBJECT_PERMISSIONS, access.held))
    act_as = (roles.ACT_AS,)
    yield Diagnosis(
        _lacking(patient, f"on `{runner}`", act_as, lambda asked: patient.apis.held_on_account(runner, asked))
    )


def _lacking(
    patient: Patient, where: str, needed: tuple[str, ...], held: Callable[[tuple[str, ...]], set[str]]
) -> Finding:
    try:
        missing = sorted(set(needed) - held(needed))
    except ApiError as error:
        if error.status != 404:
            raise
        return bad("rights", f"there is nothing to have rights {where}", "outlast init")
    if not missing:
        return good("rights", f"you have all {len(needed)} that jobs need {where}")
    named = ", ".join(f"`{one}`" for one in missing[:PERMISSIONS_SHOWN_MAX])
    more = f" and {len(missing) - PERMISSIONS_SHOWN_MAX} more" if len(missing) > PERMISSIONS_SHOWN_MAX else ""
    command = f"outlast init --project {patient.cloud.project} --member YOU"
    return bad("rights", f"you lack {named}{more} {where}", f"somebody with more rights types: {command}")
