"""A loop over data, cut at every step, with every kind of loader: the same batches, the same random numbers, the same end."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchdata.stateful_dataloader
from torch.utils.data import DataLoader, Dataset, IterableDataset

import outlast
from outlast.errors import OutlastError
from tests.training.lives import Killed, life, live, newest, settle

SAMPLES, BATCH, EPOCHS = 22, 4, 3
BATCHES = 6  # of 4 samples, the last of 2


class Noisy(Dataset[torch.Tensor]):
    """Every sample is drawn from all three global generators, as augmentation does."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> torch.Tensor:
        noise = random.random() + float(np.random.random()) + float(torch.rand(()))
        return torch.tensor([float(index), noise], dtype=torch.float64)


class Quiet(Noisy):
    """torchdata's loader says where it stands, but not what its workers have drawn."""

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([float(index), 0.5], dtype=torch.float64)


class Stream(IterableDataset[torch.Tensor]):
    """Its length is not known; each worker gives its share."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        worker = torch.utils.data.get_worker_info()
        for index in range(worker.id if worker else 0, SAMPLES, worker.num_workers if worker else 1):
            yield torch.tensor([float(index), float(torch.rand(()))], dtype=torch.float64)


class Shuffled:
    """A loader that somebody wrote: shuffles by the global generator at the beginning of each epoch."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        order = list(range(SAMPLES))
        random.shuffle(order)
        for begin in range(0, SAMPLES, BATCH):
            yield torch.tensor([[float(i), random.random()] for i in order[begin : begin + BATCH]], dtype=torch.float64)


class Remembering:
    """A loader that knows where it stands, and carries something from epoch to epoch."""

    def __init__(self) -> None:
        self.at, self.rounds = 0, 0

    def __iter__(self) -> Iterator[torch.Tensor]:
        while self.at < BATCHES:
            self.at += 1
            yield torch.tensor([[float(self.at), float(self.rounds)]], dtype=torch.float64)
        self.at, self.rounds = 0, self.rounds + 1

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at, "rounds": self.rounds}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at, self.rounds = state["at"], state["rounds"]


class OwnRandom:
    """A loader with generators of its own; one of them is in the state too."""

    def __init__(self) -> None:
        self.tools = [random.Random(6)]
        self.noise = np.random.default_rng(7)

    def __iter__(self) -> Iterator[torch.Tensor]:
        order = list(range(SAMPLES))
        self.tools[0].shuffle(order)
        for begin in range(0, SAMPLES, BATCH):
            noise = float(self.noise.random())
            yield torch.tensor([[float(i), noise] for i in order[begin : begin + BATCH]], dtype=torch.float64)


class Augmenting(Quiet):
    """A transform with a generator, as it lies in a dataset."""

    def __init__(self, seed: int) -> None:
        self.transforms = [Jitter(seed)]

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.transforms[0](super().__getitem__(index))


class Jitter:
    def __init__(self, seed: int) -> None:
        self._noise = np.random.default_rng(seed)

    def __call__(self, sample: torch.Tensor) -> torch.Tensor:
        return sample + float(self._noise.random())


class EpochSampler(torch.utils.data.DistributedSampler[Any]):
    def __init__(self) -> None:
        super().__init__(Noisy(), num_replicas=1, rank=0, shuffle=True, seed=9)


