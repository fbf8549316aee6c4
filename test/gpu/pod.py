"""A simulated pod, as in test/observers/pod.ts, for a machine without Node."""

import os
import shutil
import subprocess
import tempfile
import time

# Imitates the pause container: process 1, and a /dev with the GPUs and a termination log.
PAUSE = """
mkdir "$0/dev" && mount -t tmpfs dev "$0/dev"
for d in /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/nvidia*; do
  [ -c "$d" ] && : >"$0$d" && mount --bind "$d" "$0$d"
done
ln -s /proc/self/fd "$0/dev/fd"
: >"$0/dev/termination-log"
mkdir -m 1777 "$0/dev/shm"
mount --move "$0/dev" /dev
sleep infinity &
: >"$0/ready"
wait"""

# The name that runc gives to a new process until it executes its program.
RUNTIME = "runc:[2:INIT]"
CONTAINER = f"printf %s '{RUNTIME}' >/proc/self/comm && read -r known && exec \"$@\""


def child_of(pid):
    """Returns the first child of a process, when it has one."""
    while True:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
        if children:
            return int(children[0])
        time.sleep(0.005)


def name_of(pid):
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()


class Pod:
    """Containers that share a process namespace. Each has mounts of its own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ridealong-pod-")
        flags = ["--pid", "--fork", "--mount", "--mount-proc", "--kill-child"]
        self.sandbox = subprocess.Popen(["unshare", *flags, "sh", "-c", PAUSE, self.folder])
        while not os.path.exists(os.path.join(self.folder, "ready")):
            time.sleep(0.02)
        self.pause = child_of(self.sandbox.pid)
        self.started = []
        self.made = []

    def run(self, name, words, env=None, log=None, mounts=()):
        """Starts a program in a container. `mounts` are pairs of a folder and its place."""
        target = os.path.join(self.folder, "pods", "8d1e", "containers", name)
        os.makedirs(target, exist_ok=True)
        # The processes of one start of a container have the same file.
        message = os.path.join(target, "0")
        open(message, "a").close()
        enter = ["nsenter", "-t", str(self.pause), "-p", "-m", "unshare", "--mount"]
        process = subprocess.Popen(
            [*enter, "sh", "-c", CONTAINER, "sh", *words],
            env={"PATH": os.environ["PATH"], **(env or {})},
            stdin=subprocess.PIPE,
            stdout=log or subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.started.append(process)
        pid = child_of(process.pid)
        while name_of(pid) != RUNTIME:
            time.sleep(0.005)
        for _, place in mounts:
            self.make(place)
        # As the kubelet does: the path of this mount contains the name of the container.
        for source, place in [(message, "/dev/termination-log"), *mounts]:
            command = ["nsenter", "-t", str(pid), "-m", "mount", "--bind", source, place]
            subprocess.run(command, check=True)
        process.stdin.write(b"known\n")
        process.stdin.close()
        return process

    def make(self, place):
        """Makes a folder to mount at, outside of the namespaces."""
        missing = place
        while not os.path.exists(missing):
            self.made.append(missing)
            missing = os.path.dirname(missing)
        os.makedirs(place, exist_ok=True)

    def wait(self, seconds):
        """Waits until all programs have ended."""
        for process in self.started:
            process.wait(seconds)

    def end(self):
        os.kill(self.pause, 9)
        for process in self.started:
            process.kill()
            process.wait()
        self.sandbox.wait()
        shutil.rmtree(self.folder)
        for place in sorted(self.made, reverse=True):
            os.rmdir(place)
