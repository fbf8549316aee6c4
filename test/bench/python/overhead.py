"""Measures how much more processor time the same work needs while its thread is sampled.

The sampler is stopped in each second quarter of a second (pause.py). A pair consists of a quarter
with it and the two next to it. Pairs are added until the 95 % interval of their median is narrower
than 2 %, at most 600. Prints the median, the limits, the pairs, and the part of a core that the
other threads of the process use while they run.
"""
import math
import os
import statistics
import subprocess
import sys
import time

WIDTH, MAX_PAIRS, MIN_PAIRS = 0.02, 600, 20
DEPTH, COUNT = 20, 300


def leaf(number):
    return number * number % 7


def work(depth):
    return work(depth - 1) if depth > 0 else sum(leaf(number) for number in range(COUNT))


def sampler():
    """Waits for the thread of the sampler, which ends when a process is started."""
    while True:
        work(DEPTH)
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/comm") as file:
                if file.read() == "ridealong-py\n":
                    return task


def interval(values):
    """The limits of the median, by the binomial distribution (Conover, 3.2)."""
    ordered, outside, summed = sorted(values), -1, 0
    for rank in range(len(ordered) // 2):
        summed += math.comb(len(ordered), rank) / 2 ** len(ordered)
        if summed > 0.025:
            break
        outside = rank
    return ordered[outside], ordered[-1 - outside]


class Quarter:
    def __init__(self):
        self.work, self.own, self.others = 0, 0.0, 0.0

    def rate(self):
        return self.work / self.own


def pairs(quarters):
    """The additional time in the quarters with the sampler, which have odd numbers."""
    for number, quarter in quarters.items():
        before, after = quarters.get(number - 1), quarters.get(number + 1)
        if number % 2 == 1 and before and after and quarter.own > 0:
            plain = (before.work + after.work) / (before.own + after.own)
            yield plain / quarter.rate() - 1


def main():
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    command = [sys.executable, os.path.join(os.path.dirname(__file__), "pause.py")]
    helper = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, env=env)
    print(sampler(), file=helper.stdin, flush=True)
    quarters, last, found = {}, 0, []
    own, whole = time.thread_time(), time.process_time()
    while len(found) < MAX_PAIRS:
        number = int(time.monotonic() * 4)
        work(DEPTH)
        own_now, whole_now = time.thread_time(), time.process_time()
        quarter = quarters.setdefault(number, Quarter())
        quarter.work += 1
        quarter.own += own_now - own
        quarter.others += (whole_now - whole) - (own_now - own)
        own, whole = own_now, whole_now
        if number == last:
            continue
        last = number
        # The first quarters are not whole, and nor is the one that has begun.
        ended = dict(list(quarters.items())[2:-1])
        found = list(pairs(ended))
        if len(found) >= MIN_PAIRS:
            low, high = interval(found)
            if high - low < WIDTH:
                break
    helper.kill()
    sampled = [quarter.others for number, quarter in ended.items() if number % 2 == 1]
    low, high = interval(found)
    share = sum(sampled) / (0.25 * len(sampled))
    print(statistics.median(found), low, high, len(found), share)


main()
