"""Vertex AI's custom jobs, whose replicas really run their image from the registry (see `containers`).

    POST   /v1/projects/P/locations/R/customJobs                 create
    GET    /v1/projects/P/locations/R/customJobs?filter=...      list: display_name, state, create_time, labels; pages
    GET    /v1/projects/P/locations/R/customJobs/ID              get
    POST   /v1/projects/P/locations/R/customJobs/ID:cancel       SIGTERM, 30 s, SIGKILL; ends as CANCELLED with error code 1
    DELETE /v1/projects/P/locations/R/customJobs/ID              only of what is over; an operation
    GET    /v1/projects/P/locations/R/operations/ID

States: QUEUED (no quota is left), PENDING (machines are being had, or were lost), RUNNING, then SUCCEEDED when the first replica exits
with 0, FAILED, CANCELLING, CANCELLED. What makes Vertex begin again, as Google's page on the training service has it:

- a Spot machine is taken away, or there is none: up to six times; no machine of another kind: up to three times;
- a replica exits with 134 or 139 (6 or 11): the job, up to three times; any other exit code but 0 is final (switch
  `vertex_exit_is_final`; off: five restarts of the container, then three of the job);
- a machine is maintained: the replica starts again elsewhere; something of Google's own breaks (here: the emulator was killed): twice.

What a test may ask for, each a POST with JSON (`control`):

    /_emulator/vertex/preempt   {"job": ID or display name, "replica": "workerpool0-0", "notice_seconds": 30}
    /_emulator/vertex/maintain  the same, of machines that are not Spot
    /_emulator/vertex/capacity  {"region": "us-*", "machine_type": "g2-*" or "NVIDIA_L4", "strategy": "SPOT", "replicas": 0}
    /_emulator/vertex/quotas    {"metric": "custom_model_training_nvidia_l4_gpus", "limit": 1, "region": "us-central1"}
    /_emulator/vertex/jobs      GET: what really runs, with its processes, and how often each job has begun again

Durations (`timeout`, `maxWaitDuration`, notices) are scaled by `--time-scale`. What is not here is answered with 501 where a request
names it: Python packages in Google's images, persistent resources, reservations, NFS, buckets at `/gcs`. GPUs and TPUs may be asked
for, and none is there.
"""

from __future__ import annotations
