"""The smallest roles: what a machine may do, what somebody who runs jobs may do, and what setting a project up takes.

A test records the calls of each, takes the permissions away one by one, and expects an error that names the one that is gone.
"""

from __future__ import annotations

RUNNER_ACCOUNT = "outlast-runner"
"""The service account of every machine that is rented."""

RUNNER_ROLE = "outlastRunner"
END_GROUP, LEAVE_GROUP = "compute.instanceGroupManagers.delete", "compute.instanceGroupManagers.update"
RUNNER_PERMISSIONS = (END_GROUP, LEAVE_GROUP)
"""In the project: a machine ends its own group, or leaves it when it is not needed any more. It can look at nothing, and make nothing
that is not described by a group's template already."""

RUNNER_BUCKET_ROLE = "roles/storage.objectUser"
"""In the bucket of the home, and nowhere else."""

SECRET_ROLE = "roles/secretmanager.secretAccessor"  # noqa: S105  a role's name
"""On each secret that a job may read, and on no other."""

USER_ROLE = "outlastUser"
USER_PERMISSIONS = (
    "aiplatform.customJobs.list",
    "compute.disks.list",
    "compute.images.list",
    "compute.instanceGroupManagers.create",
    "compute.instanceGroupManagers.delete",
    "compute.instanceGroupManagers.get",
    "compute.instanceGroupManagers.list",
    "compute.instanceTemplates.create",
    "compute.instanceTemplates.delete",
    "compute.instanceTemplates.get",
    "compute.instanceTemplates.list",
    "compute.instanceTemplates.useReadOnly",
    "compute.instances.create",
    "compute.instances.list",
    "compute.networks.get",
    "compute.projects.get",
    "compute.regionOperations.get",
    "compute.regions.get",
    "compute.subnetworks.list",
    "resourcemanager.projects.get",
    "serviceusage.services.get",
)
"""In the project: whoever runs, watches, stops, resumes and audits jobs. Each is asked for by a recorded call."""

USER_MORE_PERMISSIONS = (
    "aiplatform.customJobs.cancel",
    "aiplatform.customJobs.create",
    "aiplatform.customJobs.get",
    "artifactregistry.repositories.create",
    "artifactregistry.repositories.downloadArtifacts",
    "artifactregistry.repositories.uploadArtifacts",
    "compute.acceleratorTypes.list",
    "compute.disks.create",
    "compute.disks.delete",
    "compute.disks.setLabels",
    "compute.disks.use",
    "compute.disks.useReadOnly",
    "compute.globalOperations.get",
    "compute.images.create",
    "compute.images.delete",
    "compute.images.get",
    "compute.images.getFromFamily",
    "compute.images.setLabels",
    "compute.images.useReadOnly",
    "compute.instanceGroupManagers.update",
    "compute.instances.delete",
    "compute.instances.get",
    "compute.instances.getGuestAttributes",
    "compute.instances.getSerialPortOutput",
    "compute.instances.setLabels",
    "compute.instances.setMetadata",
    "compute.machineTypes.list",
    "compute.routers.list",
    "compute.subnetworks.use",
    "compute.subnetworks.useExternalIp",
    "compute.zoneOperations.get",
    "logging.logEntries.list",
    "serviceusage.quotas.get",
    "serviceusage.services.use",
)
"""The same people: what images, drills, leaks, Vertex AI's jobs and a new catalog take. Each is asked for by a recorded call."""

USER_SPARE_PERMISSIONS = ("artifactregistry.repositories.get", "compute.subnetworks.get")
"""For a look before something is begun: where it is refused, it is begun without."""

USER_ROLE_PERMISSIONS = (*USER_PERMISSIONS, *USER_MORE_PERMISSIONS, *USER_SPARE_PERMISSIONS)
"""What the role is made of."""

USER_BUCKET_ROLES = ("roles/storage.objectUser", "roles/storage.legacyBucketReader")
"""In the bucket of the home: its objects, and its place."""

ACT_AS_ROLE = "roles/iam.serviceAccountUser"
"""On `outlast-runner` alone: machines are started as it."""

SECRET_PERMISSIONS = (
    "secretmanager.secrets.create",
    "secretmanager.secrets.delete",
    "secretmanager.secrets.getIamPolicy",
    "secretmanager.secrets.list",
    "secretmanager.secrets.setIamPolicy",
    "secretmanager.versions.add",
    "secretmanager.versions.get",
)
"""In the project: whoever keeps secrets there. In no role of ours: who sets a secret's policy could read it."""

ACT_AS = "iam.serviceAccounts.actAs"

TUNNEL_ROLE = "roles/iap.tunnelResourceAccessor"
"""In the project: with `--ssh`, so that a member's `outlast ssh` gets through Google's tunnel."""

ADMIN_PERMISSIONS = (
    "iam.roles.create",
    "iam.roles.delete",
    "iam.roles.get",
    "iam.roles.undelete",
    "iam.roles.update",
    "iam.serviceAccounts.create",
    "iam.serviceAccounts.delete",
    "iam.serviceAccounts.get",
    "iam.serviceAccounts.getIamPolicy",
    "iam.serviceAccounts.setIamPolicy",
    "resourcemanager.projects.get",
    "resourcemanager.projects.getIamPolicy",
    "resourcemanager.projects.setIamPolicy",
    "serviceusage.operations.get",
    "serviceusage.services.enable",
    "serviceusage.services.get",
    "storage.buckets.create",
    "storage.buckets.delete",
    "storage.buckets.get",
    "storage.buckets.getIamPolicy",
    "storage.buckets.list",
    "storage.buckets.setIamPolicy",
)
"""What `outlast init` and its `--undo` take, without `--ssh` and the check by a tiny job."""

ADMIN_SSH_PERMISSIONS = (
    "compute.firewalls.create",
    "compute.firewalls.delete",
    "compute.firewalls.get",
    "compute.globalOperations.get",
    "compute.networks.updatePolicy",
)
"""With `--ssh` these too."""
