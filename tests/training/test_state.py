"""What a state may hold, what it refuses, and how it comes back: into what is there already."""

from __future__ import annotations

import random
import sys
import typing
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import outlast
from outlast.errors import OutlastError
from tests.training.lives import Killed, life, live, settle


def save(run_dir: Path, **parts: Any) -> None:
    """One step with these parts, and the save at its end."""
    with life(run_dir):
        list(outlast.steps(1, outlast.State(**parts)))


def restore(run_dir: Path, **parts: Any) -> outlast.State:
    with life(run_dir):
        state = outlast.State(**parts)
        assert list(outlast.steps(1, state)) == []
        return state


class Counts:
    def __init__(self) -> None:
        self.n = 0


def test_parts_are_attributes() -> None:
    state = outlast.State(a=1, self=2, name="x")
    state.a += 1
    state.b = np.zeros(3)
    assert vars(state).keys() == {"a", "self", "name", "b"} and state.a == 2 and state.self == 2
    del state.b
    with pytest.raises(AttributeError, match="no part `b`; its parts: `a`, `self`, `name`"):
        state.b  # noqa: B018


@pytest.mark.parametrize(
    "bad",
    [
        object(),
        Counts(),
        lambda: 1,
        torch.nn.Module,
        {1: object()},
        [[Counts()]],
        np.array([object()]),
        np.ma.array([1, 2], mask=[0, 1]),
        np.zeros(1, [("x", "f4")])[0],
        np.zeros(2, dtype=[("a", "i4")]),
        torch.zeros(3).to_sparse(),
        torch.empty(3, device="meta"),
        random.SystemRandom(),
        iter([1]),
    ],
    ids=lambda bad: type(bad).__name__,
)
def test_anything_else_is_a_type_error_that_names_the_part(bad: Any) -> None:
    with pytest.raises(TypeError, match="`thing`"):
        outlast.State(fine=1, thing=bad)
    if not isinstance(bad, (dict, list)):
        state = outlast.State()
        with pytest.raises(TypeError, match="`thing`"):
            state.thing = bad
        assert not hasattr(state, "thing")


def test_what_is_found_only_at_a_save_is_named_with_its_place(tmp_path: Path) -> None:
    state = outlast.State(history=[])
    with life(tmp_path), pytest.raises(TypeError, match=r"state part `history` \(at `0.why`\) is a `.*Counts`"):
        for _ in outlast.steps(2, state):
            state.history.append({"why": Counts()})


def test_a_part_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(TypeError, match=r"`loop`.* contains itself"):
        outlast.State(loop=loop)


def test_numpy_arrays_are_filled_in_place_or_rebound(tmp_path: Path) -> None:
    save(tmp_path, same=np.arange(3.0), longer=np.arange(5.0), other=np.arange(3.0), locked=np.arange(3.0))
    same, longer, locked = np.zeros(3), np.zeros(3), np.zeros(3)
    other: Any = np.zeros(3, np.float32)
    locked.flags.writeable = False
    state = restore(tmp_path, same=same, longer=longer, other=other, locked=locked)
    assert state.same is same and same.tolist() == [0, 1, 2]
    assert state.longer is not longer and state.longer.tolist() == [0, 1, 2, 3, 4] and longer.tolist() == [0, 0, 0]
    assert state.other.dtype == np.float64 and state.other.tolist() == [0, 1, 2]
    assert state.locked.tolist() == [0, 1, 2] and locked.tolist() == [0, 0, 0]


def test_torch_tensors_are_filled_in_place_and_keep_their_gradients_wish(tmp_path: Path) -> None:
    save(
        tmp_path,
        w=torch.arange(3.0, requires_grad=True),
        new=torch.ones(2, requires_grad=True),
        view=torch.ones(2, 3).t(),
    )
    w = torch.zeros(3, requires_grad=True)
    state = restore(tmp_path, w=w, view=torch.zeros(3, 2))
    assert state.w is w and w.tolist() == [0, 1, 2] and w.requires_grad and w.is_leaf
    assert state.new.requires_grad and state.new.tolist() == [1, 1]
    assert state.view.tolist() == [[1, 1]] * 3


