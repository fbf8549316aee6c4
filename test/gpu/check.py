"""Compares the rows of observers with a real GPU and PyTorch; see check.sh."""

import base64
import datetime
import glob
import gzip
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

import torch

from nvml import Sampling
from pod import Pod

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
METRICS = ["gpu-nvidia", "nccl-ras", "torch-collectives", "torch-trace", "python-profile"]
TOOLS = ["gpu-nvidia", "torch-collectives", "python-profile"]
# How long the program trains.
SECONDS = 40
# The readings of gpu-nvidia are up to a second old, and its rows another one.
WINDOW = 3
# A reading may be outside of those of NVML in its window by this part of the largest of these.
TOLERANCE = 0.02

table = []


def report(metric, comparison, is_good, seen):
    """Adds a line to the table; `is_good` is None for a comparison that was not run."""
    result = {None: "not run", True: "good", False: "BAD"}[is_good]
    table.append((result, metric, comparison, str(seen)))


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


class Log:
    """The log of an observer: JSON Lines between the markers."""

    def __init__(self, path):
        lines = [line for line in read(path).splitlines() if line.startswith("{")]
        self.values = [json.loads(line) for line in lines]
        self.notices = [value["notice"] for value in self.values if "notice" in value]

    def rows(self, section):
        return [value for value in self.values if value.get("section") == section]

    def artifact(self, name):
        """Returns the content of a raw file, whose parts are in the log."""
        parts = [value["artifact"] for value in self.values if "artifact" in value]
        own = sorted((part["part"], part["data"]) for part in parts if part.get("file") == name)
        return gzip.decompress(b"".join(base64.b64decode(data) for _, data in own))


def observe(pod, folder):
    """Starts the observers, and returns when they wait for the program."""
    for metric in METRICS:
        link = os.path.join(folder, metric)
        os.symlink(os.path.join(PROGRAMS, "ridealong-observer"), link)
        results = os.path.join(folder, "results", metric)
        os.makedirs(results)
        settings = {
            "RIDEALONG_TARGET_CONTAINER": "app",
            "RIDEALONG_MODE": "container",
            "RIDEALONG_RESTART_POLICY": "Never",
            "RIDEALONG_RESULTS": results,
            "RIDEALONG_OPTION_RATE": "5" if metric == "nccl-ras" else "1",
            "RIDEALONG_OPTION_STEP": "100",
            "RIDEALONG_OPTION_STEPS": "3",
        }
        pod.run(metric, [link], settings, open(f"{link}.log", "w"))
    end = time.monotonic() + 30
    for metric in METRICS:
        while "waiting for" not in (text := read(os.path.join(folder, f"{metric}.log"))):
            if time.monotonic() > end:
                sys.exit(f"{metric} does not wait for the program:\n{text}")
            time.sleep(0.1)


