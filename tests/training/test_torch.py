"""torch's optimisers, schedules, scalers and averages: cut anywhere, they end bit for bit like uncut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler as schedules

import outlast
from tests.training.lives import Killed, live, newest, settle

STEPS = 12


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(4, 8, bias=False)
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.3)
        self.leave = nn.Linear(8, 4, bias=False)
        self.leave.weight = nn.Parameter(self.enter.weight.t().contiguous())
        self.tied = nn.Linear(4, 8, bias=False)
        self.tied.weight = self.enter.weight
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return self.leave(self.drop(torch.relu(self.norm(self.enter(x) + self.tied(x)))))


Optimizer = Callable[[Any], torch.optim.Optimizer]
OPTIMIZERS: dict[str, Optimizer] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.01), foreach=False, capturable=False),
    "Adamax": lambda p: torch.optim.Adamax(p),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "RAdam": lambda p: torch.optim.RAdam(p),
    "RMSprop": lambda p: torch.optim.RMSprop(p, momentum=0.5, centered=True),
    "Rprop": lambda p: torch.optim.Rprop(p),
    "Adagrad": lambda p: torch.optim.Adagrad(p),
    "Adadelta": lambda p: torch.optim.Adadelta(p),
    "ASGD": lambda p: torch.optim.ASGD(p),
    "Adafactor": lambda p: torch.optim.Adafactor(p),
    "LBFGS": lambda p: torch.optim.LBFGS(p, lr=0.1, max_iter=3, line_search_fn="strong_wolfe"),
}

SCHEDULES: dict[str, Callable[[torch.optim.Optimizer], Any]] = {
    "LambdaLR": lambda o: schedules.LambdaLR(o, lambda n: 0.9**n),
    "MultiplicativeLR": lambda o: schedules.MultiplicativeLR(o, lambda n: 0.95),
    "StepLR": lambda o: schedules.StepLR(o, 3),
    "MultiStepLR": lambda o: schedules.MultiStepLR(o, [2, 5, 5, 9]),
    "ConstantLR": lambda o: schedules.ConstantLR(o),
    "LinearLR": lambda o: schedules.LinearLR(o),
    "ExponentialLR": lambda o: schedules.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda o: schedules.PolynomialLR(o, 20),
    "CosineAnnealingLR": lambda o: schedules.CosineAnnealingLR(o, 7),
    "CosineAnnealingWarmRestarts": lambda o: schedules.CosineAnnealingWarmRestarts(o, 4),
    "CyclicLR": lambda o: schedules.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range"),
    "OneCycleLR": lambda o: schedules.OneCycleLR(o, 0.2, total_steps=STEPS + 1),
    "ReduceLROnPlateau": lambda o: schedules.ReduceLROnPlateau(o, patience=0),
    "ChainedScheduler": lambda o: schedules.ChainedScheduler(
        [schedules.ConstantLR(o), schedules.ExponentialLR(o, 0.9)]
    ),
    "SequentialLR": lambda o: schedules.SequentialLR(
        o, [schedules.LinearLR(o, total_iters=4), schedules.StepLR(o, 2)], [4]
    ),
    "SWALR": lambda o: torch.optim.swa_utils.SWALR(o, 0.05),
}


def train(optimizer: str, schedule: str, run_dir: Path | None, kill_at: int | None) -> dict[str, Any] | None:
    def script() -> dict[str, Any]:
        torch.manual_seed(1)
        model = Net()
        optim = OPTIMIZERS[optimizer](model.parameters())
        plan = SCHEDULES[schedule](optim)
        average = torch.optim.swa_utils.AveragedModel(
            model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
        )
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
        state = outlast.State(model=model, optim=optim, plan=plan, average=average, scaler=scaler, best=float("inf"))
        for step in outlast.steps(STEPS, state, save_steps=1):
            inputs = torch.randn(6, 4)

            def closure() -> torch.Tensor:
                optim.zero_grad()
                loss = ((model(inputs) - inputs) ** 2).mean()  # noqa: B023
                loss.backward()
                return loss

            if optimizer == "LBFGS":
                loss = optim.step(closure)
            else:
                optim.zero_grad()
                loss = ((model(inputs) - inputs) ** 2).mean()
                scaler.scale(loss).backward()
                scaler.step(optim)
                scaler.update()
            if step == kill_at:
                raise Killed
            plan.step(loss) if schedule == "ReduceLROnPlateau" else plan.step()
            average.update_parameters(model)
            state.best = min(state.best, loss.item())
            settle()
        return {
            "model": model.state_dict(),
            "average": average.state_dict(),
            "rates": [float(group["lr"]) for group in optim.param_groups],
            "scale": scaler.state_dict(),
            "best": state.best,
            "next": torch.rand(3),
            "tied": model.tied.weight is model.enter.weight,
        }

    return live(run_dir, script)


def assert_equal(a: Any, b: Any, where: str = "") -> None:
    if isinstance(a, torch.Tensor):
        assert torch.equal(a, b), where
    elif isinstance(a, dict):
        assert list(a) == list(b), where
        for key in a:
            assert_equal(a[key], b[key], f"{where}.{key}")
    else:
        assert a == b, where


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimiser_ends_bit_for_bit_the_same(tmp_path: Path, optimizer: str) -> None:
    expected = train(optimizer, "StepLR", None, None)
    for kill_at in (1, 6, 11):
        assert train(optimizer, "StepLR", tmp_path, kill_at) is None
        assert newest(tmp_path).step == kill_at
    assert_equal(train(optimizer, "StepLR", tmp_path, None), expected)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_ends_bit_for_bit_the_same(tmp_path: Path, schedule: str) -> None:
    expected = train("SGD", schedule, None, None)
    for kill_at in (4, 8):
        assert train("SGD", schedule, tmp_path, kill_at) is None
    assert_equal(train("SGD", schedule, tmp_path, None), expected)


def test_half_precision_models_come_back(tmp_path: Path) -> None:
    def script(kill_at: int | None) -> Any:
        torch.manual_seed(2)
        model = nn.Linear(4, 4, dtype=torch.bfloat16)
        optim = torch.optim.AdamW(model.parameters())
        for step in outlast.steps(6, outlast.State(model=model, optim=optim), save_steps=1):
            loss = model(torch.randn(3, 4, dtype=torch.bfloat16)).pow(2).mean()
            optim.zero_grad()
            loss.backward()
            optim.step()
            if step == kill_at:
                raise Killed
        return model.state_dict()

    expected = live(None, lambda: script(None))
    live(tmp_path, lambda: script(3))
    assert_equal(live(tmp_path, lambda: script(None)), expected)


def test_channels_last_stays_channels_last(tmp_path: Path) -> None:
    def script(stop: bool) -> Any:
        torch.manual_seed(3)
        model = nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)
        for _ in outlast.steps(2, outlast.State(model=model), save_steps=1):
            with torch.no_grad():
                model.weight.add_(torch.randn(8, 3, 3, 3))
            if stop:
                break
        return model.weight

    expected = live(None, lambda: script(False))
    live(tmp_path, lambda: script(True))
    back = live(tmp_path, lambda: script(False))
    assert torch.equal(back, expected) and back.is_contiguous(memory_format=torch.channels_last)


def thaw(kill_at: int | None, *, freeze: bool = True) -> Any:
    """Unfreezes a layer and freezes a norm, each once, in the middle of its loop."""
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 2))
    model[0].requires_grad_(not freeze)
    optim = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in outlast.steps(8, outlast.State(model=model, optim=optim), save_steps=1):
        if step == 3:
            model[0].requires_grad_(True)
            model[1].eval()
        loss = model(torch.randn(6, 4)).pow(2).mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        settle()
        if step == kill_at:
            raise Killed
    return model


def test_layers_that_were_unfrozen_or_put_to_rest_in_the_loop_are_so_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = live(None, lambda: thaw(None))
    live(tmp_path, lambda: thaw(2))
    capsys.readouterr()
    live(tmp_path, lambda: thaw(5))
    assert "as it was when it was saved" not in capsys.readouterr().err, "nothing was changed when it was saved"
    ended = live(tmp_path, lambda: thaw(None))
    assert_equal(ended.state_dict(), expected.state_dict())
    assert all(one.requires_grad for one in ended.parameters()) and ended[0].training and not ended[1].training
    said = capsys.readouterr().err
    assert "`model`: which parameters are frozen is as it was when it was saved, and not as before the loop" in said


def test_buffers_that_are_not_persistent_go_on_as_they_were(tmp_path: Path) -> None:
    class Centred(nn.Module):
        mean: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(4), persistent=False)
            self.register_buffer("cache", None, persistent=False)
            self.leave = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.mean = 0.9 * self.mean + x.mean(0)
            self.cache = torch.ones(3)
            return self.leave(x - self.mean)

    def script(kill_at: int | None) -> Any:
        torch.manual_seed(5)
        model = nn.Sequential(Centred())
        same = [model[0].leave.weight]
        optim = torch.optim.SGD(model.parameters(), lr=0.1)
        state = outlast.State(model=model, optim=optim, shared=[same, same])
        for step in outlast.steps(6, state, save_steps=1):
            optim.zero_grad()
            model(torch.randn(3, 4)).pow(2).mean().backward()
            optim.step()
            settle()
            if step == kill_at:
                raise Killed
        assert state.shared[0] is state.shared[1]
        return model.state_dict()

    expected = live(None, lambda: script(None))
    live(tmp_path, lambda: script(2))
    live(tmp_path, lambda: script(4))
    assert_equal(live(tmp_path, lambda: script(None)), expected)


def test_a_model_that_is_evaluated_or_trained_further_keeps_the_modes_that_its_script_gives_it(tmp_path: Path) -> None:
    live(tmp_path, lambda: thaw(None, freeze=False))

    def evaluate() -> None:
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 2)).eval()
        model.requires_grad_(False)
        found = outlast.latest_checkpoint()
        assert found is not None
        found.restore(outlast.State(model=model, optim=torch.optim.Adam(model.parameters())))
        assert not any(one.training for one in model.modules()) and not any(
            one.requires_grad for one in model.parameters()
        )

    live(tmp_path, evaluate)