def test_parts_that_began_as_one_and_became_two_stay_two(tmp_path: Path) -> None:
    """`State(w=zeros, best=zeros)`, and then `state.w = state.w - g`."""
    save(tmp_path, w=np.full(3, 1.0), best=np.full(3, 2.0), t=torch.ones(2), u=torch.zeros(2), a=[1], b=[2])
    zeros, tensor, empty = np.zeros(3), torch.full((2,), 5.0), list[int]()
    state = restore(tmp_path, w=zeros, best=zeros, t=tensor, u=tensor.view(2), a=empty, b=empty)
    assert state.w.tolist() == [1, 1, 1] and state.best.tolist() == [2, 2, 2]
    assert state.t.tolist() == [1, 1] and state.u.tolist() == [0, 0]
    assert state.a == [1] and state.b == [2] and zeros.tolist() in ([1, 1, 1], [2, 2, 2])


def test_parts_that_became_one_are_one_again(tmp_path: Path) -> None:
    w, trail, generator = np.arange(3.0), [1, 2], np.random.default_rng(1)
    save(tmp_path, w=w, best=w, snaps=[w], trail=trail, seen={"trail": trail}, g=generator, h=generator)
    mine = np.zeros(3)
    state = restore(tmp_path, w=mine, best=np.zeros(3), snaps=[], trail=[], seen={}, g=np.random.default_rng(2), h=None)
    assert state.w is state.best is state.snaps[0] and state.w.tolist() == mine.tolist() == [0, 1, 2]
    assert state.trail is state.seen["trail"] and state.trail == [1, 2] and state.g is state.h


def test_views_of_one_array_stay_its_views_and_else_are_refused(tmp_path: Path) -> None:
    whole = np.arange(6.0)
    save(tmp_path, whole=whole, head=whole[:3], odd=whole[1::2])
    mine = np.zeros(6)
    state = restore(tmp_path, whole=mine, head=mine[:3], odd=mine[1::2])
    assert state.whole is mine and mine.tolist() == [0, 1, 2, 3, 4, 5] and np.shares_memory(state.head, mine)
    save(tmp_path / "apart", whole=whole, head=np.full(3, 7.0))
    with pytest.raises(OutlastError, match="`head` and `whole` share memory now, and did not"):
        restore(tmp_path / "apart", whole=mine, head=mine[:3])


