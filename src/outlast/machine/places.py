"""The trainer's directories: where it works, and the two that are kept and restored."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from outlast.agent.child import OneName
from outlast.errors import UsageError
from outlast.host import files
from outlast.host.machine_dir import MachineDir
from outlast.machine import tree
from outlast.spec.spec import Spec


class Places:
    def __init__(self, paths: MachineDir, spec: Spec) -> None:
        self.paths = paths
        self.checkpoint = self._own(spec.checkpoint_dir) or f"{paths.run}/checkpoint"
        self.output = self._own(spec.output_dir) or f"{paths.run}/output"
        self._restoring = False
        self._told: set[str] = set()

    @property
    def empty(self) -> bool:
        """Nothing has been restored into them, and no bundle brings them along."""
        ours = (f"{self.paths.run}/checkpoint", f"{self.paths.run}/output")
        return not self._restoring and (self.checkpoint, self.output) == ours

    def _own(self, name: str) -> str:
        """A directory of an unmodified script's own; empty: it has none."""
        if not name:
            return ""
        if os.path.isabs(name) or ".." in Path(name).parts:
            raise UsageError(f"`{name}` is not inside the working directory", hint="name a directory relative to it")
        return f"{self.paths.work}/{name}"

    def clear(self) -> None:
        """As for a first attempt: empty."""
        self._restoring = False
        self._told.clear()
        files.remove(self.paths.taken)
        files.make_empty(self.paths.run, keeping=("checkpoint", "output"))
        for path in (self.paths.work, self.paths.spool):
            files.make_empty(path)

    def make(self) -> None:
        """After the working directory has been filled: the bundle may bring them along."""
        for path in (self.checkpoint, self.output):
            if os.path.isdir(path):
                continue
            try:
                os.makedirs(path)
            except (FileExistsError, NotADirectoryError):
                raise UsageError(
                    f"`{os.path.relpath(path, self.paths.work)}` is a file of the bundle, no directory"
                ) from None

    def strayed(self) -> Iterator[str]:
        """Whoever keeps results elsewhere must be told, once, that nobody keeps them for him."""
        for path in (self.checkpoint, self.output):
            if path not in self._told and not tree.lies_in(path, self.paths.path):
                self._told.add(path)
                yield f"`{os.path.basename(path)}` leads out of this machine's directory, and nothing in it is kept"

    def restore(self, path: str, mode: int, chunks: Iterable[bytes]) -> None:
        target = self._target(path)
        if not self._restoring:
            # The directories become what they were: what the bundle has there besides was not there then.
            self._restoring = True
            for directory in (self.checkpoint, self.output):
                files.remove(directory)
                os.makedirs(directory)
        written = 0
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "xb", buffering=0) as file:
                for chunk in chunks:
                    view = memoryview(chunk)
                    while view:
                        done = file.write(view)
                        view = view[done:]
                        written += done
                os.fchmod(file.fileno(), mode & 0o777)
        except (FileExistsError, NotADirectoryError):
            raise OneName(path) from None
        except OSError as error:
            if error.errno in files.NO_NAME:
                raise OneName(path, taken=False) from error
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                said = f"this machine's disk was full after {written:,} bytes of `{path}` were restored"
                raise OSError(errno.ENOSPC, said) from error
            raise

    def _target(self, path: str) -> str:
        root, _, rest = path.partition("/")
        roots = {"checkpoint": self.checkpoint, "output": self.output}
        if root not in roots or not rest or any(part in ("", ".", "..") for part in rest.split("/")):
            raise ValueError(f"`{path}` is neither a checkpoint's file nor an output")
        return f"{roots[root]}/{rest}"
