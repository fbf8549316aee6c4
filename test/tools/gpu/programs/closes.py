"""Uses a GPU, closes its standard output, and waits until a file exists; else, it fails."""

import os
import sys
import time

from reader import wait_until_at_work

os.open("/dev/nvidia0", os.O_RDONLY)
wait_until_at_work()
os.close(1)
for _ in range(3000):
    if os.path.exists(sys.argv[1]):
        sys.exit(5)
    time.sleep(0.01)
sys.exit(1)