@pytest.mark.parametrize(
    ("share", "names"),
    [
        (lambda state: setattr(state, "part", state.whole[:3]), "`part` and `whole`"),
        (lambda state: setattr(state, "part", [state.whole[::2]]), "`part.0` and `whole`"),
        (lambda state: setattr(state, "part", torch.from_numpy(state.whole)), "`part` and `whole`"),
        (lambda state: setattr(state, "part", state.model.weight.detach()), "`model.weight` and `part`"),
        (lambda state: setattr(state, "part", state.model.state_dict()), "`model.bias` and `part.bias`"),
        (lambda state: setattr(state, "part", [state.whole[::2].copy(), state.whole.copy()]), ""),
        (lambda state: setattr(state, "part", [one[:, i] for one in [np.zeros((4, 2))] for i in (0, 1)]), ""),
    ],
)
def test_arrays_that_the_loop_made_one_memory_and_are_two_after_a_resume_are_said(
    tmp_path: Path, share: typing.Callable[[Any], None], names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(early: bool) -> None:
        state = outlast.State(whole=np.arange(6.0), model=torch.nn.Linear(2, 2), part=None)
        if early:
            share(state)
        for step in outlast.steps(3, state, save_steps=1):
            if step == 0 and not early:
                share(state)
            settle()
            if step == 1:
                raise Killed

    for early in (True, False):
        for _ in range(2):
            live(tmp_path / str(early), lambda: script(early))  # noqa: B023
        said = [line for line in capsys.readouterr().err.splitlines() if "shared memory" in line]
        if early or not names:
            assert not said, "the script has made it so again"
        else:
            assert said and f"{names} shared memory when they were saved, and are two arrays now" in said[0]


def test_an_object_that_stood_for_two_is_refused_by_name(tmp_path: Path) -> None:
    model, best = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    save(tmp_path, model=model, best=best)
    with pytest.raises(OutlastError, match="`model` stands in the state twice now"):
        restore(tmp_path, model=model, best=model)
    save(tmp_path / "one", model=model, best=model)
    state = restore(tmp_path / "one", model=best, best=best)
    assert state.model is best and torch.equal(best.weight, model.weight)


def test_arrays_lie_in_memory_as_they_did(tmp_path: Path) -> None:
    """Sums are rounded in the order in which the numbers lie."""
    array, tensor = np.asfortranarray(np.arange(6.0).reshape(2, 3)), torch.arange(6.0).view(2, 3).t()
    save(tmp_path, array=array, back=np.arange(4.0)[::-1], tensor=tensor, rows=np.arange(6.0).reshape(2, 3))
    mine, rows = np.zeros((2, 3)), np.asfortranarray(np.zeros((2, 3)))
    for parts in ({}, {"array": mine, "tensor": torch.zeros(3, 2), "rows": rows}):
        state = restore(tmp_path, **parts)
        assert state.array.strides == array.strides and state.array.tolist() == array.tolist()
        assert state.back.strides == (-8,) and state.back.tolist() == [3, 2, 1, 0]
        assert state.tensor.stride() == tensor.stride() and torch.equal(state.tensor, tensor)
        assert state.rows.flags.c_contiguous and state.rows.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert mine.tolist() == array.tolist(), "a script that has a name of its own for it finds it filled too"


def test_a_conjugate_is_not_taken_for_what_it_is_a_view_of(tmp_path: Path) -> None:
    value = torch.complex(torch.ones(2), torch.ones(2))
    save(tmp_path, value=value, other=value.conj(), part=value.conj().imag)
    mine = torch.zeros(2, dtype=torch.complex64)
    for parts in ({}, {"value": mine, "other": mine.conj(), "part": mine.conj().imag}):
        state = restore(tmp_path, **parts)
        assert state.value.tolist() == [1 + 1j] * 2 and state.other.tolist() == [1 - 1j] * 2
        assert state.part.tolist() == [-1.0] * 2


def test_containers_keep_their_identity_and_their_arrays(tmp_path: Path) -> None:
    save(tmp_path, params={"b": np.ones(2), "a": [np.ones(3), 5]}, seen={1, 2}, trail=[1, 2, 3], point=(1, np.ones(1)))
    weights, inner = np.zeros(2), np.zeros(3)
    params: dict[str, Any] = {"a": [inner], "b": weights, "gone": 1}
    point = (0, np.zeros(1))
    trail: list[int] = []
    state = restore(tmp_path, params=params, seen=set(), trail=trail, point=point)
    assert state.params is params and params["b"] is weights and params["a"][0] is inner
    assert weights.tolist() == [1, 1] and params["a"][1] == 5 and "gone" not in params and list(params) == ["b", "a"]
    assert state.trail is trail and trail == [1, 2, 3] and state.seen == {1, 2}
    assert state.point[1] is point[1] and state.point[0] == 1


def test_a_part_that_was_assigned_in_the_loop_comes_back(tmp_path: Path) -> None:
    with life(tmp_path):
        state = outlast.State()
        for step in outlast.steps(3, state):
            state.best = {"step": step, "w": np.full(2, step)}
    state = restore(tmp_path)
    assert state.best["step"] == 2 and state.best["w"].tolist() == [2, 2]


def test_objects_nested_in_containers_are_loaded(tmp_path: Path) -> None:
    models = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]
    save(tmp_path, models={"a": models[0], "rest": (models[1],)})
    fresh = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]
    restore(tmp_path, models={"a": fresh[0], "rest": (fresh[1],)})
    for old, new in zip(models, fresh, strict=True):
        assert torch.equal(old.weight, new.weight)


def test_named_tuples_come_back_as_what_they_are(tmp_path: Path) -> None:
    class Moments(typing.NamedTuple):
        count: int  # type: ignore[assignment] # also the name of a method of tuples
        mean: Any

    save(tmp_path, opt=(Moments(3, np.ones(2)), {"x": Moments(4, None)}))
    state = restore(tmp_path, opt=(Moments(0, np.zeros(2)), {"x": Moments(0, None)}))
    assert type(state.opt[0]) is Moments and state.opt[0].count == 3 and state.opt[0].mean.tolist() == [1, 1]
    assert state.opt[1]["x"] == Moments(4, None)
    with pytest.raises(OutlastError, match=r"named tuple `Moments\(count, mean\)`"):
        restore(tmp_path, opt=None)


def test_via_saves_and_loads_by_functions_of_the_script(tmp_path: Path) -> None:
    counts = Counts()
    counts.n = 7
    save(tmp_path, a=outlast.via(counts, lambda c: {"n": c.n}, lambda c, saved: setattr(c, "n", saved["n"])))
    fresh = Counts()
    state = restore(tmp_path, a=outlast.via(fresh, vars, lambda c, saved: setattr(c, "n", saved["n"])))
    assert fresh.n == 7 and state.a.obj is fresh
    state = restore(tmp_path, a=outlast.via(fresh, vars, lambda c, saved: [saved["n"]]))
    assert state.a.obj == [7]


