"""Which modules an interpreter provides: seen from its directories, and where that says nothing, by its own answer."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from pathlib import Path

from outlast.bundle.environment.ask import ASK_ERRORS, ask, keep, recall
from outlast.bundle.environment.interpreter import Facts

QUESTION = """
import importlib.util, json, sys
def found(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return True
print(json.dumps([name for name in sys.argv[1:] if found(name)]))
"""
"""An editable installation may find its modules by code of its own."""

LIKELY = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "OpenSSL": "pyOpenSSL",
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "fitz": "PyMuPDF",
    "git": "GitPython",
    "jwt": "PyJWT",
    "pkg_resources": "setuptools",
    "ruamel": "ruamel.yaml",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "tensorflow_datasets": "tensorflow-datasets",
    "umap": "umap-learn",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}


def likely_package(module: str, dotted: str) -> str:
    if module == "google" and dotted.count(".") >= 1:
        return "-".join(dotted.split(".")[:3])
    return LIKELY.get(module, module.replace("_", "-"))


def provides(python: str, facts: Facts, modules: Collection[str], cache: Path | None) -> set[str]:
    """Those of the modules that this interpreter can import, its standard library included."""
    found = set(modules) & set(facts.stdlib)
    for directory in facts.paths:
        if found >= set(modules):
            return found
        found |= set(modules) & _names_in(directory)
    missing = set(modules) - found
    return found | _asked(python, facts, missing, cache) if missing else found


def _names_in(directory: str) -> set[str]:
    try:
        return {name.split(".")[0] for name in os.listdir(directory)}
    except OSError:
        return set()


def _asked(python: str, facts: Facts, modules: set[str], cache: Path | None) -> set[str]:
    state = "\n".join([python, *(f"{path} {_modified_ns(path)}" for path in facts.paths), *sorted(modules)])
    kept = (
        cache / "provided" / f"{hashlib.sha256(state.encode(errors='replace')).hexdigest()[:32]}.json"
        if cache
        else None
    )
    if kept is not None and isinstance(answer := recall(kept), list):
        return modules & set(map(str, answer))
    try:
        found = modules & set(map(str, ask(python, QUESTION, sorted(modules))))
    except (*ASK_ERRORS, TypeError):
        return modules  # it cannot tell: then nobody is refused
    if kept is not None and found:
        keep(kept, sorted(found))
    return found


def _modified_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
