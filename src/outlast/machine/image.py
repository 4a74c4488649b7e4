"""What a container's image brings along for its job: code and packages that need not be fetched, if they are the very ones."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from outlast.host import image_places as places
from outlast.machine.interpreter import Interpreter
from outlast.spec.spec import Spec


def furnish_from_image(bundle: str, work: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Fills `work` with the image's code; False: it has none, or that of another bundle."""
    if environ.get(places.VARIABLE_BUNDLE) != bundle or not os.path.isdir(places.CODE):
        return False
    shutil.copytree(places.CODE, work, symlinks=True, dirs_exist_ok=True)
    return True


def interpreter_of_image(
    spec: Spec, work: str, read_path: Callable[[], str], environ: Mapping[str, str] = os.environ
) -> Interpreter | None:
    """The image's own Python, with the packages that were put beside it; None: this is no container of ours, or it has others.

    A job that declares no packages has those that its image's base has.
    """
    if not os.path.isdir(places.SITE) and not environ.get(places.TOLD):
        return None
    environment, path = spec.environment, read_path()
    if environment is None:
        return Interpreter(_python(path), paths=(places.SITE,) if os.path.isdir(places.SITE) else ())
    if environ.get(places.VARIABLE_ENVIRONMENT) != environment.digest:
        return None
    own = tuple(f"{work}/{one}" for one in environment.paths if ".." not in Path(one).parts)
    variables = {
        "OUTLAST_ENVIRONMENT": places.ENVIRONMENT,
        "PATH": os.pathsep.join(part for part in (f"{places.ENVIRONMENT}/bin", path) if part),
    }
    return Interpreter(_python(path), variables, (places.SITE, *own))


def _python(path: str) -> str:
    """The one that the image's own commands find: the agent's may be another."""
    return shutil.which("python3", path=path) or sys.executable
