# What the kernel shows by thread only: context switches, waiting for a processor, and own I/O. T[key][tid]
# holds a thread's counters at the last look; what a thread did after that, before its end, is lost with it.

# Of a process whose status was read last; tids are those of its threads where it has several.
function sum_threads(key, pid, tids, n,    i, tid, folder, now) {
  if (n == 1 && !(key in T)) {
    take_thread(C[key], "/proc/" pid)
    return
  }
  if (!(key in T)) begin_threads(key, pid)
  for (i = 1; i <= n; i++) {
    tid = n == 1 ? pid : tids[i]
    folder = "/proc/" pid "/task/" tid
    if (n > 1 && !read_status(folder)) continue
    now[tid][VCS] = 0
    take_thread(now[tid], folder)
  }
  add_growth(key, now, T)
}

# Takes the status that was read last, and what stands beside it.
function take_thread(c, folder) {
  c[VCS] = SWITCHES[2] + 0
  c[ICS] = SWITCHES[4] + 0
  c[WAIT] = read_wait(folder)
}

# Of a process that had one thread until now, which has all that was counted.
function begin_threads(key, pid) {
  T[key][pid][VCS] = C[key][VCS]
  T[key][pid][ICS] = C[key][ICS]
  T[key][pid][WAIT] = C[key][WAIT]
}

# Adds to C[key] what each thread's counters grew by since the last look, and keeps them in last[key]. A thread that
# ended while it was read did what it had done by the last look.
function add_growth(key, now, last,    tid, field, had) {
  for (tid in now) {
    for (field in now[tid]) {
      had = key in last && tid in last[key] ? last[key][tid][field] : 0
      if (now[tid][field] < 0) {
        now[tid][field] = had
        continue
      }
      if (had < 0) had = 0
      if (C[key][field] < 0) C[key][field] = 0
      if (now[tid][field] > had) C[key][field] += now[tid][field] - had
    }
  }
  delete last[key]
  for (tid in now) for (field in now[tid]) last[key][tid][field] = now[tid][field]
}

# The bytes that a process itself read and wrote at the storage layer. The kernel adds those of each child
# that a process waits for to its own (kernel/exit.c, wait_task_zombie): /proc/PID/io blames a launcher for all
# that it launched, while a thread's own file has no children in it.
function sum_io(key, pid, tids, n,    got) {
  got = read_io("/proc/" pid)
  C[key][IS_HIDDEN] = got < 0
  if (got == 0) return
  if (got < 0) {
    C[key][RB] = C[key][WB] = C[key][CWB] = -1
    delete IO[key]
    return
  }
  C[key][WHOLE_RB] = $10 + 0
  C[key][WHOLE_WB] = $12 + 0
  # Whoever waited for a child has its faults in cminflt: no program runs without one.
  if (C[key][CMINFLT] + C[key][CMAJFLT] > 0) sum_own_io(key, pid, tids, n)
  else take_io(C[key])
}

# Takes the io that was read last.
function take_io(c) {
  c[RB] = $10 + 0
  c[WB] = $12 + 0
  c[CWB] = $14 + 0
}

function sum_own_io(key, pid, tids, n,    i, tid, now, field, before) {
  for (i = 1; i <= n; i++) {
    tid = n == 1 ? pid : tids[i]
    if (read_io("/proc/" pid "/task/" tid) != 1) continue
    now[tid][RB] = 0
    take_io(now[tid])
  }
  if (key in IO) {
    add_growth(key, now, IO)
    return
  }
  # The first time: the threads that live have all, but for what threads that are gone were seen to do.
  for (field = RB; field <= CWB; field++) {
    before[field] = C[key][field] < 0 ? 0 : C[key][field]
    C[key][field] = 0
  }
  add_growth(key, now, IO)
  for (field in before) if (before[field] > C[key][field]) C[key][field] = before[field]
}
