"""Values without parts that JSON has no word for, there and back: odd numbers, bytes, elements of arrays, the types of torch."""

from __future__ import annotations

import base64
import importlib
import struct
import sys
from collections.abc import Callable
from typing import Any

DECIMAL_BITS_MAX = 10_000
"""Beyond about 4,300 digits Python refuses to write a number in decimal."""


def encode(value: Any, kind: type) -> dict[str, Any] | None:
    """None if it is nothing of the kind; TypeError with the reason if it has no bytes of its own."""
    if kind is complex:
        return {"$": "complex", "v": struct.pack(">dd", value.real, value.imag).hex()}
    if kind is bytes:
        return encode_bytes(value)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and isinstance(value, numpy.generic):
        from outlast.training.arrays_numpy import dtype_name

        return {"$": "scalar", "dtype": dtype_name(value.dtype), "v": value.tobytes().hex()}
    if torch is not None and isinstance(value, torch.dtype):
        return {"$": "torch.dtype", "v": str(value).removeprefix("torch.")}
    if torch is not None and isinstance(value, torch.device):
        return {"$": "torch.device", "v": str(value)}
    return None


def encode_bytes(value: bytes | bytearray) -> dict[str, Any]:
    return {"$": type(value).__name__, "v": base64.b64encode(value).decode("ascii")}


def encode_int(value: int) -> dict[str, Any]:
    return {"$": "int", "v": str(value) if value.bit_length() <= DECIMAL_BITS_MAX else hex(value)}


def encode_float(value: float) -> dict[str, Any]:
    return {"$": "float", "v": struct.pack(">d", value).hex()}


def decode_bytes(tree: dict[str, Any]) -> bytes:
    return base64.b64decode(tree["v"], validate=True)


def _scalar(tree: dict[str, Any]) -> Any:
    from outlast.training.arrays_numpy import dtype_named

    numpy = importlib.import_module("numpy")
    raw, dtype = bytes.fromhex(tree["v"]), dtype_named(tree["dtype"])
    return numpy.frombuffer(raw, dtype=dtype)[0] if raw else dtype.type()


def _torch(tree: dict[str, Any]) -> Any:
    torch = importlib.import_module("torch")
    value = torch.device(tree["v"]) if tree["$"] == "torch.device" else getattr(torch, tree["v"])
    if not isinstance(value, (torch.dtype, torch.device)):
        raise ValueError(f"{tree['v']!r} is no dtype")
    return value


DECODERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "int": lambda tree: int(tree["v"], 0),
    "float": lambda tree: float(struct.unpack(">d", bytes.fromhex(tree["v"]))[0]),
    "complex": lambda tree: complex(*struct.unpack(">dd", bytes.fromhex(tree["v"]))),
    "bytes": decode_bytes,
    "scalar": _scalar,
    "torch.dtype": _torch,
    "torch.device": _torch,
}
