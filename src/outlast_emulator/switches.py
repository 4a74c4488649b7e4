"""What is not settled about Google, or better off in some tests: each a switch, set at `/_emulator/switches`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass
class Switches:
    """The defaults are what Google documents."""

    write_limit: bool = True
    """At most one write a second per object name; more are answered 429."""

    bucket_limit: bool = False
    """At most one bucket made or deleted every two seconds per project."""

    authorize: bool = True
    """Each call is checked against its principal's permissions."""

    require_login: bool = False
    """Off: a call without a token, or with one that the emulator did not issue, is the project's owner. On: 401."""

    iam_delay_seconds: float = 0.0
    """A binding, or a role, that is given or taken is known to whoever checks it only after so long."""

    account_lag_seconds: float = 0.0
    """A policy may name a service account only so long after it was made; before, it is refused as unknown."""

    billing: bool = True
    """Off: nobody pays for the project."""

    enable_seconds: float = 4.0
    """What it takes to switch an API on or off."""

    validate: bool = True
    """Each request and answer is checked against the discovery documents."""

    soft_delete_default_seconds: int = 7 * 24 * 3600
    """The policy of a bucket that was made without one."""

    upload_expiry_seconds: float = 7 * 24 * 3600.0
    """A resumable session's life."""

    upload_persists_multiple: int = 256 * 1024
    """A resumable upload that breaks off keeps what was received up to a multiple of this."""

    rewrite_bytes_per_call: int = 0
    """A rewrite that copies more needs several calls with a token; 0: only where the request or the classes ask for it."""

    absent_condition_412: bool = False
    """A read, change or delete with `ifGenerationMatch=g` of an object that is not there: 412 instead of 404."""

    list_page_max: int = 1000
    """The most that one page of a list holds."""

    operation_seconds: float = 1.0
    """How long Compute Engine's operations take that only change a record."""

    boot_seconds: float = 10.0
    """From an instance's creation to RUNNING."""

    delete_seconds: float = 2.0
    """From a machine's end to the instance's removal; hundreds are slow deletes."""

    status_lag_seconds: float = 0.0
    """How late the API notices that a machine died without being asked to; 210 has been seen."""

    instance_admin_manages_groups: bool = True
    """`roles/compute.instanceAdmin.v1` carries the permissions of managed groups."""

    stockout_refused_at_once: bool = False
    """Without capacity an insert is answered 403; off: its operation ends with the error."""

    quota_refused_at_once: bool = False
    """The same for quotas."""

    stockout_with_details: bool = False
    """The younger code for a stock-out, which names the machine type."""

    image_seconds: float = 10.0
    """From a new image's PENDING to READY."""

    serial_after_stop: bool = True
    """The serial output of a machine that was stopped can still be read."""

    machines: bool = True
    """Instances really run; off: they are records only."""

    group_repair_seconds: float = 60.0
    """From a machine's death to the beginning of its recreation by its group."""

    group_retry_seconds: float = 60.0
    """Between two attempts of a group to make a machine for which there was no capacity."""

    group_takes_spot_delete: bool = True
    """A group may be made of Spot machines whose termination action is DELETE."""

    group_shrinks_at_deadline: bool = True
    """A group's target size goes down when a machine's time limit is reached; off: it makes another one."""

    past_termination_refused: bool = True
    """A machine whose termination time has passed is not made; off: it is made, and ended at once."""

    notice_in_templates: bool = True
    """`preemptionNoticeDuration` may stand in an instance template."""

    notice_with_gpus: bool = True
    """`preemptionNoticeDuration` may be asked for with GPUs."""

    zone_change: bool = True
    """A regional group may be allowed to repair a machine in another zone."""

    zone_change_with_flexibility: bool = True
    """... and have an instance flexibility policy too."""

    registry_needs_repository: bool = False
    """An image can be pushed only to a repository that was made before, as at Google; off: the push makes it."""

    vertex_start_seconds: float = 30.0
    """From a custom job's PENDING to RUNNING, when there are machines and quota for it."""

    vertex_retry_seconds: float = 60.0
    """Between two attempts of Vertex AI to find machines for a job."""

    vertex_error_seconds: float = 60.0
    """From a custom job's end to its error, which Google sets later."""

    vertex_exit_is_final: bool = True
    """A replica that exits with another code than 0, 134 or 139 (6, 11) fails its job; off: its container is started again, up to five
    times, and then the job, up to three times."""

    vertex_stockouts_in_a_row: bool = False
    """The restarts after stock-outs and preemptions are counted anew when a job runs; off: all of a job's."""

    vertex_submissions_per_minute: int = 60
    """Custom jobs that a project may make in a minute; more are answered 429. 0: no limit."""

    log_reads_per_minute: int = 60
    """Questions to Cloud Logging that a project may ask in a minute; more are answered 429. 0: no limit."""

    def change(self, wanted: dict[str, Any]) -> None:
        """Sets what is named; ValueError names what there is no switch for, or the type that it takes."""
        kinds = {entry.name: type(getattr(self, entry.name)) for entry in fields(self)}
        for name, value in wanted.items():
            kind = kinds.get(name)
            if kind is None:
                raise ValueError(f"no switch `{name}`; there are {', '.join(sorted(kinds))}")
            if kind is float and isinstance(value, int) and not isinstance(value, bool):
                value = float(value)
            if type(value) is not kind:
                raise ValueError(f"switch `{name}` takes {kind.__name__}, not {value!r}")
            setattr(self, name, value)

    def shown(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}
