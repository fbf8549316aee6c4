"""A training loop with DistributedDataParallel. Arguments: the number of steps."""

import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(int(sys.argv[1])):
    time.sleep(0.05)
    optimizer.zero_grad()
    loss = model(torch.randn(16, 64)).square().mean()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}", flush=True)
dist.destroy_process_group()
sys.exit(3)
