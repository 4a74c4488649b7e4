"""What Google refuses of a group, a template and a machine's scheduling, and what it fills in."""

from __future__ import annotations

from typing import Any

import pytest

from outlast_emulator.compute import groups_rules, scheduling_rules, templates_rules
from outlast_emulator.compute.groups_rules import Place
from outlast_emulator.errors import ApiError
from outlast_emulator.switches import Switches
from tests.emulator_groups.conftest import group_body, spot, template_body

ZONES = ("us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f")
REGIONAL = Place(True, "us-central1", ZONES)
ZONAL = Place(False, "us-central1-a", ("us-central1-a",))
TEMPLATE = template_body()["properties"]
FLEXIBLE = {"instanceSelections": {"a": {"machineTypes": ["n2-standard-8"]}}}
MOVES = {"forceUpdateOnRepair": "YES", "onRepair": {"allowChangingZone": "YES"}}


def filled(
    body: dict[str, Any], place: Place = REGIONAL, switches: Switches | None = None, **template: Any
) -> dict[str, Any]:
    return groups_rules.filled(body, place, {**TEMPLATE, **template}, switches or Switches())


def policy(shape: str, *zones: str) -> dict[str, Any]:
    return {"targetShape": shape, "zones": [{"zone": f"zones/{zone}"} for zone in zones]}


def test_the_body_of_the_reference_is_accepted_as_it_stands() -> None:
    made = filled(
        group_body(
            instanceFlexibilityPolicy=FLEXIBLE,
            updatePolicy={
                "type": "OPPORTUNISTIC",
                "instanceRedistributionType": "NONE",
                "minimalAction": "REPLACE",
                "maxSurge": {"fixed": 0},
                "maxUnavailable": {"fixed": 3},
            },
        )
    )
    assert made["instanceLifecyclePolicy"]["defaultActionOnFailure"] == "REPAIR"
    assert made["updatePolicy"]["maxUnavailable"] == {"fixed": 3, "calculated": 3}


def test_what_is_not_said_is_as_google_fills_it_in() -> None:
    made = filled({"name": "g"})
    assert made["baseInstanceName"] == "g"
    assert made["targetSize"] == 0
    assert made["distributionPolicy"] == {"targetShape": "EVEN", "zones": [{"zone": zone} for zone in ZONES[:3]]}
    assert made["updatePolicy"]["instanceRedistributionType"] == "PROACTIVE"
    assert made["updatePolicy"]["maxSurge"] == {"fixed": 3, "calculated": 3}
    assert made["instanceLifecyclePolicy"]["forceUpdateOnRepair"] == "NO"


REFUSED: list[tuple[dict[str, Any], str]] = [
    (group_body("Bad"), "field 'resource.name': 'Bad'. Must be a match of regex"),
    (group_body(baseInstanceName="g_"), "field 'resource.baseInstanceName': 'g_'. Must be a match of regex"),
    (group_body(size=2001), "field 'resource.targetSize': '2001'"),
    (group_body(size=-1), "field 'resource.targetSize': '-1'"),
    (group_body(distributionPolicy={}), "'resource.distributionPolicy': ''. Distribution policy cannot be empty."),
    (group_body(distributionPolicy=policy("ANY", "us-east1-b")), "distributionPolicy.zones[0].zone': 'us-east1-b'"),
    (group_body(distributionPolicy=policy("ANY", "us-central1-a", "us-central1-a")), "Zones must be unique"),
    (group_body(distributionPolicy=policy("EVEN", "us-central1-a")), "not supported with target shape EVEN"),
    (
        group_body(distributionPolicy=policy("ANY_SINGLE_ZONE", "us-central1-a")),
        "not supported with target shape ANY_SINGLE_ZONE",
    ),
    (
        group_body(instanceLifecyclePolicy={"onRepair": {"allowChangingZone": "YES"}}),
        "allowChangingZone': 'YES'. Changing zone on repair requires forceUpdateOnRepair",
    ),
    (group_body(statefulPolicy={"preservedState": {}}), "not supported with stateful configuration"),
    (
        group_body(updatePolicy={"instanceRedistributionType": "PROACTIVE"}),
        "Proactive instance redistribution is not supported with target shape ANY",
    ),
    (
        group_body(updatePolicy={"maxSurge": {"fixed": 1}}),
        "'resource.updatePolicy.maxSurge.fixed': '1'. Fixed updatePolicy.maxSurge for regional managed instance group has "
        "to be either 0 or at least equal to the number of zones.",
    ),
    (
        group_body(updatePolicy={"maxSurge": {"fixed": 0}, "maxUnavailable": {"fixed": 0}}),
        "Either maxSurge or maxUnavailable must be greater than zero",
    ),
    (
        group_body(updatePolicy={"replacementMethod": "RECREATE", "maxSurge": {"fixed": 3}}),
        "maxSurge must be equal to 0 when replacement method is set to RECREATE",
    ),
    (
        group_body(
            instanceFlexibilityPolicy=FLEXIBLE,
            distributionPolicy=policy("EVEN", "us-central1-a"),
            instanceLifecyclePolicy={},
        ),
        "Instance flexibility policy is not supported with target distribution shape EVEN",
    ),
    (
        group_body(instanceFlexibilityPolicy={"instanceSelections": {"a": {"machineTypes": ["n2-custom-8-32768"]}}}),
        "'n2-custom-8-32768'. Custom machine types are not supported in instance selections.",
    ),
    (group_body(targetSizePolicy={"mode": "BULK"}), "mode BULK is not supported for VMs with provisioning model SPOT"),
    (group_body(autoHealingPolicies=[{}, {}]), "Only one autohealing policy"),
    (group_body(autoHealingPolicies=[{"initialDelaySec": 9999}]), "autoHealingPolicies[0].initialDelaySec': '9999'"),
]


