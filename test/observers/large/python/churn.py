"""Makes and frees functions, threads, generators and stacks while the sampler reads them, until it
has taken a number of samples.

Usage: churn.py SAMPLES
"""
import gc
import os
import sys
import threading
import time

STATE_AT = 16
SAMPLES_AT = 64
# The interpreter does not run yet, or is sampled.
GOOD = (0, 1)


def memory():
    """Returns the file of the memory of the sampler (observer/python/shared.h)."""
    for number in os.listdir("/proc/self/fd"):
        try:
            link = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if link.startswith("/memfd:ridealong-python"):
            return int(number)
    raise SystemExit("the process has no sampler")


def read(file, size, place):
    return int.from_bytes(os.pread(file, size, place), sys.byteorder)


def make(count):
    """Returns a new function with a name, a file and lines of its own."""
    lines = "\n" * (count % 300)
    text = f"{lines}def f{count}(n):\n  return n if n <= 0 else f{count}(n - 1)\n"
    names = {}
    exec(compile(text, f"file{count % 1000}ä.py", "exec"), names)
    return names[f"f{count}"]


def generate(count):
    for value in range(count):
        yield make(value)(3)


def churn(end):
    count = 0
    while not end.is_set():
        function = make(count)
        function(count % 200)
        sum(generate(5))
        try:
            function(None)
        except TypeError:
            pass
        del function
        if count % 50 == 0:
            gc.collect()
            thread = threading.Thread(target=make(count), args=(20,))
            thread.start()
            thread.join()
        count += 1


def main(wanted):
    file = memory()
    end = threading.Event()
    threads = [threading.Thread(target=churn, args=(end,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    state = 0
    while state in GOOD and read(file, 8, SAMPLES_AT) < wanted:
        time.sleep(0.01)
        state = read(file, 4, STATE_AT)
    end.set()
    for thread in threads:
        thread.join()
    print("done" if state in GOOD else f"the sampler ended in state {state}")


main(int(sys.argv[1]))
