"""Containers that really run an image of a registry, without a container engine: what replicas of Vertex AI's jobs are.

As root on Linux a container is a set of namespaces (processes, mounts, host name, IPC) over an overlay of the image's layers,
which are unpacked once per digest; its entrypoint is its process number one. The replicas of a job share a network of their own,
in which they reach one another, the job's metadata server and the emulator's port, and nothing else. Without root it is a plain
process that is led to the unpacked image by its environment (`plain`), and says so.

- `images` brings images here (`pull` speaks to registries, `unpack` writes layers), `host` starts containers of them,
  `container` is the handle of one that runs, `network` what the replicas of a job share.
- `launch` is the program that each container is started by, and its parent. It ends with the connection to the emulator.
"""

from __future__ import annotations
