"""A rank of a training job, whose data loader has a process of its own."""
import os

import torch.distributed
from data import Batches
from torch.utils.data import DataLoader


def compute(batch):
    return sum((batch + i) * i % 7 for i in range(100_000))


def train():
    torch.distributed.init_process_group()
    for batch in DataLoader(Batches(), os.environ.get("START_METHOD", "fork")):
        compute(batch)
        torch.distributed.all_reduce(batch)


if __name__ == "__main__":
    train()
