"""A small neural network with embeddings learns from census data, and outlasts its machine in the middle of an epoch.

What has to come back after a kill: weights, the optimiser's averages, the schedule, the order of the people and the place in
it, the dropout masks, the running means, the best accuracy so far, and the file of the model that reached it.
"""

from __future__ import annotations

import csv
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import outlast

WORDS = (1, 3, 5, 6, 7, 8, 9, 13)
NUMBERS = (0, 2, 4, 10, 11, 12)
UNKNOWN = 0
"""The number of every word that is not in the training file."""

Vocabulary = list[dict[str, int]]
"""For each column of words: word -> number."""


def read_people(path: Path) -> list[list[str]]:
    with open(path, newline="") as file:  # the file of the test begins with a remark and ends with an empty line
        return [row for row in csv.reader(file, skipinitialspace=True) if len(row) == 15]


def new_vocabulary(people: list[list[str]]) -> Vocabulary:
    return [{word: i for i, word in enumerate(sorted({row[c] for row in people}), start=1)} for c in WORDS]


def encode(people: list[list[str]], vocabulary: Vocabulary) -> TensorDataset:
    words = [[known.get(row[c], UNKNOWN) for c, known in zip(WORDS, vocabulary, strict=True)] for row in people]
    numbers = torch.tensor([[float(row[c]) for c in NUMBERS] for row in people])
    labels = torch.tensor([float(row[14].startswith(">50K")) for row in people])
    return TensorDataset(torch.tensor(words), torch.log1p(numbers), labels)


class Network(nn.Module):
    def __init__(self, vocabulary: Vocabulary, hidden: int) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(len(known) + 1, 6) for known in vocabulary)
        self.scale = nn.BatchNorm1d(len(NUMBERS))
        self.layers = nn.Sequential(
            nn.Linear(6 * len(WORDS) + len(NUMBERS), hidden),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, words: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        parts = [embedding(words[:, i]) for i, embedding in enumerate(self.embeddings)]
        return self.layers(torch.cat([*parts, self.scale(numbers)], dim=1)).squeeze(1)


@torch.no_grad()
def accuracy(network: Network, people: TensorDataset) -> float:
    network.eval()
    words, numbers, labels = people.tensors
    right = (network(words, numbers) > 0) == labels.bool()
    network.train()
    return right.float().mean().item()


@outlast.main
def main(
    mode: str = "train", epochs: int = 4, batch_size: int = 256, learning_rate: float = 3e-3, hidden: int = 64
) -> None:
    """Predict income from census data, which `--dataset` names: a directory with adult.data and adult.test."""
    data = outlast.dataset()
    torch.manual_seed(3)
    torch.set_num_threads(1)  # sums in one order, on any machine
    people = read_people(data / "adult.data")
    vocabulary = new_vocabulary(people)
    unseen = encode(read_people(data / "adult.test"), vocabulary)
    network = Network(vocabulary, hidden)
    loader = DataLoader(encode(people, vocabulary), batch_size=batch_size, shuffle=True)
    optimizer = torch.optim.AdamW(network.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
    state = outlast.State(network=network, optimizer=optimizer, schedule=schedule, best=0.0)
    if mode == "evaluate":
        trained = outlast.latest_checkpoint()
        if trained is None:
            raise SystemExit("error: there is no checkpoint to evaluate\n\nhint: `outlast evaluate JOB`")
        trained.restore(state)
        outlast.log(accuracy=accuracy(network, unseen))
        return

    batches = outlast.batches(loader, epochs=epochs, state=state, save_steps=50)
    for step, (words, numbers, labels) in batches:
        loss = nn.functional.binary_cross_entropy_with_logits(network(words, numbers), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        outlast.log(loss=loss)
        if batches.epoch_end:
            found = accuracy(network, unseen)
            outlast.log(accuracy=found)
            print(f"step {step:4d}: {found:.4f} guessed right after epoch {batches.epoch + 1}", flush=True)
            if found > state.best:  # the file goes into the next checkpoint, and comes back with it
                state.best = found
                torch.save(network.state_dict(), outlast.output_dir() / "best.pt")

    torch.save(network.state_dict(), outlast.output_dir() / "model.pt")
    print(f"best accuracy: {state.best:.4f}", flush=True)


if __name__ == "__main__":
    main()