@pytest.mark.parametrize(("body", "words"), REFUSED, ids=[words[:50] for _, words in REFUSED])
def test_a_group_that_cannot_be_is_refused_with_its_field(body: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError) as refusal:
        filled(body)
    assert refusal.value.status == 400
    assert words in refusal.value.message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (group_body(), "Distribution policy is supported only for regional"),
        ({"name": "g", "instanceLifecyclePolicy": MOVES}, "supported only for regional managed instance groups"),
        ({"name": "g", "instanceFlexibilityPolicy": FLEXIBLE}, "supported only for regional managed instance groups"),
        ({"name": "g", "updatePolicy": {"instanceRedistributionType": "NONE"}}, "only for regional managed"),
    ],
)
def test_what_only_a_region_has_is_refused_in_a_zone(body: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError, match=words):
        filled(body, ZONAL)


@pytest.mark.parametrize(
    ("switch", "body", "template", "words"),
    [
        ("zone_change", group_body(), {}, "allowChangingZone"),
        (
            "zone_change_with_flexibility",
            group_body(instanceFlexibilityPolicy=FLEXIBLE),
            {},
            "instanceFlexibilityPolicy",
        ),
        (
            "group_takes_spot_delete",
            group_body(),
            {"scheduling": spot(instanceTerminationAction="DELETE")},
            "instanceTerminationAction",
        ),
    ],
)
def test_what_is_not_settled_is_refused_by_a_switch_naming_the_field(
    switch: str, body: dict[str, Any], template: dict[str, Any], words: str
) -> None:
    switches = Switches()
    filled(body, REGIONAL, switches, **template)
    switches.change({switch: False})
    with pytest.raises(ApiError, match=words):
        filled(body, REGIONAL, switches, **template)


def scheduling(switches: Switches | None = None, *, gpus: bool = False, template: bool = False, **fields: Any) -> None:
    scheduling_rules.check(
        fields,
        now=1e9,
        switches=switches or Switches(),
        field="resource.scheduling",
        has_gpus=gpus,
        in_template=template,
    )


NOTICE = {"seconds": "120"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (spot(automaticRestart=True), "automaticRestart be false when preemptible is true"),
        (spot(onHostMaintenance="MIGRATE"), "onHostMaintenance be TERMINATE when preemptible is true"),
        (
            {"instanceTerminationAction": "DELETE"},
            "You cannot specify a termination action for a VM instance that has the standard provisioning model",
        ),
        ({"preemptionNoticeDuration": NOTICE}, "can only be set for Spot VMs"),
        (spot(preemptionNoticeDuration={"seconds": "60"}), "preemptionNoticeDuration': '60s'"),
        (spot(maxRunDuration={"seconds": "5"}), "maxRunDuration': '5s'"),
        (
            spot(maxRunDuration={"seconds": "50"}, terminationTime="2099-01-01T00:00:00Z"),
            "only specify one of: max run duration or termination time",
        ),
        (spot(terminationTime="tomorrow"), "must be in RFC3339 format"),
        (spot(terminationTime="1999-01-01T00:00:00Z"), "Termination time must be in the future"),
        ({"provisioningModel": "STANDARD", "preemptible": True}, "cannot have the STANDARD provisioning model"),
    ],
)
def test_a_scheduling_that_cannot_be_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError) as refusal:
        scheduling(**fields)
    assert refusal.value.status == 400
    assert words in refusal.value.message


