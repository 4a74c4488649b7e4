"""torch: shuffled worker processes, noise, dropout, momentum, a schedule, accumulated gradients; writes what it ended with."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import outlast

torch.set_num_threads(1)


class Noisy(Dataset):
    def __len__(self) -> int:
        return 50

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((8,), index / 50) + torch.randn(8)


def main() -> None:
    accumulate = int(sys.argv[1])
    torch.manual_seed(7)
    loader = DataLoader(Noisy(), batch_size=4, shuffle=True, num_workers=2)
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=30)
    state = outlast.State(model=model, optimizer=optimizer, schedule=schedule)
    loop = outlast.batches(loader, epochs=3, state=state, accumulate=accumulate, save_steps=1)
    for _, batch in loop:
        loss = (model(batch) - batch.mean(1, keepdim=True)).pow(2).mean() / accumulate
        loss.backward()
        if loop.step_end:
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
        outlast.log(loss=loss)
    weights = b"".join(p.detach().numpy().tobytes() for p in model.state_dict().values())
    (outlast.output_dir() / "model.bin").write_bytes(weights + torch.rand(4).numpy().tobytes())
    print("done")


if __name__ == "__main__":
    main()
