"""What an evaluation sees of the job that it evaluates: checkpoint and outputs, to be read and not written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import SystemRandom

from outlast.agent.child import OneName
from outlast.folder import evaluation
from outlast.folder.content import download, read_manifest
from outlast.folder.folder import Folder
from outlast.host.files import NO_NAME
from outlast.spec.spec import Spec
from outlast.store.store import Store

TRAINED = "trained"
"""In the run directory: gone with the attempt."""

READ_ONLY = 0o444


def furnish_trained(store: Store, spec: Spec, directory: str) -> dict[str, str]:
    """The variables that lead to it; nothing where the job is no evaluation."""
    if spec.evaluation is None:
        return {}
    root = Path(directory)
    folder = Folder(store, spec.job, SystemRandom())
    for name in ("checkpoint", "output"):
        (root / name).mkdir(parents=True)
    for file in read_manifest(folder, evaluation.TRAINED).files:
        path = root / file.path  # its manifest was checked: below one of these two
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "xb") as target:
                for chunk in download(folder, file):
                    target.write(chunk)
        except (FileExistsError, NotADirectoryError):
            raise OneName(file.path) from None
        except OSError as error:
            if error.errno in NO_NAME:
                raise OneName(file.path, taken=False) from error
            raise
        os.chmod(path, READ_ONLY | (file.mode & 0o111))
    step = spec.evaluation.step
    return {
        "OUTLAST_TRAINED_JOB": spec.evaluation.job,
        "OUTLAST_TRAINED_OUTPUT_DIR": str(root / "output"),
        **({"OUTLAST_TRAINED_STEP": str(step)} if step is not None else {}),
        **({"OUTLAST_SPLIT": spec.evaluation.split} if spec.evaluation.split else {}),
    }


def place_trained(root: str, checkpoint: str) -> None:
    """The checkpoint, where a script looks for one: in every attempt, also in one that begins with a save of its own."""
    source = f"{root}/checkpoint"
    for directory, _, names in os.walk(source):
        for name in names:
            path = f"{directory}/{name}"
            target = f"{checkpoint}/{os.path.relpath(path, source)}"
            if os.path.lexists(target):
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            try:
                os.link(path, target)
            except OSError:
                shutil.copyfile(path, target)
                os.chmod(target, READ_ONLY)
