"""Processes that hand an open TCP connection to each other, for the tests of the metric network.

    pass.py sink PORT         accepts connections, and reads and drops all bytes
    pass.py give PORT BYTES   connects, sends bytes, and hands the socket to `take` (SCM_RIGHTS)
    pass.py take BYTES        receives the socket, sends bytes, and closes it
    pass.py fork PORT BYTES CHILD_BYTES
        connects and sends bytes. A child inherits the socket, sends bytes, and closes it.
    pass.py leave PORT BYTES CHILD_BYTES
        as fork, but the parent ends instead of closing its copy of the socket

A process that has the socket waits for SIGUSR1 before each step: before it hands the socket over,
before it sends the bytes of another process, and before it closes the socket. It prints lines of
JSON with its process id and the steps that it has taken.
"""

import json
import os
import signal
import socket
import sys
import time

MEETING = "\0pass.py"


def report(what):
    sys.stdout.write(json.dumps({"what": what, "pid": os.getpid()}) + "\n")
    sys.stdout.flush()


def wait():
    signal.sigwait([signal.SIGUSR1])


def connect(port, length):
    one = socket.create_connection(("127.0.0.1", port))
    one.sendall(bytes(length))
    report("sent")
    return one


def finish(one, length):
    report("taken")
    wait()
    one.sendall(bytes(length))
    report("sent")
    wait()
    one.close()
    report("closed")


def sink(port):
    listener = socket.create_server(("127.0.0.1", port))
    report("listening")
    while True:
        one, _ = listener.accept()
        while one.recv(1 << 20):
            pass
        one.close()


def give(port, length):
    one = connect(port, length)
    wait()
    with socket.socket(socket.AF_UNIX) as unix:
        unix.connect(MEETING)
        socket.send_fds(unix, [b"1"], [one.fileno()])
        one.close()
        report("given")
    time.sleep(600)


def take(length):
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(MEETING)
        unix.listen()
        report("listening")
        meeting, _ = unix.accept()
        _, [number], _, _ = socket.recv_fds(meeting, 1, 1)
    finish(socket.socket(fileno=number), length)
    time.sleep(600)


def fork(port, length, child_length, leaves):
    one = connect(port, length)
    wait()
    if os.fork() == 0:
        finish(one, child_length)
    elif leaves:
        report("given")
        os._exit(0)
    else:
        one.close()
        report("given")
    time.sleep(600)


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
match sys.argv[1:]:
    case ["sink", port]:
        sink(int(port))
    case ["give", port, length]:
        give(int(port), int(length))
    case ["take", length]:
        take(int(length))
    case ["fork" | "leave" as how, port, length, child_length]:
        fork(int(port), int(length), int(child_length), how == "leave")
    case _:
        sys.exit(__doc__)
