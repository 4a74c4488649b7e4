"""A registry that is asked, while an image is still being made, what a push needs of it: a change of code waits twice, not four times."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from outlast.container.registry import Registry
from outlast.errors import OutlastError

UPLOADS = 2
"""A change of code sends a layer and a configuration."""

CLOSE_SECONDS_MAX = 2.0
"""Whoever presses Ctrl-C does not wait for a registry that does not answer."""


class Ahead(Registry):
    """As `Registry`. `close` gives back what was begun and not needed; a registry that is not told forgets it by itself, some day."""

    def __init__(self, host: str, path: str, base: tuple[str, str] | None, environ: Mapping[str, str]) -> None:
        """`path`: where the image goes. `base`: (path, tag) of what it begins with, if that lies in this registry too."""
        super().__init__(host, environ=environ)
        self._path = path
        self._base = base
        self._base_digest = ""
        self._base_asked = threading.Event()
        self._begun: list[str] = []
        self._failed: OutlastError | None = None
        self._asking = threading.Thread(target=self._ask, daemon=True)
        self._asking.start()

    def manifest_digest(self, path: str, wanted: str) -> str:
        if (path, wanted) == self._base:
            self._base_asked.wait()
            self._base = None  # whoever asks again wants to know what it is by then
            if self._base_digest:
                return self._base_digest
        return super().manifest_digest(path, wanted)

    def put_blob(
        self, path: str, digest: str, size: int, chunks: Callable[[], Iterable[bytes]], begun: str = ""
    ) -> None:
        if path == self._path and not begun:
            self._wait()
            try:
                begun = self._begun.pop()
            except IndexError:
                pass  # more than were thought of
        super().put_blob(path, digest, size, chunks, begun)

    def close(self) -> None:
        self._asking.join(CLOSE_SECONDS_MAX)
        while self._begun and not self._asking.is_alive():
            try:
                self.cancel_upload(self._path, self._begun.pop())
            except (OutlastError, IndexError):
                return

    def _wait(self) -> None:
        """What failed is told once, to whoever wants to push: a second try begins with nothing asked."""
        self._asking.join()
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def _ask(self) -> None:
        try:
            if self._base is not None:
                self._base_digest = super().manifest_digest(*self._base)
        except OutlastError:
            pass  # asked once more by whoever needs it, and told there
        finally:
            self._base_asked.set()
        try:
            for _ in range(UPLOADS):
                self._begun.append(self.begin_upload(self._path))
        except OutlastError as error:
            self._failed = error
