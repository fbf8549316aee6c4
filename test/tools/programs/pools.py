"""Pools of processes that are forked and spawned, threads, a child, signals, and an exit code."""

import asyncio
import multiprocessing
import signal
import subprocess
import sys
import threading
import time


def compute(seed):
    end = time.process_time() + 0.55
    while time.process_time() < end:
        sum(range(10_000))
    return seed * seed


async def wait_for_alarm():
    alarm = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGALRM, alarm.set)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    await alarm.wait()


if __name__ == "__main__":
    sys.stdout.write(sys.stdin.read())
    for method in sys.argv[1:]:
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, pool.map(compute, [2]), flush=True)
    thread = threading.Thread(target=compute, args=(4,))
    thread.start()
    thread.join()
    asyncio.run(wait_for_alarm())
    print(subprocess.run(["sh", "-c", "echo child >&2; exit 8"]).returncode)
    sys.exit(36)
