"""Collective operations over TCP. Rank 0 writes its address into the folder in RENDEZVOUS."""
import os
import pathlib
import socket
import struct
import time

PEERS = []


def init_process_group():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    address = pathlib.Path(os.environ["RENDEZVOUS"]) / "address"
    if rank == 0:
        server = socket.create_server(("0.0.0.0", 0))
        host = socket.gethostbyname(socket.gethostname())
        partial = address.with_suffix(".partial")
        partial.write_text(f"{host} {server.getsockname()[1]}")
        partial.rename(address)
        PEERS.extend(server.accept()[0] for _ in range(size - 1))
        return
    while not address.exists():
        time.sleep(0.1)
    host, port = address.read_text().split()
    PEERS.append(socket.create_connection((host, int(port))))


def all_reduce(value):
    """Returns the sum of the values of all ranks."""
    if os.environ["RANK"] != "0":
        PEERS[0].sendall(struct.pack("q", value))
        return struct.unpack("q", PEERS[0].recv(8, socket.MSG_WAITALL))[0]
    whole = value
    for peer in PEERS:
        whole += struct.unpack("q", peer.recv(8, socket.MSG_WAITALL))[0]
    for peer in PEERS:
        peer.sendall(struct.pack("q", whole))
    return whole
