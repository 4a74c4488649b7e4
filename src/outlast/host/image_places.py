"""Where everything is in a container image that outlast has made."""

from __future__ import annotations

ROOT = "/opt/outlast"
AGENT = f"{ROOT}/agent"
"""The agent's root: on nobody's PYTHONPATH but the agent's own."""

ENVIRONMENT = f"{ROOT}/environment"
"""`bin` and `lib/python3.X/site-packages` of the declared packages, for whatever Python the base image has."""

SITE = f"{ROOT}/site"
"""On the PYTHONPATH of everything in the image: its `sitecustomize` adds the environment's packages, before the base's own."""

CODE = f"{ROOT}/code"
"""The bundle's files; the directory that a command of the user's begins in."""

START = f"{ROOT}/start.py"
"""The entry point: the agent where `OUTLAST_TOLD` says what to do, else the command that was given."""

TOLD = "OUTLAST_TOLD"
LABEL_BUNDLE = "outlast.bundle"
LABEL_ENVIRONMENT = "outlast.environment"
LABEL_PYTHON = "outlast.python"
VARIABLE_BUNDLE = "OUTLAST_IMAGE_BUNDLE"
VARIABLE_ENVIRONMENT = "OUTLAST_IMAGE_ENVIRONMENT"
"""What is in it, by digest, for the agent that runs in it: labels cannot be seen from inside."""

VARIABLE_PYTHON = "OUTLAST_IMAGE_PYTHON"
"""The minor version that the packages are for: the entry point refuses another one."""
