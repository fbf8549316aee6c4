"""Forks in a thread. The child ends with the thread that forked, and prints no more."""
import os
import sys
import threading
import time
import warnings

# From 3.12 on, CPython warns of the fork, with the number of the process.
warnings.simplefilter("ignore")


def work():
    child = os.fork()
    if child == 0:
        time.sleep(0.3)
        return
    print(os.waitpid(child, 0)[1])


thread = threading.Thread(target=work)
thread.start()
thread.join()
sys.exit()
