"""One of two ranks that train a model with PyTorch's DistributedDataParallel and gloo. Rank 1
loads each batch slowly. Needs MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE.

Usage: training.py SECONDS
"""

import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def load_batch(rank):
    if rank == 1:
        time.sleep(0.05)  # the late rank
    return torch.randn(16, 32)


def step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()  # the other rank waits here
    optimizer.step()


def main(seconds):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(torch.nn.Linear(32, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    # The ranks take the same number of steps, because rank 0 decides about the last one.
    end = time.monotonic() + seconds
    more = torch.ones(1)
    while more.item() == 1:
        step(model, optimizer, load_batch(rank))
        more.fill_(1 if time.monotonic() < end else 0)
        dist.broadcast(more, 0)
    dist.destroy_process_group()


main(float(sys.argv[1]))
