# What the kernel shows by thread only: context switches, waiting for a processor, and own I/O. T[key][tid]
# holds a thread's counters at the last look; what a thread did after that, before its end, is lost with it.

function sum_threads(key, pid, status, tids, n,    i, tid, folder, text, now) {
  if (n == 1 && !(key in T)) {
    take_thread(C[key], status, "/proc/" pid)
    return
  }
  if (!(key in T)) begin_threads(key, pid)
  for (i = 1; i <= n; i++) {
    tid = tids[i]
    folder = "/proc/" pid "/task/" tid
    text = n == 1 ? status : slurp(folder "/status")
    if (text == "") continue
    now[tid]["vcs"] = 0
    take_thread(now[tid], text, folder)
  }
  add_growth(key, now, T)
}

function take_thread(c, status, folder) {
  c["vcs"] = number_after(status, "voluntary_ctxt_switches")
  c["ics"] = number_after(status, "nonvoluntary_ctxt_switches")
  c["wait"] = read_wait(folder)
}

# Of a process that had one thread until now, which has all that was counted.
function begin_threads(key, pid) {
  T[key][pid]["vcs"] = C[key]["vcs"]
  T[key][pid]["ics"] = C[key]["ics"]
  T[key][pid]["wait"] = C[key]["wait"]
}

# Adds to C[key] what each thread's counters grew by since the last look, and keeps them in last[key].
function add_growth(key, now, last,    tid, field, had) {
  for (tid in now) {
    for (field in now[tid]) {
      had = key in last && tid in last[key] ? last[key][tid][field] : 0
      if (now[tid][field] == "") C[key][field] = ""
      else if (now[tid][field] > had) C[key][field] += now[tid][field] - had
      else C[key][field] += 0
    }
  }
  delete last[key]
  for (tid in now) for (field in now[tid]) last[key][tid][field] = now[tid][field]
}

# The bytes that a process itself read and wrote at the storage layer. The kernel adds those of each child
# that a process waits for to its own (kernel/exit.c, wait_task_zombie): /proc/PID/io blames a launcher for all
# that it launched, while a thread's own file has no children in it.
function sum_io(key, pid, has_children, tids, n,    got, whole, field) {
  got = read_io("/proc/" pid, whole)
  C[key]["is_hidden"] = got < 0
  if (got == 0) return
  if (got < 0) {
    C[key]["rb"] = C[key]["wb"] = C[key]["cwb"] = ""
    return
  }
  for (field in whole) C[key]["whole_" field] = whole[field]
  # Whoever waited for a child has its faults in cminflt: no program runs without one.
  if (has_children) sum_own_io(key, pid, tids, n)
  else for (field in whole) C[key][field] = whole[field]
}

function sum_own_io(key, pid, tids, n,    i, io, now, field, before) {
  for (i = 1; i <= n; i++) {
    if (read_io("/proc/" pid "/task/" tids[i], io) != 1) continue
    for (field in io) now[tids[i]][field] = io[field]
  }
  if (key in IO) {
    add_growth(key, now, IO)
    return
  }
  # The first time: the threads that live have all, but for what threads that are gone were seen to do.
  for (field in io) {
    before[field] = C[key][field] + 0
    C[key][field] = 0
  }
  add_growth(key, now, IO)
  for (field in before) if (before[field] > C[key][field]) C[key][field] = before[field]
}