class Buffered(IterableDataset[torch.Tensor]):
    """Shuffles in a buffer, by the generator that dropout draws from too: what lies in it depends on the bodies before."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        buffer = [float(index) for index in range(5)]
        for index in range(5, SAMPLES):
            at = int(torch.randint(5, ()))
            yield torch.tensor([buffer[at], 0.5], dtype=torch.float64)
            buffer[at] = float(index)


class Counting(IterableDataset[torch.Tensor]):
    """Nobody tells it the epoch: it counts by itself, at the end of each."""

    def __init__(self) -> None:
        self._epoch = 0

    def __iter__(self) -> Iterator[torch.Tensor]:
        order = random.Random(self._epoch).sample(range(SAMPLES), SAMPLES)
        yield from (torch.tensor([float(index), 0.5], dtype=torch.float64) for index in order)
        self._epoch += 1


class Lengthless(torch.utils.data.Sampler[int]):
    """As torch allows it."""

    def __init__(self) -> None:
        pass

    def __iter__(self) -> Iterator[int]:
        yield from torch.randperm(SAMPLES).tolist()


class Reseeding(Lengthless):
    """Counts by itself, too, when an epoch begins."""

    seed = 5

    def __len__(self) -> int:
        return SAMPLES

    def __iter__(self) -> Iterator[int]:
        self.seed += 1
        return iter(random.Random(self.seed).sample(range(SAMPLES), SAMPLES))


class Pool(Lengthless):
    """Draws each index when it is asked for, out of those that are left."""

    def __len__(self) -> int:
        return SAMPLES

    def __iter__(self) -> Iterator[int]:
        left = list(range(SAMPLES))
        while left:
            yield left.pop(random.randrange(len(left)))


class Growing(EpochSampler):
    """A curriculum: each epoch has more than the one before."""

    def __len__(self) -> int:
        return 8 + 6 * self.epoch

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))


def torch_loader(**options: Any) -> Callable[[], Any]:
    return lambda: DataLoader(Noisy(), batch_size=BATCH, **options)


LOADERS: dict[str, Callable[[], Any]] = {
    "shuffled": torch_loader(shuffle=True),
    "in order": torch_loader(shuffle=False),
    "own generator": lambda: DataLoader(Noisy(), BATCH, shuffle=True, generator=torch.Generator().manual_seed(8)),
    "full batches": lambda: DataLoader(Noisy(), 2, shuffle=True, generator=torch.Generator().manual_seed(8)),
    "drop last": torch_loader(shuffle=True, drop_last=True),
    "with replacement": lambda: DataLoader(
        Noisy(), BATCH, sampler=torch.utils.data.RandomSampler(Noisy(), replacement=True, num_samples=40)
    ),
    "distributed sampler": lambda: DataLoader(Noisy(), BATCH, sampler=EpochSampler()),
    "iterable": lambda: DataLoader(Stream(), BATCH),
    "shuffled in a buffer": lambda: DataLoader(Buffered(), BATCH),
    "sampler without a length": lambda: DataLoader(Noisy(), BATCH, sampler=Lengthless()),
    "sampler that draws late": lambda: DataLoader(Noisy(), BATCH, sampler=Pool()),
    "dataset that counts epochs": lambda: DataLoader(Counting(), BATCH),
    "sampler that counts seeds": lambda: DataLoader(Noisy(), BATCH, sampler=Reseeding()),
    "longer each epoch": lambda: DataLoader(Noisy(), BATCH, sampler=Growing()),
    "list": lambda: [torch.full((1, 2), float(i), dtype=torch.float64) for i in range(5)],
    "own class": Shuffled,
    "own random": OwnRandom,
    "deep inside": lambda: DataLoader(
        torch.utils.data.Subset(torch.utils.data.ConcatDataset([Augmenting(1), Augmenting(2)]), range(9, 31)),
        BATCH,
        True,
    ),
    "stateful": Remembering,
    "torchdata": lambda: torchdata.stateful_dataloader.StatefulDataLoader(Noisy(), BATCH, shuffle=True),
    "torchdata, distributed": lambda: torchdata.stateful_dataloader.StatefulDataLoader(
        Noisy(), BATCH, sampler=EpochSampler()
    ),
}
TOLD_THE_EPOCH = ("distributed sampler", "torchdata, distributed", "longer each epoch", "stateful")
LENGTH_UNKNOWN = (
    "own class",
    "iterable",
    "shuffled in a buffer",
    "sampler without a length",
    "dataset that counts epochs",
)
WORKER_LOADERS: dict[str, Callable[[], Any]] = {
    "shuffled": torch_loader(shuffle=True, num_workers=2),
    "own generator": lambda: DataLoader(Noisy(), BATCH, shuffle=True, num_workers=2, generator=torch.Generator()),
    "persistent": torch_loader(shuffle=True, num_workers=2, persistent_workers=True),
    "iterable": lambda: DataLoader(Stream(), BATCH, num_workers=2),
    "torchdata": lambda: torchdata.stateful_dataloader.StatefulDataLoader(Quiet(), BATCH, shuffle=True, num_workers=2),
}


def train(make: Callable[[], Any], kill_at: int | None = None, accumulate: int = 1, **limits: Any) -> list[Any]:
    """All batches, and what dropout would draw, folded into one state; ends with random numbers that must be the same too."""
    random.seed(1)
    np.random.seed(2)
    torch.manual_seed(3)
    loader = make()
    model = torch.nn.Dropout(0.5)
    state = outlast.State(w=torch.zeros(2, dtype=torch.float64), trail=[], pending=0.0)
    if isinstance(loader, OwnRandom):
        state.all = {"of": [loader.tools[0]]}
    loop = outlast.batches(loader, state=state, accumulate=accumulate, save_steps=1, **(limits or {"epochs": EPOCHS}))
    seen = 0
    for step, batch in loop:
        assert batch.shape[-1] == 2
        state.w = state.w * 0.9 + model(batch).sum(0) + random.random() + float(np.random.random())
        seen += 1
        if loop.step_end:
            state.trail.append([step, loop.epoch, loop.index, loop.epoch_end, seen])
            seen = 0
        if step == kill_at and loop.step_end:
            raise Killed
        settle()
    return [state.w.tolist(), state.trail, random.random(), float(np.random.random()), float(torch.rand(()))]


def cut_everywhere(run_dir: Path, make: Callable[[], Any], **options: Any) -> list[Any]:
    """Killed in the body of every single step, and resumed each time."""
    for kill_at in range(10_000):
        result = live(run_dir, lambda: train(make, kill_at, **options))  # noqa: B023
        if result is not None:
            return result
        assert kill_at == 0 or newest(run_dir).step == kill_at
    raise AssertionError("it never ended")


@pytest.mark.parametrize("kind", LOADERS)
def test_cut_in_every_step_it_ends_bit_for_bit_the_same(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = live(None, lambda: train(LOADERS[kind]))
    assert cut_everywhere(tmp_path, LOADERS[kind]) == expected
    assert "is another one than before" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "limits", "steps"),
    [
        (range(7), {"epochs": 3}, 21),
        (range(7), {"epochs": 3, "accumulate": 2}, 12),
        (range(7), {"epochs": 3, "total": 5}, 5),
        (range(7), {"total": 50}, 50),
        (DataLoader(Stream()), {"epochs": 3}, None),
    ],
)
def test_how_many_steps_there_will_be_is_known_where_the_loader_has_a_length(
    data: Any, limits: dict[str, Any], steps: int | None
) -> None:
    assert outlast.batches(data, **limits)._loop.total == steps


@pytest.mark.parametrize("kind", ["shuffled", "own generator", "iterable", "own class", "stateful"])
@pytest.mark.parametrize("accumulate", [2, 4])
def test_accumulated_batches_are_never_cut_in_two(tmp_path: Path, kind: str, accumulate: int) -> None:
    expected = live(None, lambda: train(LOADERS[kind], accumulate=accumulate))
    assert cut_everywhere(tmp_path, LOADERS[kind], accumulate=accumulate) == expected
    sizes = [entry[4] for entry in expected[1]]
    assert set(sizes) == {accumulate, BATCHES % accumulate} - {0}, "the last step of an epoch is a short one"
    assert [entry[0] for entry in expected[1]] == list(range(len(sizes)))


@pytest.mark.parametrize("kind", WORKER_LOADERS)
def test_worker_processes_draw_the_same_random_numbers_again(tmp_path: Path, kind: str) -> None:
    expected = live(None, lambda: train(WORKER_LOADERS[kind]))
    for kill_at in (2, 7, 12, 16):
        assert live(tmp_path, lambda: train(WORKER_LOADERS[kind], kill_at)) is None  # noqa: B023
        assert newest(tmp_path).step == kill_at
    assert live(tmp_path, lambda: train(WORKER_LOADERS[kind])) == expected


@pytest.mark.soak  # each of them imports torch
def test_workers_that_are_started_anew_as_on_a_mac_draw_what_forked_ones_do(tmp_path: Path) -> None:
    def loader(how: str) -> Callable[[], Any]:
        return torch_loader(shuffle=True, num_workers=1, persistent_workers=True, multiprocessing_context=how)

    expected = live(None, lambda: train(loader("fork")))
    assert live(tmp_path, lambda: train(loader("spawn"), 7)) is None
    assert newest(tmp_path).step == 7
    assert live(tmp_path, lambda: train(loader("spawn"))) == expected


@pytest.mark.parametrize("kind", [kind for kind in LOADERS if kind not in TOLD_THE_EPOCH])
def test_by_hand_it_is_the_plain_loop_over_the_loader(kind: str) -> None:
    def numbers(batches: Any) -> list[Any]:
        return [[batch.tolist(), float(torch.rand(())), random.random()] for batch in batches]

    def seeded() -> Any:
        random.seed(1)
        np.random.seed(1)
        torch.manual_seed(1)
        return LOADERS[kind]()

    plain = seeded()
    expected = numbers(batch for _ in range(EPOCHS) for batch in plain)
    if kind in LENGTH_UNKNOWN:
        # Their length is not known, so that each batch is drawn before the body of the one before it.
        assert len(numbers(batch for _, batch in outlast.batches(seeded(), epochs=EPOCHS))) == len(expected)
    else:
        assert numbers(batch for _, batch in outlast.batches(seeded(), epochs=EPOCHS)) == expected


def test_samplers_are_told_the_epoch() -> None:
    told: list[int] = []

    class Told(EpochSampler):
        def set_epoch(self, epoch: int) -> None:
            told.append(epoch)
            super().set_epoch(epoch)

    loader = DataLoader(Quiet(), BATCH, sampler=Told())
    orders = [batch[:, 0].tolist() for _, batch in outlast.batches(loader, epochs=3)]
    assert told == [0, 1, 2] and orders[:BATCHES] != orders[BATCHES : 2 * BATCHES]


def test_epoch_index_and_ends_are_told() -> None:
    for loader in ([1, 2, 3], Shuffled()):
        loop = outlast.batches(loader, epochs=2)
        told = [(step, loop.epoch, loop.index, loop.epoch_end) for step, _ in loop]
        count = len(told) // 2
        assert told == [(i, i // count, i % count, i % count == count - 1) for i in range(2 * count)]


def test_total_ends_it_in_the_middle_of_an_epoch_and_may_grow(tmp_path: Path) -> None:
    expected = live(None, lambda: train(LOADERS["shuffled"], total=14))
    assert live(tmp_path, lambda: train(LOADERS["shuffled"], total=4))[1][-1][:3] == [3, 0, 3]
    assert newest(tmp_path).complete
    assert live(tmp_path, lambda: train(LOADERS["shuffled"], total=14)) == expected


def test_a_total_lowered_below_what_is_done_completes_it_and_may_grow_again(tmp_path: Path) -> None:
    """From the very batch at which it was."""
    expected = live(None, lambda: train(LOADERS["shuffled"], total=14))
    live(tmp_path, lambda: train(LOADERS["shuffled"], total=14, kill_at=8))
    done = newest(tmp_path).step
    assert done > 3 and not newest(tmp_path).complete
    live(tmp_path, lambda: train(LOADERS["shuffled"], total=3))
    assert newest(tmp_path).complete and newest(tmp_path).step == done
    assert live(tmp_path, lambda: train(LOADERS["shuffled"], total=14)) == expected


def test_epochs_may_grow(tmp_path: Path) -> None:
    expected = live(None, lambda: train(LOADERS["shuffled"], epochs=3))
    live(tmp_path, lambda: train(LOADERS["shuffled"], epochs=1))
    assert live(tmp_path, lambda: train(LOADERS["shuffled"], epochs=3)) == expected


def test_total_and_epochs_whichever_comes_first() -> None:
    assert len(list(outlast.batches([1, 2], epochs=3, total=4))) == 4
    assert len(list(outlast.batches([1, 2], epochs=3, total=40))) == 6
    with pytest.raises(TypeError, match="epochs=, total= or both"):
        outlast.batches([1])


def test_an_iterator_that_cannot_begin_anew_is_refused() -> None:
    for once in (iter([1, 2]), (x for x in [1]), map(str, [1])):
        with pytest.raises(TypeError, match="it can be gone through only once"):
            outlast.batches(once, epochs=1)
    with pytest.raises(TypeError, match="something to iterate over, not int"):
        outlast.batches(3, epochs=1)


def test_an_empty_loader_is_an_error_and_not_an_endless_loop() -> None:
    loaders: tuple[Any, ...] = ([], DataLoader(Stream(), batch_size=100, drop_last=True))
    for empty in loaders:
        with pytest.raises(ValueError, match="no batches in epoch 0"):
            list(outlast.batches(empty, total=3))


def test_data_that_have_shrunk_are_an_error(tmp_path: Path) -> None:
    live(tmp_path, lambda: train(lambda: LOADERS["list"](), 4))
    with pytest.raises(OutlastError, match="only 2 batches in epoch 0; 4 were drawn before"):
        live(tmp_path, lambda: train(lambda: LOADERS["list"]()[:2]))


def test_a_loader_that_begins_its_epoch_otherwise_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list of files in another order, on another machine."""

    def files(step: int) -> list[dict[str, Any]]:
        return [{"name": f"{number}.png", "pixels": np.full((2, 3), number)} for number in range(8)[::step]]

    def script(step: int, kill_at: int | None) -> None:
        for at, _ in outlast.batches(files(step), epochs=2, save_steps=1):
            settle()
            if at == kill_at:
                raise Killed

    live(tmp_path, lambda: script(1, 10))
    live(tmp_path, lambda: script(1, 12))
    assert "another one" not in capsys.readouterr().err
    live(tmp_path, lambda: script(-1, None))
    assert "the first batch of epoch 1 is another one than before" in capsys.readouterr().err


