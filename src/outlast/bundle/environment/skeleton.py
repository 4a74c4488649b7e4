"""An environment without packages: an interpreter's link and the file by which it knows where it is."""

from __future__ import annotations

import os
from pathlib import Path

BELOW = "_outlast_below.pth"
"""Sees another interpreter's packages too; sorted by name, it comes before most others."""


def make_skeleton(root: Path, base: str, python_version: str) -> None:
    """`root` is there and empty. As `python -m venv` would, without running anything."""
    packages = root / "lib" / f"python{python_version}" / "site-packages"
    # Made now, so that a module that is compiled later does not change the directory that holds all packages.
    (packages / "__pycache__").mkdir(parents=True)
    (root / "bin").mkdir()
    for name in ("python", "python3", f"python{python_version}"):
        os.symlink(base if name == "python" else "python", root / "bin" / name)
    lines = [f"home = {os.path.dirname(base)}", "include-system-site-packages = false", f"version = {python_version}"]
    (root / "pyvenv.cfg").write_text("\n".join([*lines, f"executable = {base}", ""]))


def see_below(root: Path, python_version: str, directories: tuple[str, ...]) -> None:
    """The packages in these directories are found too, after the environment's own; their own `.pth` files count."""
    text = "".join(f"import site; site.addsitedir({directory!r})\n" for directory in directories)
    (root / "lib" / f"python{python_version}" / "site-packages" / BELOW).write_text(text)
