"""Waits for the reader of the GPUs."""

import time

READINGS = "/var/opt/ridealong/gpu-nvidia/readings"
# The states of observer/gpu/readings.h before the first call of NVML.
STARTING, WAITING = 0, 1


def wait_until_at_work():
    """Waits until the reader reads, or has ended; at most 30 seconds."""
    for _ in range(3000):
        with open(READINGS, "rb") as file:
            state = file.read(12)[8:]
        if state and int.from_bytes(state, "little") not in (STARTING, WAITING):
            return
        time.sleep(0.01)
