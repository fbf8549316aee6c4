"""Forks in the main thread and in another one, with functions of Python that run in os.fork()."""
import os
import threading
import time


def work():
    end = time.monotonic() + 0.005
    count = 0
    while time.monotonic() < end:
        count += len(str(count))


os.register_at_fork(before=work, after_in_parent=work)
for code in range(30):
    pid = os.fork()
    if pid == 0:
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def names():
    return [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]


# With the sampler, its thread begins again.
end = time.monotonic() + 30
while "RIDEALONG_PYTHON_FREQUENCY" in os.environ and "ridealong-py\n" not in names():
    assert time.monotonic() < end, names()
    time.sleep(0.01)
print(threading.active_count())
