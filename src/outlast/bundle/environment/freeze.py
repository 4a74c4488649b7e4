"""What of the active environment a script uses, in exact versions: for a machine on which nothing is installed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from outlast.bundle.environment.ask import ASK_ERRORS, ask
from outlast.bundle.environment.declared import Declared
from outlast.bundle.environment.requirement_files import local_content
from outlast.errors import UsageError

QUESTION = """
import importlib.metadata as metadata, json, re, sys
def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()
distributions = {}
for one in metadata.distributions():
    name = one.metadata["Name"]
    if name:
        distributions.setdefault(normal(name), one)
def modules(one):
    found = set((one.read_text("top_level.txt") or "").split())
    for file in one.files or ():
        if len(file.parts) > 1 or file.suffix in (".py", ".so"):
            found.add(file.parts[0].split(".")[0])
    return found
wanted = set(sys.argv[1:])
first = sorted(name for name, one in distributions.items() if wanted & {name.replace("-", "_"), *modules(one)})
seen, left = set(), list(first)
while left:
    name = left.pop()
    if name in seen or name not in distributions:
        continue
    seen.add(name)
    for requirement in distributions[name].requires or ():
        left.append(normal(re.match(r"[A-Za-z0-9._-]+", requirement)[0]))
def line(name):
    one = distributions[name]
    direct = one.read_text("direct_url.json")
    return [name, one.version, json.loads(direct) if direct else None]
print(json.dumps({"first": first, "all": [line(name) for name in sorted(seen)]}))
"""
"""The closure is followed whatever its conditions say: too many constraints harm nobody."""


def freeze(python: str, modules: Collection[str]) -> Declared | None:
    """None: nothing of it is installed there."""
    if not modules:
        return None
    try:
        answer = ask(python, QUESTION, sorted(modules))
    except ASK_ERRORS as error:
        raise UsageError(
            f"`{python}` does not say which packages it has: {error}", hint="declare them: `--requirements FILE`"
        ) from error
    frozen = {str(name): _pinned(str(name), str(version), direct) for name, version, direct in answer["all"]}
    lines = tuple(frozen[name] for name in answer["first"])
    if not lines:
        return None
    constraints = tuple(text for name, text in frozen.items() if name not in answer["first"] and " @ " not in text)
    direct = tuple(text for name, text in frozen.items() if name not in answer["first"] and " @ " in text)
    lines += direct
    local = [local_content(text, Path("/")) for text in lines]
    digest = hashlib.sha256("\n".join(["outlast frozen 1", *lines, "", *constraints, "", *local]).encode()).hexdigest()
    return Declared("what the script imports, as installed here", lines, constraints=constraints, content=digest)


def _pinned(name: str, version: str, direct: Any) -> str:
    """A version of an index, or where it was installed from (PEP 610)."""
    if not isinstance(direct, dict) or not isinstance(direct.get("url"), str):
        return f"{name}=={version}"
    vcs = direct.get("vcs_info")
    if isinstance(vcs, dict):
        return f"{name} @ {vcs.get('vcs', 'git')}+{direct['url']}@{vcs.get('commit_id', '')}"
    return f"{name} @ {direct['url']}"
