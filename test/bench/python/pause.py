"""Stops a thread in each second quarter of a second, by ptrace, which stops only this thread.

Usage: pause.py, with the id of the thread on standard input.
"""
import ctypes
import os
import sys
import time

PTRACE_CONT, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 0x4206, 0x4207
WALL = 0x40000000
thread = int(sys.stdin.readline())
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request):
    if libc.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


ptrace(PTRACE_SEIZE)
while True:
    now = time.monotonic()
    if int(now * 4) % 2 == 0:
        ptrace(PTRACE_INTERRUPT)
        os.waitpid(thread, WALL)
        time.sleep(0.25 - now % 0.25)
        ptrace(PTRACE_CONT)
    now = time.monotonic()
    time.sleep(0.25 - now % 0.25)