def train(pod, folder, ranks):
    """Starts the program with the tools, and returns its exit codes."""
    results = os.path.join(folder, "results")
    mounts = [(os.path.join(PROGRAMS, name), f"/opt/ridealong/{name}") for name in TOOLS]
    mounts.append((os.path.join(results, "gpu-nvidia"), "/var/opt/ridealong/gpu-nvidia"))
    libraries = [path for name in TOOLS for path in glob.glob(f"{PROGRAMS}/{name}/*.so")]
    variables = {
        "RIDEALONG_TORCH_FOLDER": "/opt/ridealong/torch-collectives",
        "RIDEALONG_TORCH_RATE": "1",
        "RIDEALONG_PYTHON_FREQUENCY": "100",
        "KINETO_USE_DAEMON": "1",
        "KINETO_IPC_SOCKET_DIR": os.path.join(results, "torch-trace"),
        "KINETO_ONDEMAND_TRACE_DIR": os.path.join(results, "torch-trace"),
        "KINETO_LOG_LEVEL": "4",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(ranks),
        "HOME": folder,
    }
    words = ["env", f"LD_PRELOAD={':'.join(libraries)}", sys.executable]
    words += [os.path.join(HERE, "train.py"), str(SECONDS)]
    programs = []
    for rank in range(ranks):
        own = {**variables, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        log = open(os.path.join(folder, f"app-{rank}.log"), "w")
        programs.append(pod.run("app", words, own, log, mounts))
    return [program.wait(SECONDS + 120) for program in programs]


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def check_gpu(log, readings):
    if readings is None:
        report("gpu-nvidia", "rows and NVML", None, "no GPU")
        return
    rows = log.rows("device")
    listed = ["nvidia-smi", "--query-gpu=uuid,memory.total", "--format=csv,noheader,nounits"]
    text = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    smi = dict(line.split(", ") for line in text.splitlines())
    known = all(row["device"] in smi for row in rows)
    report("gpu-nvidia", "UUIDs of nvidia-smi", bool(rows) and known, f"{len(rows)} rows")
    totals = {row["device"]: round(row["memory_total"] / 2**20) for row in rows}
    same = all(abs(total - float(smi.get(uuid, 0))) < 0.01 * total for uuid, total in totals.items())
    report("gpu-nvidia", "memory_total of nvidia-smi, MiB", bool(rows) and same, totals)
    for name in ["gpu_busy", "memory_used", "power", "energy", "temperature", "clock"]:
        outside = [found for row in rows if (found := find_outside(row, name, readings))]
        seen = f"{len(rows) - len(outside)} of {len(rows)} rows; {outside[:1]}"
        report("gpu-nvidia", f"{name} within NVML's", bool(rows) and not outside, seen)


def find_outside(row, name, readings):
    """Returns a value and the least and the most of NVML's, if it is outside of them."""
    moment = datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp()
    own = readings.get(row["device"], [])
    near = [values[name] for at, values in own if abs(at - moment) <= WINDOW]
    if not near or row[name] is None:
        return (row[name], near)
    slack = TOLERANCE * max(near)
    if min(near) - slack <= row[name] <= max(near) + slack:
        return None
    return (row[name], min(near), max(near))


def check_ras(log, has_gpu, ranks):
    if not has_gpu:
        report("nccl-ras", "the ranks of a communicator", None, "NCCL needs a GPU")
        return
    states = [row["state"] for row in log.rows("service")]
    report("nccl-ras", "the service answers", "answered" in states, states)
    seen = {row["nccl_rank"] for row in log.rows("rank") if row["state"] == "running"}
    report("nccl-ras", "ranks that run", seen == set(range(ranks)), sorted(seen))
    if ranks < 2:
        report("nccl-ras", "a communicator of two GPUs", None, "one GPU")


def check_collectives(log, steps, ranks):
    ended = [row for row in log.rows("process") if row["state"] == "ended"]
    report("torch-collectives", "a row for each process", len(ended) == ranks, len(ended))
    last = max((row["last_number"] or 0 for row in log.rows("group")), default=0)
    report("torch-collectives", "at least a call for each step", last >= steps, f"{last}, {steps}")
    names = sorted({row["operation"] for row in log.rows("collective")})
    has_broadcast = any("broadcast" in name for name in names)
    report("torch-collectives", "broadcasts have rows", has_broadcast, names)


def check_trace(log, has_gpu, ranks):
    rows = [row for row in log.rows("trace") if row["trace"] == "complete"]
    report("torch-trace", "a complete trace for each rank", len(rows) == ranks, len(rows))
    for row in rows:
        events = json.loads(log.artifact(row["file"]))["traceEvents"]
        kinds = {event.get("cat") for event in events}
        report("torch-trace", "operators are in the trace", "cpu_op" in kinds, len(events))
        if has_gpu:
            names = sorted(filter(None, kinds))
            report("torch-trace", "kernels are in the trace", "kernel" in kinds, names)


def check_profile(log):
    ended = [row for row in log.rows("process") if row["state"] == "ended"]
    states = [row["sampler"] for row in ended]
    report("python-profile", "sampling to the end", set(states) == {"sampling"}, states)
    stacks = [row for row in log.rows("stack") if "compute_step (" in row["stack"]]
    sums = [sum(it["wall"] for it in stacks if it["pid"] == row["pid"]) for row in ended]
    is_good = bool(sums) and all(0.5 * SECONDS < wall < 1.2 * SECONDS for wall in sums)
    report("python-profile", f"seconds in the steps, of {SECONDS}", is_good, sums)


def main():
    wants_gpu = "--no-gpu" not in sys.argv
    has_gpu = wants_gpu and torch.cuda.is_available()
    if wants_gpu and not has_gpu:
        sys.exit("PyTorch sees no GPU; --no-gpu runs the parts that need none")
    ranks = min(torch.cuda.device_count(), 2) if has_gpu else 2
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {ranks} ranks", flush=True)
    sampling = Sampling() if has_gpu else None
    with tempfile.TemporaryDirectory(prefix="ridealong-check-") as folder:
        os.chmod(folder, 0o755)
        pod = Pod()
        try:
            if sampling is not None:
                sampling.start()
            observe(pod, folder)
            codes = train(pod, folder, ranks)
            pod.wait(90)
        finally:
            readings = sampling.stop() if sampling is not None else None
            pod.end()
        output = [read(os.path.join(folder, f"app-{rank}.log")) for rank in range(ranks)]
        report("all", "the program ends with 0", not any(codes), codes)
        if any(codes):
            print("\n".join(output))
        steps = 0 if any(codes) else json.loads(output[0].splitlines()[-1])["steps"]
        logs = {metric: Log(os.path.join(folder, f"{metric}.log")) for metric in METRICS}
    check_gpu(logs["gpu-nvidia"], readings)
    check_ras(logs["nccl-ras"], has_gpu, ranks)
    check_collectives(logs["torch-collectives"], steps, ranks)
    check_trace(logs["torch-trace"], has_gpu, ranks)
    check_profile(logs["python-profile"])
    for metric, log in logs.items():
        for notice in log.notices:
            print(f"notice of {metric}: {notice}")
    for result, metric, comparison, seen in table:
        print(f"{result:8} {metric:18} {comparison:32} {seen}")
    sys.exit(any(result == "BAD" for result, *_ in table))


main()
