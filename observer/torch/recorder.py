"""Copies the flight recorder of PyTorch into memory that the observer reads.

PyTorch keeps the last collective operations of each process (TORCH_FR_BUFFER_SIZE, or
TORCH_NCCL_TRACE_BUFFER_SIZE; this value is the user's). A copy takes about 30 ms for 1,000
operations, and no other thread of Python runs meanwhile. So there is one copy at the end of the
process group or of the program, and before that at most one in each minute of the clock: all ranks
make it in the same moment, so that they hold each other up once, and have the same operations.

The memory is a file without a name, as that of preloaded libraries (../preload/memory.h). Its
format is that of crates/observer/src/metrics/torch_collectives/memory.rs. Nothing here may raise an
error in the program, write to its files, or keep it from ending.
"""

import _thread
import atexit
import ctypes
import fcntl
import functools
import json
import os
import platform
import resource
import signal
import struct
import sys
import time

NAME = b"ridealong-torch"
MAGIC = b"RLTOR\0\0\1"
HEADER = 128
SLOT = 4 << 20
SIZE = HEADER + 2 * SLOT
FIRST_NUMBER = 700
MEMFD_CREATE = {"x86_64": 319, "aarch64": 279}
CLOEXEC, ALLOW_SEALING, NOEXEC_SEAL = 1, 2, 8
DUPFD_CLOEXEC, ADD_SEALS, SEALS = 1030, 1033, 7
# The functions of the recorders of Gloo and of NCCL, of which a version may have only one.
FUNCTIONS = ("_dump_fr_trace_json", "_dump_nccl_trace_json")
DISTRIBUTED = "torch.distributed.distributed_c10d"
# The most bytes of each recorder in a copy, and of the process groups; and the most of these, and of
# the generations that ended.
MAX_BYTES = SLOT // 32 * 15
MAX_GROUP_BYTES = SLOT // 32
MAX_GROUPS = 512
MAX_ENDS = 512
DEFAULT_SECONDS = 60
# How long the end of the program or of its groups waits for a copy that another thread makes.
PATIENCE_SECONDS = 2


