"""Ends with its threads: a child of a thread (fork), or a program (main)."""
import ctypes
import os
import sys
import threading
import time
import warnings

from torch import distributed

# From 3.12 on, CPython warns of the fork, with the number of the process.
warnings.simplefilter("ignore")


def begin():
    distributed.init_process_group("gloo")
    distributed.all_reduce([0.0])


def work():
    child = os.fork()
    if child != 0:
        print(os.waitpid(child, 0)[1])
        return
    begin()


if sys.argv[1] == "fork":
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
else:
    begin()
    threading.Thread(target=time.sleep, args=[0.5]).start()
    ctypes.CDLL(None).pthread_exit(None)
