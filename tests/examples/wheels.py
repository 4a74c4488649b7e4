"""What is installed here, packed into wheels again: other machines' environments are resolved from them, and no registry is asked."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

NAME = re.compile(r"^[A-Za-z0-9._-]+")
MARKER = re.compile(r";.*\bextra\b")


def pack_installed(names: Iterable[str], directory: Path) -> None:
    """With all that they require, as far as it is installed: what is not, another platform or Python needs."""
    directory.mkdir(parents=True, exist_ok=True)
    left, seen = list(names), set()
    while left:
        name = re.sub(r"[-_.]+", "-", left.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        pack(found, directory)
        left += [match.group() for one in found.requires or () if not MARKER.search(one) and (match := NAME.match(one))]


def pack(found: Distribution, directory: Path) -> None:
    files = {str(path): Path(str(path.locate())) for path in found.files or () if is_part(str(path))}
    info = next(name.partition("/")[0] for name in files if name.endswith(".dist-info/METADATA"))
    tags = re.findall(r"^Tag: (\S+)", (found.read_text("WHEEL") or ""), flags=re.MULTILINE)
    wheel = directory / f"{info.removesuffix('.dist-info')}-{compressed(tags)}.whl"
    lines = []
    with zipfile.ZipFile(wheel, "w") as archive:  # not compressed: it is unpacked again a moment later
        for name, path in sorted(files.items()):
            data = path.read_bytes()
            archive.writestr(zipfile.ZipInfo(name), data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f'"{name}",sha256={digest},{len(data)}')
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "\n".join([*lines, f"{info}/RECORD,,", ""]))


def compressed(tags: list[str]) -> str:
    """`cp311-cp311-manylinux_2_17_x86_64` and its brothers as a wheel's name has them."""
    parts = [sorted(set(column)) for column in zip(*(tag.split("-") for tag in tags), strict=True)]
    return "-".join(".".join(part) for part in parts)


def is_part(name: str) -> bool:
    """Not byte code, not programs beside the package, not what the installer noted."""
    noted = ("/RECORD", "/INSTALLER", "/REQUESTED", "/direct_url.json")
    return not name.startswith("..") and "__pycache__" not in name and not name.endswith(noted)