def test_a_standard_machine_with_a_time_limit_may_have_a_termination_action() -> None:
    scheduling(instanceTerminationAction="DELETE", maxRunDuration={"seconds": "3600"})


def test_gpus_do_not_migrate() -> None:
    with pytest.raises(ApiError, match="do not support live migration"):
        scheduling(gpus=True, onHostMaintenance="MIGRATE")


def test_the_notice_is_refused_where_the_switches_say_so() -> None:
    switches = Switches()
    fields = spot(preemptionNoticeDuration=NOTICE)
    scheduling(switches, template=True, gpus=True, **fields)
    switches.change({"notice_in_templates": False})
    scheduling(switches, gpus=True, **fields)
    with pytest.raises(ApiError, match="preemptionNoticeDuration"):
        scheduling(switches, template=True, **fields)
    switches.change({"notice_in_templates": True, "notice_with_gpus": False})
    with pytest.raises(ApiError, match="preemptionNoticeDuration"):
        scheduling(switches, gpus=True, **fields)


def test_a_past_termination_time_may_stand_in_a_template_and_be_let_through_by_a_switch() -> None:
    fields = spot(terminationTime="1999-01-01T00:00:00Z")
    scheduling(template=True, **fields)
    scheduling(Switches(past_termination_refused=False), **fields)


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"machineType": ""}, "Machine type must be specified"),
        ({"disks": []}, "No disks are specified"),
        ({"disks": [{"initializeParams": {"sourceImage": "i"}}]}, "Boot disk must be the first disk"),
        ({"disks": [{"boot": True}]}, "Boot disk must have a source specified"),
        (
            {
                "disks": [
                    {"boot": True, "initializeParams": {"sourceImage": "i", "diskType": "zones/z/diskTypes/pd-ssd"}}
                ]
            },
            "must be a name, not a URL",
        ),
        ({"networkInterfaces": []}, "At least one network interface is required"),
        ({"labels": {"Upper": "x"}}, "Label key 'Upper' violates format constraints"),
        ({"metadata": {"items": [{"key": "a b", "value": ""}]}}, "metadata.items[0].key"),
        (
            {"guestAccelerators": [{"acceleratorType": "zones/z/acceleratorTypes/nvidia-l4"}]},
            "must be a name, not a URL",
        ),
        ({"scheduling": spot(automaticRestart=True)}, "automaticRestart"),
    ],
)
def test_a_template_that_cannot_be_is_refused(properties: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError) as refusal:
        templates_rules.check(template_body(**properties), now=1e9, switches=Switches())
    assert refusal.value.status == 400
    assert words in refusal.value.message


def test_a_url_for_a_machine_type_is_an_internal_error_as_google_documents_it() -> None:
    with pytest.raises(ApiError) as refusal:
        templates_rules.check(
            template_body(machineType="zones/z/machineTypes/n2-standard-8"), now=1e9, switches=Switches()
        )
    assert refusal.value.status == 500


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (group_body(instanceLifecyclePolicy={}, statefulPolicy={"preservedState": {}}), 501),
        (group_body(resourcePolicies={"workloadPolicy": "p"}), 501),
        (group_body(targetStoppedSize=1), 501),
        (group_body(standbyPolicy={"mode": "SCALE_OUT_POOL"}), 501),
        (group_body(targetPools=["regions/us-central1/targetPools/p"]), 404),
        (group_body(autoHealingPolicies=[{"healthCheck": "global/healthChecks/h"}]), 404),
    ],
)
def test_what_the_emulator_has_nothing_of_is_not_taken_in_silence(body: dict[str, Any], status: int) -> None:
    with pytest.raises(ApiError) as refusal:
        filled(body)
    assert refusal.value.status == status


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T00:01:00.5Z", 60.5),
        ("1970-01-01T01:01:00.123456789+01:00", 60.123456789),
        ("1970-01-01", None),
        ("1970-01-01T00:01:00", None),
        ("1970-13-01T00:01:00Z", None),
    ],
)
def test_a_time_is_read_as_rfc_3339_has_it(text: str, seconds: float | None) -> None:
    assert scheduling_rules.parse_time(text) == (None if seconds is None else pytest.approx(seconds))
