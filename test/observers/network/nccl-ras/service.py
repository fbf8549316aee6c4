"""Stands in for NCCL's RAS service: service.py KIND [ARGUMENT].

It reads lines and answers them as src/ras/client_support.cc of NVIDIA/nccl does, and prints a line
for each status that is requested. The kinds:

  json COUNTS   answers in JSON. COUNTS is a JSON list with an item for each answer, the last one
                for all others: for each rank the calls of AllReduce, or null for a rank without
                data. The ranks are the processes with RANK in their variables.
  text FILE     is older than 2.28.7: does not know the format, and sends the file
  slow COUNTS   like json, in pieces
  silent        does not answer
  endless       sends blanks without an end
  other         is another program
"""

import json
import os
import socket
import sys
import threading
import time

KIND = sys.argv[1]
ARGUMENT = sys.argv[2] if len(sys.argv) > 2 else "[[0]]"
HOST = os.environ.get("SERVICE_HOST", "10.0.0.1")
PORT = int(os.environ.get("SERVICE_PORT", "28028"))
answers = 0


def processes():
    """Returns the process ids by rank."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            continue
        for variable in variables:
            if variable.startswith(b"RANK="):
                found[int(variable[5:])] = int(pid)
    return found


def place(rank, pid):
    return {"rank": rank, "host": HOST, "pid": pid, "cuda_dev": rank, "nvml_dev": rank}


def document(counts):
    """Returns an answer like jsonWriteHeader and the functions after it."""
    pids = processes()
    ranks = []
    missing = []
    for rank, count in enumerate(counts):
        own = place(rank, pids.get(rank, -1))
        if count is None:
            status = {"unresponsive": True, "considered_dead": False}
            missing.append({**own, "status": status})
            continue
        flags = {"finalize_called": False, "destroy_flag": False, "abort_flag": False}
        status = {"init_state": 0, "async_error": 0, **flags}
        calls = {"Broadcast": 1, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0}
        calls = {**calls, "AllReduce": count}
        ranks.append({**own, "status": status, "collective_counts": calls})
    communicator = {
        "hash": "0xae94423cfbb2ef4a",
        "secondary_hash": "0xb7e7187447156001:0xb8242ed28a71381e",
        "size": len(counts),
        "ranks_count": len(ranks),
        "missing_ranks_count": len(missing),
        "ranks": ranks,
        "missing_ranks": missing,
    }
    return {
        "nccl_version": "2.29.1",
        "cuda_runtime_version": 13000,
        "cuda_driver_version": 13000,
        "timestamp": "2025-12-19 13:06:53",
        "communicators_count": 1,
        "communicators": [communicator],
        "ras": {"collection_time_sec": 0.000, "timeouts_count": len(missing)},
    }


def status():
    global answers
    print("asked", flush=True)
    if KIND == "text":
        with open(ARGUMENT, "rb") as file:
            return file.read()
    counts = json.loads(ARGUMENT)
    answers += 1
    return json.dumps(document(counts[min(answers, len(counts)) - 1]), indent=2).encode() + b"\n"


def send(client, data):
    if KIND != "slow":
        client.sendall(data)
        return
    for at in range(0, len(data), 64):
        client.sendall(data[at : at + 64])
        time.sleep(0.05)


def serve(client):
    if KIND == "other":
        client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        client.close()
        return
    for line in client.makefile("rb"):
        command = line.strip().lower()
        if KIND == "silent":
            continue
        if command.startswith(b"client protocol "):
            client.sendall(b"SERVER PROTOCOL 2\n")
        elif command.startswith(b"set format ") and KIND != "text":
            client.sendall(b"OK\n")
        elif command == b"verbose status" and KIND == "endless":
            print("asked", flush=True)
            while True:
                client.sendall(b" " * 65536)
        elif command == b"verbose status":
            send(client, status())
            client.close()
            return
        else:
            client.sendall(b"ERROR: Unknown command " + line)


def run(client):
    try:
        serve(client)
    except OSError:
        pass


listener = socket.create_server(("127.0.0.1", PORT))
print("listening", flush=True)
while True:
    accepted, _ = listener.accept()
    threading.Thread(target=run, args=[accepted], daemon=True).start()
