"""Starts the ranks of a pod, as torchrun does. Usage: torchrun.py RANKS COMMAND..."""
import os
import subprocess
import sys
import time

count, command = int(sys.argv[1]), sys.argv[2:]
first = int(os.environ["JOB_COMPLETION_INDEX"]) * count
ranks = []
for local in range(count):
    own = {"RANK": str(first + local), "LOCAL_RANK": str(local)}
    ranks.append(subprocess.Popen(command, env={**os.environ, **own}))
while all(rank.poll() is None for rank in ranks):
    time.sleep(0.1)
sys.exit(1)
