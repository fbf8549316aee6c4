"""Two ranks that call an operation STEPS times; rank 1 is 30 ms late each time. Writes when the
rank made the calls, and the longest time for which a second thread did not run.

Usage: late.py STEPS
"""

import json
import sys
import threading
import time

import torch
import torch.distributed as dist

STEPS = int(sys.argv[1])
gap = 0.0
is_over = False


def tick():
    global gap
    last = time.perf_counter()
    while not is_over:
        time.sleep(0.0005)
        now = time.perf_counter()
        gap = max(gap, now - last)
        last = now


dist.init_process_group("gloo")
rank = dist.get_rank()
tensor = torch.zeros(1)
dist.all_reduce(tensor)
ticker = threading.Thread(target=tick)
ticker.start()
times = []
for _ in range(STEPS):
    if rank == 1:
        time.sleep(0.03)
    times.append(time.time())
    dist.all_reduce(tensor)
is_over = True
ticker.join()
dist.destroy_process_group()
print(json.dumps({"rank": rank, "times": times, "gap": gap}), flush=True)
