"""Processes that exchange bytes over TCP, for the tests of the metric network.

    talk.py serve PORT EXCHANGES   answers on any address; prints a line after EXCHANGES exchanges
    talk.py ignore PORT            accepts connections and reads nothing
    talk.py keep HOST PORT CONNECTIONS BYTES REPLY ...
        opens connections, exchanges bytes on each, and keeps them open. On SIGUSR1, sends the same
        number of bytes on each connection without a reply, and closes it immediately.
    talk.py once HOST PORT CONNECTIONS BYTES REPLY ...
        opens connections one after the other, and closes each after its exchange.

Each process prints lines of JSON with its process id and the bytes sent and received by peer.
"""

import json
import os
import signal
import socket
import struct
import sys
import threading
import time

HEADER = struct.Struct("=QQ")
RTT_IN_TCP_INFO = 68

totals = {}
lock = threading.Lock()


def count(peer, sent, received):
    with lock:
        total = totals.setdefault(peer.removeprefix("::ffff:"), {"sent": 0, "received": 0})
        total["sent"] += sent
        total["received"] += received


def report(what, **more):
    line = {"what": what, "pid": os.getpid(), "peers": totals, **more}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def listen(port):
    listener = socket.create_server(
        ("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=256
    )
    report("listening")
    return listener


def serve(port, exchanges):
    listener = listen(port)
    left = exchanges

    def answer(connection, peer):
        nonlocal left
        with connection:
            while header := connection.recv(HEADER.size, socket.MSG_WAITALL):
                length, reply = HEADER.unpack(header)
                receive(connection, length)
                connection.sendall(bytes(reply))
                count(peer, reply, HEADER.size + length)
                with lock:
                    left -= 1
                    is_last = left == 0
                if is_last:
                    report("answered")

    while True:
        connection, address = listener.accept()
        threading.Thread(target=answer, args=(connection, address[0]), daemon=True).start()


def receive(connection, length):
    while length > 0:
        length -= len(connection.recv(min(length, 1 << 20)))


def connect(host, port):
    while True:
        try:
            return socket.create_connection((host, port))
        except ConnectionRefusedError:
            time.sleep(0.1)


def exchange(connection, length, reply):
    connection.sendall(HEADER.pack(length, reply) + bytes(length))
    receive(connection, reply)
    count(connection.getpeername()[0], HEADER.size + length, reply)


def groups(words):
    for at in range(0, len(words), 5):
        host, *numbers = words[at : at + 5]
        yield host, *map(int, numbers)


def keep(words):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    kept = [
        (connect(host, port), length, reply)
        for host, port, connections, length, reply in groups(words)
        for _ in range(connections)
    ]
    threads = [threading.Thread(target=exchange, args=one) for one in kept]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    infos = [one[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104) for one in kept]
    rtts = [struct.unpack_from("=I", info, RTT_IN_TCP_INFO)[0] for info in infos]
    report("exchanged", rtts=rtts)
    signal.sigwait([signal.SIGUSR1])
    for connection, length, _ in kept:
        exchange(connection, length, 0)
        connection.close()
    report("closed")


def once(words):
    for host, port, connections, length, reply in groups(words):
        for _ in range(connections):
            with connect(host, port) as connection:
                exchange(connection, length, reply)
    report("exchanged")


match sys.argv[1:]:
    case ["serve", port, exchanges]:
        serve(int(port), int(exchanges))
    case ["ignore", port]:
        listener = listen(int(port))
        ignored = []
        while True:
            ignored.append(listener.accept())
    case ["keep", *words]:
        keep(words)
    case ["once", *words]:
        once(words)
    case _:
        sys.exit(__doc__)
time.sleep(600)
