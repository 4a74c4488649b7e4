"""The format: whatever goes in comes back bit for bit, and nothing that is read can run or pass unnoticed."""

from __future__ import annotations

import collections
import json
import math
import random
import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from outlast.training.decode import MISSING, Decoder, Malformed
from outlast.training.encode import Encoder
from outlast.training.save import live_pieces, snapshot
from outlast.training.tensors import TensorFile, plan_file


def write(folder: Path, value: Any, *, by_snapshot: bool) -> tuple[Any, Path]:
    """Through JSON text and a file on disk, as a checkpoint goes."""
    encoder = Encoder()
    tree = json.loads(json.dumps(encoder.encode(value, "part"), allow_nan=False))
    plan = plan_file(encoder.leaves)
    path = folder / "tensors"
    if by_snapshot:
        memory = memoryview(bytearray(plan.data_bytes))
        snapshot(plan, memory)
        data = bytes(memory)
    else:
        data = b"".join(bytes(piece) for piece in live_pieces(plan))
    path.write_bytes(plan.header + data)
    return tree, path


def round_trip(folder: Path, value: Any, live: Any = MISSING, *, by_snapshot: bool = True) -> Any:
    tree, path = write(folder, value, by_snapshot=by_snapshot)
    return Decoder(TensorFile(path)).decode(tree, live, "part")


