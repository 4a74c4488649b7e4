"""Noisy little pictures of digits: a shuffled DataLoader with worker processes, augmentation in the workers, dropout.

What has to come back after a kill in the middle of an epoch: the order of the pictures, the place in it, the noise that
each worker had drawn, the dropout masks, the optimiser's averages and the schedule.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import outlast

SEGMENTS = (0x77, 0x24, 0x5D, 0x6D, 0x2E, 0x6B, 0x7B, 0x25, 0x7F, 0x6F)
SIDE = 12


def glyph(digit: int) -> torch.Tensor:
    """The digit as a pocket calculator shows it."""
    picture = torch.zeros(SIDE, SIDE)
    places = [
        (slice(1, 2), slice(3, 9)),
        (slice(1, 6), slice(3, 4)),
        (slice(1, 6), slice(8, 9)),
        (slice(5, 6), slice(3, 9)),
        (slice(5, 11), slice(3, 4)),
        (slice(5, 11), slice(8, 9)),
        (slice(10, 11), slice(3, 9)),
    ]
    for bit, (rows, columns) in enumerate(places):
        if SEGMENTS[digit] >> bit & 1:
            picture[rows, columns] = 1.0
    return picture


class Digits(Dataset[tuple[torch.Tensor, int]]):
    def __init__(self, count: int) -> None:
        self.pictures = [glyph(digit) for digit in range(10)]
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        digit = index % 10
        down, right = (int(shift) for shift in torch.randint(-1, 2, (2,)))
        picture = self.pictures[digit].roll((down, right), (0, 1))
        return picture.flatten() + 0.4 * torch.randn(SIDE * SIDE), digit


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()

    torch.manual_seed(5)
    torch.set_num_threads(1)
    loader = DataLoader(Digits(1600), batch_size=32, shuffle=True, num_workers=arguments.workers)
    model = nn.Sequential(nn.Linear(SIDE * SIDE, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=arguments.epochs * len(loader))
    state = outlast.State(model=model, optimizer=optimizer, schedule=schedule)

    for step, (pictures, digits) in outlast.batches(loader, epochs=arguments.epochs, state=state, save_steps=10):
        loss = nn.functional.cross_entropy(model(pictures), digits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        outlast.log(loss=loss)
        if step % 25 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}", flush=True)

    torch.save(model.state_dict(), outlast.output_dir() / "model.pt")
    print("done", flush=True)


if __name__ == "__main__":
    main()