def test_a_loader_that_goes_on_otherwise_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It remembers more draws than are kept: its buffer has something else in it."""
    monkeypatch.setattr("outlast.training.draws.DRAWS_MAX", 2)
    for kill_at in (1, 4):
        live(tmp_path, lambda: train(LOADERS["shuffled in a buffer"], kill_at))  # noqa: B023
    assert "another one" not in capsys.readouterr().err
    live(tmp_path, lambda: train(LOADERS["shuffled in a buffer"]))
    assert "the next batch of epoch 0 is another one than before" in capsys.readouterr().err


def test_data_that_the_last_body_of_an_epoch_adds_belong_to_the_next_one(tmp_path: Path) -> None:
    def script(kill_at: int | None) -> list[Any]:
        torch.manual_seed(1)
        data = list(range(8))
        state = outlast.State(data=data, seen=[])
        loop = outlast.batches(DataLoader(data, BATCH, shuffle=True), epochs=3, state=state, save_steps=1)
        for step, batch in loop:
            state.seen.append([loop.epoch, loop.epoch_end, *batch.tolist()])
            if loop.epoch_end:
                data.extend([10 * loop.epoch] * 4)
            settle()
            if step == kill_at:
                raise Killed
        return state.seen

    expected = live(None, lambda: script(None))
    assert [epoch for epoch, *_ in expected] == [0] * 2 + [1] * 3 + [2] * 4
    for kill_at in (1, 2, 3, 6):
        live(tmp_path, lambda: script(kill_at))  # noqa: B023
    assert live(tmp_path, lambda: script(None)) == expected


def test_what_a_dataset_counts_in_the_state_is_not_counted_twice(tmp_path: Path) -> None:
    """The batches that are drawn again to find the place are no new ones."""

    class Counting(Quiet):
        def __getitem__(self, index: int) -> torch.Tensor:
            state.given += 1
            state.uses[index] += 1
            return super().__getitem__(index)

    def script(kill_at: int | None) -> list[Any]:
        torch.manual_seed(1)
        state.given, state.uses = 0, np.zeros(SAMPLES)
        for step, _ in outlast.batches(
            DataLoader(Counting(), BATCH, shuffle=True), epochs=2, state=state, save_steps=1
        ):
            settle()
            if step == kill_at:
                raise Killed
        return [state.given, state.uses.tolist()]

    state = outlast.State()
    live(tmp_path, lambda: script(3))
    live(tmp_path, lambda: script(8))
    assert live(tmp_path, lambda: script(None)) == [2 * SAMPLES, [2.0] * SAMPLES]


def test_without_a_state_the_position_in_the_data_is_kept(tmp_path: Path) -> None:
    def script(kill_at: int | None) -> list[float]:
        random.seed(5)
        seen = []
        for step, batch in outlast.batches(Shuffled(), epochs=2, save_steps=1):
            seen.append(float(batch.sum()))
            settle()
            if step == kill_at:
                raise Killed
        return seen

    expected = live(None, lambda: script(None))
    live(tmp_path, lambda: script(8))
    assert live(tmp_path, lambda: script(None)) == expected[8:]


def test_a_loop_saved_by_steps_is_not_mistaken_for_one_of_batches(tmp_path: Path) -> None:
    with life(tmp_path):
        list(outlast.steps(2, outlast.State(a=1)))
    with life(tmp_path), pytest.raises(OutlastError, match=r"was saved by outlast\.steps"):
        list(outlast.batches([1, 2, 3], epochs=5, state=outlast.State(a=1)))


def test_generators_that_are_parts_are_right_after_the_data_have_been_drawn_again(tmp_path: Path) -> None:
    """The loader's own generator is also a part, nested: drawing the epoch again must not leave it where that ended."""

    def script(kill_at: int | None) -> list[Any]:
        generator = torch.Generator().manual_seed(4)
        loader = DataLoader(Noisy(), BATCH, shuffle=True, generator=generator)
        torch.manual_seed(1)
        random.seed(1)
        np.random.seed(1)
        state = outlast.State(all={"of": [generator]}, seen=[])
        for step, batch in outlast.batches(loader, epochs=2, state=state, save_steps=1):
            state.seen.append([float(batch.sum()), float(torch.rand((), generator=generator))])
            settle()
            if step == kill_at:
                raise Killed
        return state.seen

    expected = live(None, lambda: script(None))
    for kill_at in (2, 5, 7):
        live(tmp_path, lambda: script(kill_at))  # noqa: B023
    assert live(tmp_path, lambda: script(None)) == expected
