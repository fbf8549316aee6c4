"""A stand-in for Ray: a worker executes its task, or waits for one."""
import os
import time


def main_loop(task):
    if "RANK" in os.environ:
        task()
    while True:
        time.sleep(3600)
