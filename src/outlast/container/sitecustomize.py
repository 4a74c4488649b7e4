"""Adds an image's packages to whatever Python runs in it, before that Python's own. Copied into the image as it is.

Where no job is run, outlast itself is found too, after all else: what it brings along hides nothing of the user's.
"""

import os
import site
import sys

PACKAGES = f"/opt/outlast/environment/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"

before = list(sys.path)
site.addsitedir(PACKAGES)
added = [path for path in sys.path if path not in before]
first = next((at for at, path in enumerate(before) if path.endswith(("site-packages", "dist-packages"))), len(before))
sys.path[:] = [*before[:first], *added, *before[first:]]
sys.path += [path for path in [os.environ.get("OUTLAST_IMAGE_LIBRARY")] if path]
