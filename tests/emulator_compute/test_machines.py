"""Instances that really run: scripts, metadata, serial port, guest attributes, images, poweroff and reboot, seen through the API."""

from __future__ import annotations

from typing import Any

from tests.emulator_compute.conftest import IMAGE, ZONE, Api
from tests.waiting import until

HERE = f"zones/{ZONE}/instances"
GET = "curl -s -H 'Metadata-Flavor: Google' http://metadata.google.internal/computeMetadata/v1"
IDLE = "#!/bin/bash\n"


def serial(api: Api, name: str = "vm") -> str:
    return str(api.get(f"{HERE}/{name}/serialPort?port=1").get("contents", ""))


def said(api: Api, words: str, name: str = "vm") -> str:
    def find() -> str:
        text = serial(api, name)
        return text if words in text else ""

    return until(find, f"`{words}` on the serial port of `{name}`")


def test_a_machine_runs_its_script_and_knows_itself(real: Api) -> None:
    script = f"""#!/bin/bash
echo "name $({GET}/instance/name) zone $({GET}/instance/zone) project $({GET}/project/project-id)"
echo "attribute $({GET}/instance/attributes/colour) spot $({GET}/instance/scheduling/preemptible)"
echo "bucket $(curl -s -o /dev/null -w '%{{http_code}}' $OUTLAST_EMULATOR/storage/v1/b/none)"
echo "all said"
"""
    items = [{"key": "startup-script", "value": script}, {"key": "colour", "value": "blue $(touch /tmp/x)"}]
    real.make(metadata={"items": items}, scheduling={"provisioningModel": "SPOT"})
    text = said(real, "Finished running startup scripts")
    assert "all said" in text
    assert f"name vm zone projects/424242424242/zones/{ZONE} project emulated" in text
    assert "attribute blue $(touch /tmp/x) spot TRUE" in text
    assert "bucket 404" in text
    part = real.get(f"{HERE}/vm/serialPort?port=1&start=5")
    assert part["start"] == "5" and part["contents"] == serial(real)[5:]
    assert real.get(f"{HERE}/vm/serialPort?port=1&start={part['next']}").get("contents", "") == ""


def test_metadata_that_is_changed_reaches_the_machine(real: Api) -> None:
    script = f"#!/bin/bash\n{GET}'/instance/attributes/colour?wait_for_change=true'; echo; echo 'it changed'\n"
    items = [{"key": "startup-script", "value": script}, {"key": "colour", "value": "blue"}]
    made = real.make(metadata={"items": items})
    said(real, "startup-script in metadata")
    changed = [items[0], {"key": "colour", "value": "green"}]
    real.done(real.post(f"{HERE}/vm/setMetadata", {"items": changed, "fingerprint": made["metadata"]["fingerprint"]}))
    # It may have been changed before the machine began to wait: then another change wakes it.
    for round_number in range(200):
        if "it changed" in serial(real):
            break
        again = [items[0], {"key": "colour", "value": f"green {round_number}"}]
        fingerprint = real.instance()["metadata"]["fingerprint"]
        real.done(real.post(f"{HERE}/vm/setMetadata", {"items": again, "fingerprint": fingerprint}))
    assert "green" in serial(real)


def test_guest_attributes_are_read_where_they_are_switched_on(real: Api) -> None:
    put = "curl -s -X PUT --data one -H 'Metadata-Flavor: Google'"
    url = "http://metadata.google.internal/computeMetadata/v1/instance/guest-attributes/outlast/phase"
    items = [{"key": "startup-script", "value": f"#!/bin/bash\n{put} {url}; echo 'it is put'\n"}]
    real.make(metadata={"items": [*items, {"key": "enable-guest-attributes", "value": "TRUE"}]})
    said(real, "it is put")
    found = real.get(f"{HERE}/vm/getGuestAttributes?queryPath=outlast/")
    assert found["queryValue"]["items"] == [{"namespace": "outlast", "key": "phase", "value": "one"}]
    assert real.refused("GET", f"{HERE}/vm/getGuestAttributes?queryPath=other/")[0] == 404
    real.make("off")
    assert real.refused("GET", f"{HERE}/off/getGuestAttributes?queryPath=outlast/")[0] == 412


def test_a_machine_that_powers_itself_off_is_terminated_and_its_output_is_kept(real: Api) -> None:
    real.make(metadata={"items": [{"key": "startup-script", "value": "#!/bin/bash\necho last words\npoweroff\n"}]})
    until(lambda: real.instance()["status"] == "TERMINATED")
    assert "last words" in serial(real)
    operations = [one["operationType"] for one in real.get(f"zones/{ZONE}/operations")["items"]]
    assert operations == ["compute.instances.guestTerminate", "insert"]
    real.emulator.switch(serial_after_stop=False)
    assert real.refused("GET", f"{HERE}/vm/serialPort")[1] == "resourceNotReady"


def test_reboot_and_reset_keep_the_disk_and_the_instance(real: Api) -> None:
    script = "#!/bin/bash\necho x >> /boots\necho boot $(wc -l < /boots)\n[ $(wc -l < /boots) = 1 ] && reboot\ntrue\n"
    made = real.make(metadata={"items": [{"key": "startup-script", "value": script}]})
    said(real, "boot 2")
    real.done(real.post(f"{HERE}/vm/reset"))
    said(real, "boot 3")
    now = real.instance()
    assert (now["status"], now["id"]) == ("RUNNING", made["id"])


