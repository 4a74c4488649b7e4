"""Pickles, and the files of torch that hold them, are compared by what they describe, and nothing in them is ever run."""

from __future__ import annotations

import io
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import pytest

from outlast.results.compare.rules import Compared
from tests.results.comparing import one, write

# torch is imported where it is needed: whoever runs none of these tests does not wait for it.


def saved_by_torch(value: Any, name: str = "archive") -> bytes:
    """The file's own name stands in it."""
    import torch

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"{name}.pt"
        torch.save(value, path)
        return path.read_bytes()


def training_state(scale: float = 1.0) -> dict[str, Any]:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
    with torch.no_grad():
        model[0].bias[3] *= scale
    # As Adam has it after a step; a real one would import torch's compiler first, for two seconds.
    moments = {
        number: {"step": torch.tensor(1.0), "exp_avg": torch.randn_like(one), "exp_avg_sq": torch.rand_like(one)}
        for number, one in enumerate(model.parameters())
    }
    group = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "fused": None, "params": list(moments)}
    optimizer = {"state": moments, "param_groups": [group]}
    return {"model": model.state_dict(), "optimizer": optimizer, "half": torch.ones(3).bfloat16()}


def test_files_of_torch_are_compared_by_their_storages_whatever_the_file_was_called(sides: tuple[Path, Path]) -> None:
    write(sides, "m.pt", saved_by_torch(training_state(), "first"), saved_by_torch(training_state(), "tmp-second"))
    assert one(sides) == Compared("m.pt", "torch storages")


def test_a_state_that_was_loaded_and_saved_again_is_the_same(sides: tuple[Path, Path]) -> None:
    import torch

    first = saved_by_torch(training_state(), "m")
    # Loading makes new strings: the pickle refers to them in other places, which changes its bytes but not its meaning.
    renamed = {"".join(list(key)): value for key, value in torch.load(io.BytesIO(first)).items()}
    renamed["model"] = {"".join(list(key)): value for key, value in reversed(list(renamed["model"].items()))}
    reference = {**training_state(), "model": dict(training_state()["model"])}
    write(sides, "m.pt", saved_by_torch(reference, "m"), saved_by_torch(renamed, "m"))
    compared = one(sides)
    assert compared.rule == "torch storages"
    assert compared.difference == ""


def test_a_weight_that_differs_in_a_torch_file_is_named(sides: tuple[Path, Path]) -> None:
    write(sides, "m.pt", saved_by_torch(training_state()), saved_by_torch(training_state(1.001)))
    assert "['model']" in one(sides).difference
    assert "value 3 is" in one(sides).difference
    assert one(sides, tolerance=1e-2).within is not None
    assert one(sides, tolerance=1e-9).difference


def test_torch_files_with_other_dtypes_numbers_or_flags_differ(sides: tuple[Path, Path]) -> None:
    import torch

    base = {"w": torch.zeros(4), "epoch": 3, "best": 0.5, "flag": True}
    for changed in (
        {"w": torch.zeros(4, dtype=torch.float64)},
        {"w": torch.zeros(2, 2)},
        {"w": torch.zeros(5)},
        {"epoch": 4},
        {"epoch": 3.0},
        {"flag": 1},
        {"extra": None},
    ):
        write(sides, "m.pt", saved_by_torch(base), saved_by_torch({**base, **changed}))
        assert one(sides).difference, changed
    write(sides, "m.pt", saved_by_torch(base), saved_by_torch({**base, "best": 0.5000001}))
    assert one(sides).difference
    assert not one(sides, tolerance=1e-3).difference


def test_nothing_in_a_pickle_is_ever_run(sides: tuple[Path, Path], tmp_path: Path) -> None:
    canary = tmp_path / "canary"

    class Bomb:
        def __init__(self, other: int) -> None:
            self.other = other

        def __reduce__(self) -> Any:
            return (os.mkdir, (str(canary), 0o700 + self.other))

    write(sides, "a.pkl", pickle.dumps(Bomb(0)), pickle.dumps(Bomb(1)))
    assert one(sides).rule == "pickle structure"
    write(sides, "a.pkl", saved_by_torch({"a": Bomb(0)}), saved_by_torch({"a": Bomb(1)}))
    assert one(sides).rule == "torch storages"
    assert not canary.exists()


@pytest.mark.parametrize("protocol", range(6))
def test_pickles_are_compared_by_what_they_describe(sides: tuple[Path, Path], protocol: int) -> None:
    def value(last: float) -> dict[str, Any]:
        shared = [1, 2, "three"]
        document: dict[str, Any] = {"a": shared, "b": shared, "c": {4, 5}, "d": (b"x", None, True, 2**70, last)}
        document["self"] = document
        return document

    write(sides, "a.pkl", pickle.dumps(value(0.5), protocol), pickle.dumps(value(0.25), protocol))
    assert one(sides).difference.endswith("0.25 instead of 0.5")
    other = value(0.5)
    other["b"] = list(other["b"])
    write(sides, "a.pkl", pickle.dumps(value(0.5), protocol), pickle.dumps(other, protocol))
    assert one(sides) == Compared("a.pkl", "pickle structure")


def test_a_pickle_that_doubles_itself_is_walked_once(sides: tuple[Path, Path]) -> None:
    def doubled(first: int) -> Any:
        value: Any = [first]
        for _ in range(60):
            value = [value, value]
        return value

    write(sides, "a.pkl", pickle.dumps([doubled(1), 1]), pickle.dumps([doubled(1), 2]))
    assert one(sides).difference == "at [1]: 2 instead of 1"


def test_broken_pickles_are_compared_by_their_bytes(sides: tuple[Path, Path]) -> None:
    good = pickle.dumps({"a": [1, 2]})
    for bad in (good[:-3], b"", b"\x80\x04t.", b"\x80\x04\x8fa.", b"(" * 50 + b"."):
        write(sides, "a.pkl", good, bad)
        assert one(sides).rule.startswith("bytes, not pickle structure"), bad
        assert one(sides).difference
