"""Google Cloud in a box: Google's APIs on a loopback port, as an independent witness. Shares no code with `outlast`.

How the parts fit:

- `wire` turns bytes of a connection into a `Request` and a `Response` into bytes. It knows nothing of Google.
- `routes.Router` finds the `Route`: a method's name as in the discovery documents (`storage.objects.insert`), a verb, a path
  template, and the function that does it.
- `chain` leads the request through the steps: record, faults, inflation, authorisation, validation, operation. A step is a function of the
  request and of what follows. Operations and steps refuse by raising `errors.ApiError`.
- `apis` has the two lists: `APIS` (functions from the emulator to its routes) and `STEPS`. An API that is not listed is not served.
- `emulator.Emulator` owns the state: data directory, clock, switches, faults, ledger, and the models of the APIs.
- A model (`storage.model.Storage`) is Python without HTTP, so that two APIs (JSON, XML) can speak for the same objects.
- `machines` are what instances of Compute Engine run on: processes, disks, images and metadata servers. They know nothing of the API.
- `containers` are what replicas of Vertex AI's custom jobs (`vertex`) run in: images of a registry (`registry`, or another), a
  network per job. What they say is in `logging_api`. All but `vertex` know nothing of jobs.
- `control` is the surface at `/_emulator/` for tests.

What is not settled about Google is a field of `switches.Switches`. What is not implemented answers 501 with the method's name.
State is on disk before a request is answered, and survives SIGKILL; it is not meant to survive a power cut, so nothing is synced.
"""

from __future__ import annotations
