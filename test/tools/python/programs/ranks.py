"""Two ranks that exchange a byte over a socket in each step. Rank 1 sleeps before each of them.

Usage: ranks.py RANK PORT SECONDS
"""
import socket
import sys
import time


def connect(rank, port):
    if rank == 0:
        server = socket.create_server(("127.0.0.1", port))
        return server.accept()[0]
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.01)


def compute():
    return sum(i * i % 7 for i in range(20000))


def load_batch(rank):
    if rank == 1:
        time.sleep(0.03)  # the late rank


def synchronize(peer):
    peer.sendall(b"x")
    return peer.recv(1)  # the other rank waits here


def main(rank, port, seconds):
    peer = connect(rank, port)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        compute()
        load_batch(rank)
        if synchronize(peer) == b"":
            break


main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
