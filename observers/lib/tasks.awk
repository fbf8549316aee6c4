# What the kernel shows by thread only: context switches, waiting for a processor, and own I/O. T[key][tid]
# holds a thread's counters at the last look; what a thread did after that, before its end, is lost with it.

# Of a process with the last lines of its status; tids are those of its threads where it has several.
function sum_threads(key, pid, switches, tids, n,    i, tid, folder, now) {
  if (n == 1 && !(key in T)) {
    take_thread(C[key], switches, "/proc/" pid)
    return
  }
  if (!(key in T)) begin_threads(key, pid)
  for (i = 1; i <= n; i++) {
    tid = n == 1 ? pid : tids[i]
    folder = "/proc/" pid "/task/" tid
    if (n > 1 && (switches = read_switches(folder)) == "") continue
    now[tid][VCS] = 0
    take_thread(now[tid], switches, folder)
  }
  add_growth(key, now, T)
}

# Takes a thread's context switches, each a number behind a colon, and what stands beside its status.
function take_thread(c, switches, folder) {
  switches = substr(switches, index(switches, ":") + 1)
  c[VCS] = switches + 0
  c[ICS] = substr(switches, index(switches, ":") + 1) + 0
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
function sum_io(key, pid, tids, n,    text, has_waited) {
  text = slurp("/proc/" pid "/io")
  if (text == "") {
    if (is_hidden() && !C[key][IS_HIDDEN] && !(key in ZOMBIE)) miss_io(key, pid)
    return
  }
  # Whoever waited for a child has its faults in cminflt: no program runs without one.
  has_waited = C[key][CMINFLT] + C[key][CMAJFLT] > 0
  # Among several threads one may be gone, and its id another's, while the sum is the same.
  if (text == IO_TEXT[key] && !(has_waited && n > 1)) return
  IO_TEXT[key] = text
  C[key][MOVED] = 1
  C[key][IS_HIDDEN] = C[key][MISSED] = 0
  parse_io(text)
  C[key][WHOLE_RB] = $10 + 0
  C[key][WHOLE_WB] = $12 + 0
  if (has_waited) sum_own_io(key, pid, tids, n)
  else take_io(C[key])
}

# The io of a process without memory is root's. When it ends, what was read before stays; where only its first thread has
# ended, it is there at the next look, too. Its status is read anew, since it may have ended after that was read.
function miss_io(key, pid) {
  if (C[key][MISSED]++ > 0 || has_memory(pid)) hide_io(key)
}

function hide_io(key) {
  C[key][IS_HIDDEN] = C[key][MOVED] = 1
  C[key][RB] = C[key][WB] = C[key][CWB] = -1
  IO_TEXT[key] = UNREAD
  delete IO[key]
}

# Takes the io that was parsed last.
function take_io(c) {
  c[RB] = $10 + 0
  c[WB] = $12 + 0
  c[CWB] = $14 + 0
}

function sum_own_io(key, pid, tids, n,    i, tid, now, field, before) {
  for (i = 1; i <= n; i++) {
    tid = n == 1 ? pid : tids[i]
    if (!parse_io(slurp("/proc/" pid "/task/" tid "/io"))) continue
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