def make_memory():
    """Returns the number of a new file, which nobody can shorten."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most != resource.RLIM_INFINITY and most < SIZE:
        raise OSError("the limit of the size of files is too low")
    # The function of `os` is missing if Python was built for an old C library.
    call = ctypes.CDLL(None, use_errno=True).syscall
    number = MEMFD_CREATE[platform.machine()]
    flags = CLOEXEC | ALLOW_SEALING
    # Linux before 6.3 does not know the last flag.
    made = call(number, NAME, flags | NOEXEC_SEAL)
    made = made if made >= 0 else call(number, NAME, flags)
    if made < 0:
        raise OSError(ctypes.get_errno(), "memfd_create")
    try:
        file = fcntl.fcntl(made, DUPFD_CLOEXEC, FIRST_NUMBER)
    finally:
        os.close(made)
    os.ftruncate(file, SIZE)
    fcntl.fcntl(file, ADD_SEALS, SEALS)
    return file


def identify(file):
    """Returns what tells a file from another one with its number."""
    facts = os.fstat(file)
    return facts.st_dev, facts.st_ino


def shorten(text):
    """Returns the end of a text that is longer than its place: the latest operations."""
    if len(text) <= MAX_BYTES:
        return text
    at = text.find(b'},{"', len(text) - MAX_BYTES + 64)
    return b'{"entries":[' + text[at + 2 :] if at >= 0 else b"{}"


def read_recorders():
    """Returns the texts of the flight recorders."""
    library = sys.modules["torch._C._distributed_c10d"]
    functions = [getattr(library, name, None) for name in FUNCTIONS]
    made = [each(includeCollectives=True) for each in functions if each is not None]
    return [text if isinstance(text, bytes) else text.encode() for text in made]


def last_id(text):
    """Returns the highest number of a process group in the text of a recorder; -1 if it has none."""
    parts = text.split(b'"pg_id":')[1:]
    numbers = [part.split(b",", 1)[0].split(b"}", 1)[0].strip() for part in parts]
    return max([int(number) for number in numbers if number.isdigit()], default=-1)


def read_seconds():
    """Returns the seconds between two copies."""
    try:
        return max(1, int(os.environ.get("RIDEALONG_TORCH_RATE", "")))
    except ValueError:
        return DEFAULT_SECONDS


def is_last_thread():
    """Whether all threads but this one have ended, the main thread not with the program.

    No file is opened, which would change the numbers of those that the program opens. The links of
    a main thread that has ended are missing (Linux fs/proc/base.c, proc_exe_link), and `task` has a
    link for each thread (proc_task_getattr), of which the main thread remains one.
    """
    try:
        os.readlink("/proc/self/exe")
    except FileNotFoundError:
        try:
            return os.stat("/proc/self/task").st_nlink - 2 <= 2
        except FileNotFoundError:
            pass
    return False


class Recorder:
    """The copies of one process. A forked process begins anew if it makes a process group."""

    def __init__(self):
        self.file = None
        self.seconds = read_seconds()
        self.process = os.getpid()
        self.copies = self.longest = self.whole = 0
        # The process groups by generation and name, in the form of the recorder of NCCL. That of
        # Gloo has no names.
        self.groups = {}
        # Destroying the default process group ends a generation, and all groups with it: PyTorch
        # gives the names of its groups to those of the next one. PyTorch numbers the groups of a
        # process, so the highest number of each recorder at that time tells the generations apart.
        self.generation = 1
        self.ends = []
        # Held while a copy is made.
        self.lock = _thread.allocate_lock()
        # Held until the thread is to end, and until it has ended.
        self.stop = _thread.allocate_lock()
        self.ended = _thread.allocate_lock()
        self.is_current = True

    def follow(self, parent):
        """Begins in a forked process, whose flight recorder has the calls of the parent process."""
        self.generation, self.ends = parent.generation, list(parent.ends)
        if not parent.is_current:
            self.end_generation(read_recorders())

    def end_generation(self, texts):
        self.generation += 1
        self.ends = [*self.ends, [last_id(text) for text in texts]][-MAX_ENDS:]

    def begin(self, rank, size):
        """Begins when the process has its default process group."""
        self.is_current = False
        if self.file is None:
            self.file = make_memory()
            self.identity = identify(self.file)
            self.write_head(rank, size)
            atexit.register(self.finish)
            self.begin_thread()
        else:
            self.write_head(rank, size)

    def write_head(self, rank, size):
        facts = struct.pack("<IIii", self.process, 0, rank, size)
        os.pwrite(self.file, facts, len(MAGIC))
        # The observer reads the memory from now on.
        os.pwrite(self.file, MAGIC, 0)

    def begin_thread(self):
        """Begins a thread that gets no signal, and that `threading` does not know."""
        self.stop.acquire()
        self.ended.acquire()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(self.run, ())
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def run(self):
        try:
            while self.wait():
                self.copy()
        except Exception:
            pass
        self.ended.release()

    def wait(self):
        """Waits until a copy is due. Returns whether the thread goes on.

        A thread keeps its process alive, so it ends when no other one is left.
        """
        due = time.monotonic() + self.next_pause()
        while time.monotonic() < due:
            left = max(0, due - time.monotonic())
            if self.stop.acquire(timeout=min(left, 1)) or is_last_thread():
                return False
        return True

    def next_pause(self):
        """Returns the seconds until the clock has a multiple of the seconds between copies."""
        left = self.seconds - time.time() % self.seconds
        return left if left > self.seconds / 20 else left + self.seconds

    def copy(self, is_end=False):
        """Copies the recorder into the older of two places, and then names it the newer one."""
        # A recorder may not answer, and the program does not wait for it.
        if not self.lock.acquire(timeout=PATIENCE_SECONDS):
            return
        try:
            began = time.perf_counter_ns()
            made = read_recorders()
            took = time.perf_counter_ns() - began
            text = b"\n".join([self.describe_groups(), *[shorten(each) for each in made]])
            if is_end:
                self.end_generation(made)
                self.is_current = True
            if self.process != os.getpid() or identify(self.file) != self.identity:
                return
            at = HEADER + self.copies % 2 * SLOT
            for start in range(0, len(text), 1 << 18):
                os.pwrite(self.file, text[start : start + (1 << 18)], at + start)
            self.copies += 1
            self.longest = max(self.longest, took)
            self.whole += took
            facts = (self.copies, len(text), self.longest, self.whole)
            os.pwrite(self.file, struct.pack("<4Q", *facts), 32)
        finally:
            self.lock.release()

    def describe_groups(self):
        """Returns the process groups until now, also those that were destroyed since a copy."""
        world = sys.modules[DISTRIBUTED]._world
        # PyTorch still knows the groups of a generation for a moment after its last copy.
        names = {} if self.is_current else world.pg_names
        for group, name in list(names.items())[:MAX_GROUPS]:
            ranks = sorted(world.pg_group_ranks.get(group, ()))
            about = {"name": name, "desc": group.group_desc, "ranks": str(ranks)}
            key = f"{self.generation} {name}"
            if len(self.groups) == MAX_GROUPS and key not in self.groups:
                del self.groups[next(iter(self.groups))]
            self.groups[key] = {**about, "generation": self.generation}
        generations = {"generation": self.generation, "ends": self.ends}
        text = json.dumps({"pg_config": self.groups, **generations}).encode()
        return text if len(text) <= MAX_GROUP_BYTES else json.dumps(generations).encode()

    def copy_last(self):
        """Copies what the process has done since the last copy, at the end of its groups."""
        if self.process == os.getpid() and self.file is not None and not self.is_current:
            self.copy(is_end=True)

    def finish(self):
        """Ends the thread, and makes the last copy."""
        try:
            if self.process != os.getpid():
                return
            self.stop.release()
            self.ended.acquire(timeout=1)
            self.copy_last()
        except Exception:
            pass

    def close(self):
        """Closes the file of the parent process, unless the program has closed it."""
        try:
            if self.file is not None and identify(self.file) == self.identity:
                os.close(self.file)
        except OSError:
            pass


recorder = Recorder()


def change(group):
    """Takes the new default process group, or None if it is about to be destroyed."""
    global recorder
    if recorder.process != os.getpid():
        recorder.close()
        parent, recorder = recorder, Recorder()
        recorder.follow(parent)
    if group is None:
        recorder.copy_last()
    else:
        recorder.begin(group.rank(), group.size())


def attach(module):
    """Learns from now on when the program makes or destroys its default process group."""
    original = module._update_default_pg

    @functools.wraps(original)
    def _update_default_pg(pg, *arguments, **keywords):
        if pg is None:
            notice(pg)
        result = original(pg, *arguments, **keywords)
        if pg is not None:
            notice(pg)
        return result

    module._update_default_pg = _update_default_pg


def notice(group):
    try:
        change(group)
    except Exception:
        # The program runs without the tool.
        pass
