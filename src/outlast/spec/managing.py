"""What is asked of a service that runs machines for us, beside the machine itself."""

from __future__ import annotations

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.names import shown

REPLICAS_MAX = 1000
_TENSORBOARD = pattern(r"(projects/[a-z0-9.:-]+/locations/[a-z0-9-]+/tensorboards/)?[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True)
class Managing:
    """As it was typed; see `cli/vertex_options.py`."""

    tpu: str = ""
    """`8xV2`: so many cores or chips, and of which type."""

    no_gpu: bool = False
    flex_start: bool = False
    tensorboard: str = ""
    scale_tier: str = ""
    """This and what follows: by the names that a service had which is gone."""

    master_type: str = ""
    worker_type: str = ""
    worker_count: int | None = None
    server_type: str = ""
    server_count: int | None = None

    @property
    def older(self) -> bool:
        """Whether any of the older names was used."""
        return bool(self.scale_tier or self.master_type or self.worker_type or self.server_type) or (
            self.worker_count is not None or self.server_count is not None
        )

    @property
    def said(self) -> tuple[str, ...]:
        """The options that were typed and mean something to such a service only."""
        given = {
            "--tpu-spec": self.tpu,
            "--flex-start": self.flex_start,
            "--tensorboard": self.tensorboard,
            "--scale-tier": self.scale_tier,
            "--master-type": self.master_type,
            "--worker-type": self.worker_type,
            "--worker-count": self.worker_count is not None,
            "--parameter-server-type": self.server_type,
            "--parameter-server-count": self.server_count is not None,
        }
        return tuple(option for option, value in given.items() if value)


def check_tensorboard(text: str) -> str:
    if not _TENSORBOARD.fullmatch(text):
        raise UsageError(
            f"{shown(text)} is no TensorBoard of Vertex AI's",
            hint="its number, or `projects/PROJECT/locations/REGION/tensorboards/NUMBER`",
        )
    return text