def same(a: Any, b: Any) -> bool:
    """Equal in type, structure and every bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and bytes(raw(a)) == bytes(raw(b))
    if isinstance(a, float):
        return struct.pack(">d", a) == struct.pack(">d", b)
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, dict):
        return (
            list(a) == list(b)
            and all(same(x, y) for x, y in zip(a, b, strict=True))
            and all(same(a[k], b[k]) for k in a)
        )
    if isinstance(a, (list, tuple, collections.deque)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def raw(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.detach().contiguous().reshape(-1).view(torch.uint8).tolist()) if tensor.numel() else b""


KEYS = st.one_of(
    st.text(max_size=5), st.integers(), st.booleans(), st.none(), st.tuples(st.integers(), st.text(max_size=2))
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(),
    st.binary(),
    st.binary().map(bytearray),
    st.sampled_from(
        [np.float32(1.5), np.float64("nan"), np.int8(-3), np.bool_(True), np.str_("é"), np.datetime64("2026-01-02")]
    ),
    st.sampled_from([torch.float16, torch.device("cpu"), torch.Size([2, 3])]),
    hnp.arrays(
        st.sampled_from([np.dtype(kind) for kind in ("float32", "int16", "bool", "complex128")]),
        hnp.array_shapes(min_dims=0, min_side=0, max_side=3),
    ),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
        st.dictionaries(st.sampled_from(["$", "v", "a"]), inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=3).map(collections.OrderedDict),
        st.lists(inner, max_size=3).map(lambda items: collections.deque(items, maxlen=7)),
        st.sets(st.integers()),
        st.frozensets(st.text(max_size=3)),
        st.dictionaries(st.text(max_size=3), st.integers()).map(collections.Counter),
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(value=VALUES, by_snapshot=st.booleans())
def test_every_value_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, value: Any, by_snapshot: bool
) -> None:
    folder = tmp_path_factory.mktemp("format", numbered=True)
    assert same(round_trip(folder, value, by_snapshot=by_snapshot), value)


NUMPY_DTYPES = [
    *(
        "?",
        "i1",
        "u1",
        "i2",
        "u2",
        "i4",
        "u4",
        "i8",
        "u8",
        "f2",
        "f4",
        "f8",
        "g",
        "F",
        "D",
        "G",
        "S3",
        "U2",
        "M8[ns]",
        "m8[us]",
    ),
    *(">i2", ">u4", ">i8", ">f2", ">f4", ">f8", ">F", ">D", ">U2", ">M8[s]"),
    *(
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e8m0fnu,
        ml_dtypes.float8_e4m3fnuz,
    ),
]


@pytest.mark.parametrize("by_snapshot", [True, False])
@pytest.mark.parametrize("dtype", NUMPY_DTYPES, ids=str)
def test_every_numpy_type_comes_back_in_every_layout(tmp_path: Path, dtype: Any, by_snapshot: bool) -> None:
    whole = np.frombuffer(random.Random(3).randbytes(np.dtype(dtype).itemsize * 60), dtype=dtype)
    if np.dtype(dtype).kind in "?U":
        whole = np.array([i % 2 for i in range(60)]).astype(dtype)
    arrays = {
        "flat": whole.copy(),
        "scalar": whole[:1].reshape(()).copy(),
        "empty": whole[:0].copy(),
        "empty-2d": np.empty((0, 3), dtype),
        "strided": whole.reshape(6, 10)[::2, ::3],
        "backwards": whole[::-1],
        "fortran": np.asfortranarray(whole.reshape(6, 10)),
        "transposed": whole.reshape(3, 4, 5).transpose(2, 0, 1),
        "broadcast": np.broadcast_to(whole[:5], (3, 5)),
    }
    back = round_trip(tmp_path, arrays, by_snapshot=by_snapshot)
    for name, array in arrays.items():
        assert same(back[name], array), name


TORCH_DTYPES = [
    *(
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint16,
        torch.uint32,
        torch.uint64,
    ),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex32, torch.complex64, torch.complex128),
    *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu),
]


@pytest.mark.parametrize("by_snapshot", [True, False])
@pytest.mark.parametrize("dtype", TORCH_DTYPES, ids=str)
def test_every_torch_type_comes_back_in_every_layout(tmp_path: Path, dtype: torch.dtype, by_snapshot: bool) -> None:
    width = torch.empty((), dtype=dtype).element_size()
    content = [random.Random(5).randrange(2 if dtype == torch.bool else 256) for _ in range(60 * width)]
    whole = torch.tensor(content, dtype=torch.uint8).view(dtype)
    tensors = {
        "flat": whole.clone(),
        "scalar": whole[0].clone(),
        "empty": torch.empty(0, 3, dtype=dtype),
        "strided": whole.view(6, 10)[::2, ::3],
        "transposed": whole.view(3, 4, 5).permute(2, 0, 1),
        "expanded": whole[:5].expand(3, 5),
    }
    back = round_trip(tmp_path, tensors, by_snapshot=by_snapshot)
    for name, tensor in tensors.items():
        assert same(back[name], tensor), name


def test_views_that_torch_computes_lazily_are_saved_as_their_values(tmp_path: Path) -> None:
    value = torch.complex(torch.randn(4), torch.randn(4))
    for by_snapshot in (True, False):
        back = round_trip(tmp_path, {"conj": value.conj(), "neg": value.conj().imag}, by_snapshot=by_snapshot)
        assert torch.equal(back["conj"], value.conj().resolve_conj())
        assert torch.equal(back["neg"], value.conj().imag.resolve_neg())


def test_arrays_that_share_memory_are_written_once_and_share_it_again(tmp_path: Path) -> None:
    array, tensor = np.arange(1000.0), torch.arange(1000.0)
    value = {"a": array, "b": [array, array[:]], "c": tensor, "d": (tensor, tensor.view(1000))}
    tree, path = write(tmp_path, value, by_snapshot=True)
    assert path.stat().st_size < 2 * 8000
    back = Decoder(TensorFile(path)).decode(tree, MISSING, "part")
    assert back["a"] is back["b"][0] and back["c"] is back["d"][0]
    assert same(back, value)


def test_other_readers_of_safetensors_can_open_the_file(tmp_path: Path) -> None:
    value = {
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "h": np.arange(3, dtype=np.float16),
        "n": np.array(7, dtype=np.int64),
        "odd": np.arange(5, dtype=np.uint8),
        "none": np.empty((0, 4), np.float64),
        "wide": np.array([1 + 2j]),
    }
    _, path = write(tmp_path, value, by_snapshot=True)
    read = safetensors.numpy.load_file(path)
    for name in ("w", "h", "n", "odd", "none"):
        assert same(read[f"part.{name}"], value[name])
    assert read["part.wide"].dtype == np.uint8 and read["part.wide"].nbytes == 16


def test_a_large_part_does_not_lie_askew(tmp_path: Path) -> None:
    """Every tensor begins at a multiple of the width of its elements, although the format allows no gaps."""
    encoder = Encoder()
    encoder.encode(
        [np.zeros(3, np.uint8), np.zeros(5, np.float64), np.zeros(1, np.float16), np.zeros(3, np.complex128)], "p"
    )
    plan = plan_file(encoder.leaves)
    assert len(plan.header) % 64 == 0
    for leaf, offset in zip(plan.leaves, plan.offsets, strict=True):
        assert offset % leaf.layout.item_bytes == 0


HEADER_LIES: list[Any] = [
    b"",
    b"\x00" * 7,
    (1 << 60).to_bytes(8, "little"),
    (5).to_bytes(8, "little") + b"[1,2]",
    (4).to_bytes(8, "little") + b"null",
    (9).to_bytes(8, "little") + b'{"a":nul}',
    {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]}},
    {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},
    {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}},
    {"a": {"dtype": "F32", "shape": "xx", "data_offsets": [0, 4]}},
    {
        "a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
        "b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]},
    },
    {"a": [], "b": 3},
]


@pytest.mark.parametrize("lie", HEADER_LIES, ids=str)
def test_a_tensor_file_that_contradicts_itself_is_refused(tmp_path: Path, lie: Any) -> None:
    content = lie
    if isinstance(lie, dict):
        text = json.dumps(lie).encode()
        content = len(text).to_bytes(8, "little") + text + b"\x00" * 4
    (tmp_path / "tensors").write_bytes(content)
    with pytest.raises(Malformed):
        TensorFile(tmp_path / "tensors")


@settings(max_examples=400, deadline=None)
@given(
    tree=st.recursive(
        st.one_of(
            st.none(),
            st.integers(),
            st.text(max_size=4),
            st.sampled_from(["part.a", "float32", "numpy", "torch", "jax", "save", "O"]),
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(["$", "v", "of", "in", "dtype", "shape", "kind", "name", "max", "note", "strides"]),
                inner,
            ),
            st.fixed_dictionaries(
                {
                    "$": st.sampled_from(
                        [
                            "array",
                            "generator",
                            "scalar",
                            "torch.dtype",
                            "torch.device",
                            "named",
                            "deque",
                            "state_dict",
                            "via",
                            "int",
                            "same",
                        ]
                    ),
                    "v": inner,
                    "of": st.sampled_from(["numpy", "torch", "os"]),
                    "in": st.just("part.a"),
                    "dtype": st.sampled_from(["float32", "save", "object", "O", "float64", "__class__"]),
                    "shape": st.lists(st.integers(-1, 3), max_size=2),
                    "kind": st.sampled_from(["random", "numpy.Generator", "torch.Generator", "os"]),
                    "name": st.text(max_size=3),
                }
            ),
        ),
        max_leaves=8,
    )
)
def test_a_tree_that_nobody_wrote_is_refused_or_gives_values_and_never_runs_anything(
    tmp_path_factory: pytest.TempPathFactory, tree: Any
) -> None:
    from outlast.training.filling import Mismatch

    folder = tmp_path_factory.mktemp("tree", numbered=True)
    _, path = write(folder, {"a": np.arange(3, dtype=np.float32)}, by_snapshot=True)
    try:
        value = Decoder(TensorFile(path)).decode(tree, MISSING, "part")
    except (Malformed, Mismatch):
        return
    assert not callable(value) or isinstance(value, (torch.dtype, torch.device)) or hasattr(value, "bit_generator")


def test_text_that_is_no_unicode_and_numbers_beyond_json_come_back(tmp_path: Path) -> None:
    value = [
        "\ud800",
        "\x00",
        2**53 + 1,
        -(2**200),
        10**5000,
        -(10**5000),
        5e-324,
        -0.0,
        math.inf,
        float("nan"),
        struct.unpack(">d", b"\x7f\xf0\x00\x00\x00\x00\x00\x01")[0],
    ]
    assert same(round_trip(tmp_path, value), value)