def test_a_machine_that_is_shutting_down_can_still_be_killed_at_once(real: Api) -> None:
    stay = "#!/bin/bash\necho going down\nsleep 600\n"
    items = [{"key": "startup-script", "value": IDLE + "echo up"}, {"key": "shutdown-script", "value": stay}]
    real.make(metadata={"items": items})
    said(real, "up")
    real.emulator.call("POST", "/_emulator/switches", {"delete_seconds": 0.0})
    assert real.emulator.inside is not None
    real.emulator.inside.clock.scale = 10.0  # its shutdown may take twenty minutes
    operation = real.delete(f"{HERE}/vm")
    said(real, "going down")
    real.control("POST", "machines/kill", {"instance": "vm"})
    real.done(operation)
    assert real.refused("GET", f"{HERE}/vm")[0] == 404


def test_an_image_is_a_saved_disk(real: Api) -> None:
    real.make(metadata={"items": [{"key": "startup-script", "value": "#!/bin/bash\necho kept > /saved\npoweroff\n"}]})
    until(lambda: real.instance()["status"] == "TERMINATED")
    begun = real.post("global/images", {"name": "saved-1", "family": "saved", "sourceDisk": f"zones/{ZONE}/disks/vm"})
    assert real.get("global/images/saved-1")["status"] == "PENDING"
    real.done(begun)
    assert real.get("global/images/saved-1")["status"] == "READY"
    real.done(real.delete(f"{HERE}/vm"))
    assert [line["kind"] for line in real.control("GET", "ledger")["alive"]] == ["compute.image"]
    items = [{"key": "startup-script", "value": "#!/bin/bash\necho found $(cat /saved)\n"}]
    real.make("second", disks=_of("global/images/family/saved"), metadata={"items": items})
    said(real, "found kept", "second")
    real.make("fresh", disks=_of(IMAGE), metadata={"items": items})
    assert "found kept" not in said(real, "found", "fresh")
    real.done(real.post("global/images/saved-1/deprecate", {"state": "OBSOLETE"}))
    assert real.refused("GET", "global/images/family/saved")[0] == 404
    words = real.refused("POST", HERE, _body("third", "global/images/saved-1"))[2]
    assert "OBSOLETE" in words
    real.done(real.delete("global/images/saved-1"))


def test_a_disk_in_use_becomes_an_image_only_by_force(real: Api) -> None:
    real.make()
    asked = {"name": "forced", "sourceDisk": f"zones/{ZONE}/disks/vm"}
    assert real.refused("POST", "global/images", asked)[1] == "resourceInUseByAnotherResource"
    real.done(real.post("global/images?forceCreate=true", asked))
    assert real.get("global/images/forced")["status"] == "READY"


def test_a_disk_can_be_a_copy_of_one_in_use_and_goes_its_own_way(real: Api) -> None:
    script = "#!/bin/bash\necho kept > /saved; sync; echo written\n"
    real.make(metadata={"items": [{"key": "startup-script", "value": script}]})
    said(real, "written")
    asked = {"name": "copy", "sourceDisk": f"zones/{ZONE}/disks/vm"}
    real.done(real.post(f"zones/{ZONE}/disks", asked))
    copied, source = real.get(f"zones/{ZONE}/disks/copy"), real.get(f"zones/{ZONE}/disks/vm")
    assert copied["sourceDisk"] == source["selfLink"] and copied["sizeGb"] == source["sizeGb"]
    real.done(real.delete(f"{HERE}/vm"))
    items = [{"key": "startup-script", "value": "#!/bin/bash\necho found $(cat /saved)\n"}]
    disk = {"boot": True, "autoDelete": True, "source": f"zones/{ZONE}/disks/copy"}
    real.make("second", disks=[disk], metadata={"items": items})
    said(real, "found kept", "second")
    real.done(real.delete(f"{HERE}/second"))
    assert not real.control("GET", "ledger")["alive"]
    assert "cannot be found" in real.refused("POST", f"zones/{ZONE}/disks", asked)[2]


def test_a_machine_whose_network_is_cut_reaches_nothing_until_it_is_healed(real: Api) -> None:
    script = f"""#!/bin/bash
until {GET}/instance/attributes/go | grep -q yes; do sleep 0.05; done
curl -s -m 2 -o /dev/null $OUTLAST_EMULATOR/storage/v1/b/none && echo reached || echo unreachable
until {GET}/instance/attributes/go | grep -q again; do sleep 0.05; done
curl -s -m 20 -o /dev/null $OUTLAST_EMULATOR/storage/v1/b/none && echo reached again
"""
    script_item = {"key": "startup-script", "value": script}
    real.make(metadata={"items": [script_item]})

    def go(word: str) -> None:
        fingerprint = real.instance()["metadata"]["fingerprint"]
        items = [script_item, {"key": "go", "value": word}]
        real.done(real.post(f"{HERE}/vm/setMetadata", {"items": items, "fingerprint": fingerprint}))

    real.control("POST", "machines/cut", {"instance": "vm", "cut": True})
    go("yes")
    said(real, "unreachable")
    real.control("POST", "machines/cut", {"instance": "vm", "cut": False})
    go("again")
    said(real, "reached again")


def _of(image: str) -> list[dict[str, Any]]:
    return [{"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": image}}]


def _body(name: str, image: str) -> dict[str, Any]:
    from tests.emulator_compute.conftest import body

    return body(name, disks=_of(image))
