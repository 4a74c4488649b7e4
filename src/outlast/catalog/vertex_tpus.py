"""TPUs as Vertex AI runs them: which machine and which topology a number of cores or chips is."""

from __future__ import annotations

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.names import shown

_SPEC = pattern(r"(?P<count>[0-9]{1,6})[xX](?P<type>[A-Za-z][A-Za-z0-9]{0,20})")


@dataclass(frozen=True)
class Slice:
    """So many of one type, as one machine of Vertex AI's."""

    kind: str
    count: int
    machine_type: str
    accelerator: str = ""
    """What is attached to the machine, where it does not come with it."""

    topology: str = ""
    hosts: int = 1
    """How many machines it really is; more than one is a pod's part."""


@dataclass(frozen=True)
class Kind:
    name: str
    slices: tuple[Slice, ...]
    unit: str
    """What is counted: `cores` or `chips`."""

    regions: tuple[str, ...] = ()
    note: str = ""

    def counts(self) -> list[int]:
        return [one.count for one in self.slices]


def _attached(name: str, sizes: tuple[int, ...]) -> tuple[Slice, ...]:
    """The older ones: cores, attached to one machine that stands for all of them."""
    return tuple(Slice(name, size, "cloud-tpu", f"tpu-{name.lower()}", hosts=max(1, size // 8)) for size in sizes)


def _hosts(name: str, machine: str, shapes: dict[int, tuple[str, str]]) -> tuple[Slice, ...]:
    """chips -> (machine's end, topology); machines of four chips, but for the smallest two."""
    made = []
    for chips, (end, topology) in shapes.items():
        chips_each = int(end.removesuffix("t"))
        made.append(Slice(name, chips, f"{machine}-{end}", topology=topology, hosts=max(1, chips // chips_each)))
    return tuple(made)


_LITE = {
    1: ("1t", "1x1"),
    4: ("4t", "2x2"),
    8: ("8t", "2x4"),
    16: ("4t", "4x4"),
    32: ("4t", "4x8"),
    64: ("4t", "8x8"),
    128: ("4t", "8x16"),
    256: ("4t", "16x16"),
}
_SEVEN = {
    4: ("4t", "2x2x1"),
    8: ("4t", "2x2x2"),
    16: ("4t", "2x2x4"),
    32: ("4t", "2x4x4"),
    64: ("4t", "4x4x4"),
    128: ("4t", "4x4x8"),
    256: ("4t", "4x8x8"),
    512: ("4t", "8x8x8"),
    1024: ("4t", "8x8x16"),
}
_OLD = "it is two generations behind: V5E costs less for the same work, with JAX or PyTorch"

TPUS = {
    "V2": Kind("V2", _attached("V2", (8, 32, 128, 256, 512)), "cores", note=_OLD),
    "V3": Kind("V3", _attached("V3", (8, 32, 64, 128, 256, 512, 1024, 2048)), "cores", note=_OLD),
    "V5E": Kind("V5E", _hosts("V5E", "ct5lp-hightpu", _LITE), "chips"),
    "V6E": Kind("V6E", _hosts("V6E", "ct6e-standard", _LITE), "chips"),
    "TPU7X": Kind("TPU7X", _hosts("TPU7X", "tpu7x-standard", _SEVEN), "chips"),
}
ALIASES = {"V5LITE": "V5E", "V5LITEPOD": "V5E", "V6": "V6E", "V7X": "TPU7X", "V7": "TPU7X"}


def _kind(text: str) -> Kind | None:
    name = text.upper().replace("-", "_").removeprefix("TPU_")
    return TPUS.get(ALIASES.get(name, name))


def slices_of(text: str) -> tuple[Slice, ...]:
    """Of a type by any of its names, the smallest first; none: Vertex AI has no such."""
    kind = _kind(text)
    return kind.slices if kind is not None else ()


def parse_tpu_spec(text: str) -> Slice:
    """`8xV2`, `4xV5E`: UsageError with what there is, for what there is not."""
    typed = _SPEC.fullmatch(text.strip())
    if typed is None:
        raise UsageError(
            f"`--tpu-spec` is a number, an `x` and a type, not {shown(text)}", hint="`--tpu-spec 8xV2`, or `4xV5E`"
        )
    kind = _kind(typed["type"])
    if kind is None:
        raise UsageError(
            f"there is no TPU {shown(typed['type'])}", state=f"there are {', '.join(TPUS)}", hint="`--tpu-spec 4xV5E`"
        )
    count = int(typed["count"])
    for one in kind.slices:
        if one.count == count:
            return one
    counts = kind.counts()
    nearest = next((one for one in counts if one >= count), counts[-1])
    raise UsageError(
        f"there is no slice of {count} {kind.unit} of TPU {kind.name}",
        state=f"there are slices of {', '.join(f'{one:,}' for one in counts)}",
        hint=f"`--tpu-spec {nearest}x{kind.name}`",
    )
