"""The entry point of an image: the agent, where `OUTLAST_TOLD` says what to do; else the command that was given.

This file is copied into the image as it is, and may import nothing but the standard library.
"""

from __future__ import annotations

import os
import sys

AGENT = "/opt/outlast/agent"


def main(arguments: list[str]) -> None:
    wanted = os.environ.get("OUTLAST_IMAGE_PYTHON", "")
    have = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if wanted and wanted != have:
        sys.stderr.write(
            f"error: this image's packages are for Python {wanted}, and its base image has Python {have}\n\n"
            f"hint: build it with `--python {have}`, or with a base image that has Python {wanted}\n"
        )
        sys.exit(2)
    if os.environ.get("OUTLAST_TOLD"):
        import runpy

        sys.path[:0] = [AGENT]
        sys.argv[1:] = arguments
        runpy.run_module("outlast.machine.contained", run_name="__main__", alter_sys=True)
        return
    if not arguments:
        arguments = [sys.executable]
    os.environ["OUTLAST_IMAGE_LIBRARY"] = AGENT  # whoever runs a script without a job may import outlast all the same
    try:
        os.execvp(arguments[0], arguments)
    except OSError as error:
        sys.stderr.write(f"error: `{arguments[0]}` cannot be run in this image: {error.strerror}\n")
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    main(sys.argv[1:])
