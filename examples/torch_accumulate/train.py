"""Gradient accumulation: four small batches make one step, and a checkpoint never lies between them."""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import outlast

ACCUMULATE = 4


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    arguments = parser.parse_args()

    torch.manual_seed(11)
    torch.set_num_threads(1)
    inputs = torch.randn(1600, 16)
    targets = torch.sin(inputs.sum(dim=1, keepdim=True)) + 0.1 * torch.randn(1600, 1)
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=8, shuffle=True)
    model = nn.Sequential(nn.Linear(16, 48), nn.Tanh(), nn.Dropout(0.1), nn.Linear(48, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    state = outlast.State(model=model, optimizer=optimizer, best=float("inf"))

    batches = outlast.batches(loader, epochs=arguments.epochs, state=state, accumulate=ACCUMULATE, save_steps=10)
    total = 0.0
    for _, (batch, target) in batches:
        loss = nn.functional.mse_loss(model(batch), target) / ACCUMULATE
        loss.backward()
        total += loss.item()
        if batches.step_end:
            optimizer.step()
            optimizer.zero_grad()
            state.best = min(state.best, total)
            outlast.log(loss=total)
            total = 0.0

    torch.save({"model": model.state_dict(), "best": state.best}, outlast.output_dir() / "model.pt")
    print(f"best loss {state.best:.6f}", flush=True)


if __name__ == "__main__":
    main()