@pytest.mark.parametrize("hold", [lambda one: one, lambda one: [one], lambda one: (one,), lambda one: {0: ({1: one},)}])
def test_what_a_scripts_own_loading_raises_is_not_hidden(tmp_path: Path, hold: typing.Callable[[Any], Any]) -> None:
    """Nor taken for damage of the checkpoint, wherever in a part it stands."""

    def load(obj: Any, saved: Any) -> None:
        raise ValueError("mine")

    save(tmp_path, a=hold(outlast.via(1, lambda obj: obj, load)))
    with pytest.raises(ValueError, match="mine"):
        restore(tmp_path, a=hold(outlast.via(1, lambda obj: obj, load)))


GENERATORS: dict[str, typing.Callable[[int], Any]] = {
    "random": random.Random,
    "generator": np.random.default_rng,
    "mt": lambda seed: np.random.Generator(np.random.MT19937(seed)),
    "philox": lambda seed: np.random.Generator(np.random.Philox(seed)),
    "sfc": lambda seed: np.random.Generator(np.random.SFC64(seed)),
    "legacy": np.random.RandomState,
    "bits": np.random.PCG64,
    "torch": lambda seed: torch.Generator().manual_seed(seed),
}


def draw(generator: Any) -> list[float]:
    if isinstance(generator, random.Random):
        return [generator.gauss(0, 1) for _ in range(5)]
    if isinstance(generator, torch.Generator):
        return torch.randn(5, generator=generator).tolist()
    if isinstance(generator, np.random.BitGenerator):
        return generator.random_raw(5).tolist()
    return list(generator.normal(size=5))


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("there", [True, False])
def test_generators_go_on_where_they_were(tmp_path: Path, kind: str, there: bool) -> None:
    generator = GENERATORS[kind](1)
    draw(generator)
    if isinstance(generator, random.Random):
        generator.gauss(0, 1)  # leaves a second number behind that belongs to the state
    save(tmp_path, g=generator, nested=[generator])
    expected = draw(generator)
    fresh = GENERATORS[kind](2)
    state = restore(tmp_path, **({"g": fresh, "nested": [fresh]} if there else {}))
    assert (state.g is fresh) == there and draw(state.g) == expected


@pytest.mark.parametrize("there", [True, False])
def test_a_generators_next_child_is_the_one_that_it_would_have_been(tmp_path: Path, there: bool) -> None:
    generator, bits = np.random.default_rng([3, 4]), np.random.SFC64(5)
    generator.spawn(2), bits.spawn(1)
    save(tmp_path, g=generator, b=bits)
    expected = [draw(generator.spawn(1)[0]), draw(bits.spawn(1)[0])]
    state = restore(tmp_path, **({"g": np.random.default_rng([3, 4]), "b": np.random.SFC64(5)} if there else {}))
    assert [draw(state.g.spawn(1)[0]), draw(state.b.spawn(1)[0])] == expected


def test_a_generator_of_another_kind_is_named(tmp_path: Path) -> None:
    save(tmp_path, g=np.random.default_rng(1), h=random.Random(1))
    with pytest.raises(OutlastError, match="`g` is another generator"):
        restore(tmp_path, g=np.random.Generator(np.random.MT19937(1)))
    with pytest.raises(OutlastError, match=r"`h` was a random generator and is a torch.Generator now"):
        restore(tmp_path, h=torch.Generator())


def test_global_generators_are_always_saved(tmp_path: Path) -> None:
    def numbers() -> tuple[float, float, float]:
        return random.random(), float(np.random.random()), float(torch.rand(()))

    random.seed(4)
    np.random.seed(4)
    torch.manual_seed(4)
    numbers()
    save(tmp_path)
    expected = numbers()
    numbers()
    restore(tmp_path)
    assert numbers() == expected


def test_jax_arrays_and_keys_come_back(tmp_path: Path) -> None:
    key = jax.random.key(3)
    params = {"w": jnp.arange(6.0).reshape(2, 3), "h": jnp.ones(3, jnp.bfloat16), "n": jnp.int32(4)}
    save(tmp_path, params=params, key=key, old=jax.random.PRNGKey(5), keys=jax.random.split(key, 3))
    for parts in (
        {},
        {"params": {"w": jnp.zeros((2, 3)), "h": jnp.zeros(3, jnp.bfloat16), "n": 0}, "key": jax.random.key(0)},
    ):
        state = restore(tmp_path, **parts)
        for name, array in params.items():
            assert isinstance(state.params[name], jax.Array) and state.params[name].dtype == array.dtype
            assert np.asarray(state.params[name]).tobytes() == np.asarray(array).tobytes()
        assert jax.random.uniform(state.key) == jax.random.uniform(key)
        assert jax.random.uniform(state.keys[2]) == jax.random.uniform(jax.random.split(key, 3)[2])
        assert jnp.array_equal(state.old, jax.random.PRNGKey(5))


