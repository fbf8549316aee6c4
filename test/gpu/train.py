"""A training loop with DistributedDataParallel, on the GPU LOCAL_RANK if there is one.

Prints a line with its values at the end. Usage: train.py SECONDS
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def compute_step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def main(seconds):
    has_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if has_gpu else "cpu"
    size = 4096 if has_gpu else 64
    if has_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if has_gpu else "gloo")
    layers = torch.nn.Sequential(*[torch.nn.Linear(size, size) for _ in range(4)]).to(device)
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(size, size, device=device)
    end = time.monotonic() + seconds
    # Rank 0 decides about the last step, so the ranks take the same number of steps.
    more, steps = torch.ones(1, device=device), 0
    while more.item() == 1:
        compute_step(model, optimizer, batch)
        steps += 1
        more.fill_(1 if time.monotonic() < end else 0)
        dist.broadcast(more, 0)
    print(json.dumps({"rank": dist.get_rank(), "steps": steps, "gpu": has_gpu}), flush=True)
    dist.destroy_process_group()


main(float(sys.argv[1]))
