"""What a user asked for, before it is checked and becomes a Spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from outlast.dataclass import dataclass, replace
from outlast.spec.containing import Containing
from outlast.spec.managing import Managing
from outlast.spec.spec import MAX_RUN_SECONDS_DEFAULT, Drill, Spec, Sweep


@dataclass(frozen=True)
class Asked:
    target: str
    args: tuple[str, ...] = ()
    directory: str = "."
    extra_dirs: tuple[str, ...] = ()
    on: str | None = None
    name: str | None = None
    job_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    home: str | None = None
    project: str = ""
    region: str = ""
    """One, or several in the order in which they are tried, with commas between them; the first is the bucket's."""

    cpus: int | None = None
    """None: 1, or what a rented machine usually has."""

    gpus: int | str = 0
    """How many; `L4` or `4xA100`: of which type, where machines are rented."""

    machine_type: str = ""
    """Of a machine that is rented; empty: chosen by the catalog. So it is with what follows."""

    zones: tuple[str, ...] = ()
    exclude_zones: tuple[str, ...] = ()
    spot: bool = True
    disk_gb: int | None = None
    disk_type: str = ""
    image: str = ""
    """A family, an image, or `PROJECT/FAMILY`."""

    service_account: str = ""
    network: str = ""
    external_ip: bool = True
    linger_seconds: float = 0.0
    max_cost_usd: float | None = None
    force: bool = False
    """The catalog's objections are passed over."""

    managed: Managing = field(default_factory=Managing)
    """Of a service that runs machines for us."""

    said: tuple[str, ...] = ()
    """Options about rented machines that were typed: an engine that has its machines refuses them."""

    retries: int = 0
    max_run_seconds: float = MAX_RUN_SECONDS_DEFAULT
    stall_seconds: float | None = None
    checkpoint_dir: str = ""
    output_dir: str = ""
    resume_args: tuple[str, ...] = ()
    from_job: str = ""
    """A job as it may be named anywhere; behind `@` which checkpoint of it: `best`, a step, or a name."""

    continue_steps: bool = False
    git: str = ""
    """`URL@REF`: ship that commit instead of the directory."""

    requirements: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    python: str = ""
    """A path or a version; empty: the environment that is active or lies here, else `python3` on the PATH."""

    setup: str = ""
    container: Containing = field(default_factory=Containing)
    datasets: tuple[str, ...] = ()
    """As typed: `DIR`, `URL`, `NAME=DIR`, `NAME=URL`."""

    dataset_mode: str = "copy"
    config_files: tuple[str, ...] = ()
    config_values: tuple[str, ...] = ()
    """As typed: `a.b=c`."""

    secrets: Mapping[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    drill: Drill | None = None
    equipped_like: Spec | None = None
    """Of a drill: whose Python and packages it gets, which are in its home."""

    cells: Sweep | None = None
    """A sweep; None: one training."""

    workers: int = 1
    shell: bool = False
    """A machine to work on: no target, and the only argument is for how many seconds it waits after the last one has left."""

    def of_image(self) -> Asked:
        """With `--image-tag`: what would have changed the image is left out, and remembered to be told."""
        asking = self.container
        if not asking.image_tag:
            return self
        said = {
            "--dir": self.extra_dirs,
            "--extras": self.extras,
            "--requirements": self.requirements,
            "--base-image": asking.base_image,
            "--dockerfile": asking.dockerfile,
            "--apt": asking.apt_packages,
            "--conda": asking.conda,
            "--no-cache": asking.no_cache,
            "--tag": asking.tag,
        }
        container = replace(asking, ignored=tuple(option for option, value in said.items() if value))
        return replace(self, extra_dirs=(), extras=(), requirements=(), container=container)