def test_a_traced_array_is_refused_with_the_reason() -> None:
    def step(x: Any) -> Any:
        outlast.State(x=x)
        return x

    with pytest.raises(TypeError, match=r"`x`.*belongs outside of `jit`"):
        jax.jit(step)(jnp.ones(2))


def test_a_part_that_has_lost_its_object_is_named(tmp_path: Path) -> None:
    save(tmp_path, model=torch.nn.Linear(2, 2))
    with pytest.raises(OutlastError, match="`model` was an object with `state_dict` and is missing now"):
        restore(tmp_path)
    with pytest.raises(OutlastError, match="`model` does not take back what it saved: RuntimeError"):
        restore(tmp_path, model=torch.nn.Linear(3, 2))


class Forgetful(Counts):
    """Loads less than it saves."""

    def state_dict(self) -> dict[str, Any]:
        return {"n": self.n, "trail": [self.n, self.n]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.n = min(state["n"], 3)


def test_an_object_that_does_not_have_what_it_was_given_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forgetful, model = Forgetful(), torch.nn.Linear(3, 2).to(torch.bfloat16)
    forgetful.n = 3
    optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)
    model(torch.ones(1, 3, dtype=torch.bfloat16)).sum().backward()
    optimizer.step()
    save(tmp_path, a=forgetful, model=model, o=optimizer)
    fresh = torch.nn.Linear(3, 2).to(torch.bfloat16)
    restore(tmp_path, a=Forgetful(), model=fresh, o=torch.optim.Adam(fresh.parameters(), amsgrad=True))
    assert "load_state_dict" not in capsys.readouterr().err
    forgetful.n = 4
    optimizer.state[model.weight]["exp_avg"] = torch.full((2, 3), 0.1)  # torch gives it the type of its parameter again
    save(tmp_path / "less", a=forgetful, model=model, o=optimizer)
    restore(tmp_path / "less", a=Forgetful(), model=fresh, o=torch.optim.Adam(fresh.parameters(), amsgrad=True))
    said = capsys.readouterr().err
    assert "warning: `a` does not have all that it saved after its `load_state_dict`: `a.n` is 3 instead of 4" in said
    assert "warning: `o` does not have" in said and "exp_avg` has the dtype bfloat16 instead of float32" in said


def test_a_part_that_the_checkpoint_lacks_stays_and_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path, a=1)
    state = restore(tmp_path, a=0, b=5)
    assert state.a == 1 and state.b == 5
    assert "no part `b`" in capsys.readouterr().err


def test_a_rebound_array_that_the_state_never_sees_is_warned_about_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def train() -> None:
        w = np.zeros(3)
        state = outlast.State(w=w, good=np.zeros(3), layers=[np.zeros(2), np.zeros(2)], model=torch.nn.BatchNorm1d(2))
        for _ in outlast.steps(30, state, save_steps=5):
            w = w + 1  # the mistake: state.w is still the first array
            state.good = state.good + 1
            state.layers[1] = state.layers[1] + 1  # one of its arrays is enough

    live(tmp_path, train)
    err = capsys.readouterr().err
    assert err.count("has not changed") == 1 and "`state.w` has not changed from step 0 to step" in err


def test_a_short_loop_that_is_saved_only_at_its_end_is_warned_about_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path, w=np.zeros(3))
    assert "`state.w` has not changed from step 0 to step 1" in capsys.readouterr().err


def test_a_first_step_that_changes_nothing_is_no_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As of a learning rate that warms up from zero."""

    def train() -> None:
        state = outlast.State(w=np.zeros(3))
        for step in outlast.steps(30, state, save_steps=1):
            state.w = state.w + step
            settle()

    live(tmp_path, train)
    assert "has not changed" not in capsys.readouterr().err


def test_state_needs_no_library_of_arrays(tmp_path: Path) -> None:
    from tests.training.lives import run_script

    script = tmp_path / "train.py"
    script.write_text(
        "import sys, random, outlast\n"
        "state = outlast.State(w=[0.0], rng=random.Random(1))\n"
        "for step in outlast.steps(5, state): state.w[0] += state.rng.random()\n"
        "print(state.w[0], sorted({'numpy', 'torch', 'jax'} & set(sys.modules)))\n"
    )
    first = run_script(script, tmp_path / "run")
    again = run_script(script, tmp_path / "run")
    assert first[0] == 0 and first[1] == again[1] and first[1].endswith("[]\n"), (first, again)
    assert sys.modules
