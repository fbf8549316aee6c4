"""Imitates a training process with the parts of libkineto that ask a daemon for a configuration.

Speaks the protocol of PyTorch 2.15.0, as it was recorded. Each step takes STEP_SECONDS. Prints the
number of steps and the number of answers. Arguments: the number of steps, and an optional word:
kill (the process ends while it writes its trace), or none (it makes no steps, only time passes).
"""

import os
import socket
import struct
import sys
import time
import uuid

STEP_SECONDS = 0.01
POLL_SECONDS = 0.1  # libkineto: 5
FOLDER = os.environ["KINETO_IPC_SOCKET_DIR"]
ALLOWED = os.environ["KINETO_ONDEMAND_TRACE_DIR"]
EVENT = '{"ph": "X", "cat": "cpu_op", "name": "step %d", "pid": 1, "tid": 1, "ts": %d, "dur": 9}'


class Client:
    """Asks for a configuration, as ConfigLoader.cpp and IpcFabricConfigClient.cpp do."""

    def __init__(self):
        self.answers = 0
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = f"{FOLDER}/dynoconfigclient{uuid.uuid4()}"
        self.socket.bind(path)
        os.chmod(path, 0o666)
        self.socket.settimeout(0.09)

    def ask(self, can_record):
        pids = [os.getpid(), os.getppid()]
        body = struct.pack("=iiq2i", 2 if can_record else 0, len(pids), 0, *pids)
        request = struct.pack("=Q32s", len(body), b"req") + body
        try:
            self.socket.sendto(request, f"{FOLDER}/dynolog")
            datagram, sender = self.socket.recvfrom(65536)
        except (socket.timeout, FileNotFoundError, ConnectionRefusedError):
            return {}
        # Older versions of PyTorch end if the answer comes from elsewhere (Endpoint.h, getName).
        if not sender.startswith(FOLDER + "/"):
            sys.exit(f"an answer from {sender}")
        size, kind = struct.unpack_from("=Q32s", datagram)
        if kind.rstrip(b"\0") != b"req" or size != len(datagram) - 40:
            sys.exit(f"the answer {datagram!r}")
        self.answers += 1
        lines = datagram[40:].decode().splitlines()
        return dict(line.split("=", 1) for line in lines)


class Profiler:
    """Records steps, as AsyncActivityProfilerHandler.cpp does."""

    def __init__(self):
        self.config = None
        self.events = None

    def accept(self, config, step):
        path = config.get("ACTIVITIES_LOG_FILE", "")
        has_no_step = step == 0 and int(config.get("ACTIVITIES_DURATION_MSECS", 0)) == 0
        if path == "" or has_no_step or self.config is not None or self.events is not None:
            return
        if not path.startswith(ALLOWED + "/"):
            sys.exit(f"a trace cannot be written to {path}")
        self.config = config
        self.start = int(config["PROFILE_START_ITERATION"])
        if step > self.start:
            multiple = int(config["PROFILE_START_ITERATION_ROUNDUP"])
            self.start = -(-step // multiple) * multiple

    def step(self, number):
        """Returns the path of a trace that is complete now."""
        if self.config is None or number < self.start:
            return None
        path = self.config["ACTIVITIES_LOG_FILE"]
        if self.events is None:
            self.events = open(path + ".tmp", "w")
            self.events.write(' {\n    "schemaVersion": 1,\n  "traceEvents": [\n  ')
        self.events.write(EVENT % (number, number))
        self.events.flush()
        if number + 1 < self.start + int(self.config["ACTIVITIES_ITERATIONS"]):
            self.events.write(",\n  ")
            return None
        self.events.write('\n  ],"traceName": "%s" }' % path)
        self.events.close()
        self.config = self.events = None
        return path


def main():
    count = int(sys.argv[1])
    ending = sys.argv[2] if len(sys.argv) > 2 else ""
    client, profiler = Client(), Profiler()
    step, due = 0, time.monotonic()
    for _ in range(count):
        time.sleep(STEP_SECONDS)
        if ending != "none":
            step += 1
        if time.monotonic() >= due:
            due = time.monotonic() + POLL_SECONDS
            profiler.accept(client.ask(profiler.events is None), step)
        if step > 0:
            path = profiler.step(step)
            if path is not None:
                os.rename(path + ".tmp", path)
        if ending == "kill" and profiler.events is not None:
            os.kill(os.getpid(), 9)
    print(f"steps {step} answers {client.answers}")


main()
