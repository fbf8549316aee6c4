# A row for each thread, after its process's, in the sections where threads have counters of their own.

# Appends the rows of the threads that were there at the beginning of the process's interval, or began in it.
function append_thread_rows(key, pid,    tids, n, i, tid, now) {
  n = list_numbers("/proc/" pid "/task", tids)
  for (i = 1; i <= n; i++) {
    tid = tids[i]
    delete now
    if (!read_thread(key, pid, tid, now)) continue
    if (!(key in THREAD_BASE) || !(tid in THREAD_BASE[key])) base_thread(key, tid, now)
    if (NOW - THREAD_BASE[key][tid][AT] >= SHORTEST) {
      append_thread_row(key, pid, tid, now, THREAD_BASE[key][tid])
      keep_counters(now, THREAD_BASE[key][tid])
    }
    THREAD_BASE[key][tid]["mark"] = LOOK
  }
  if (n > 0) for (tid in THREAD_BASE[key]) if (THREAD_BASE[key][tid]["mark"] != LOOK) delete THREAD_BASE[key][tid]
}

function append_thread_row(key, pid, tid, now, base,    head) {
  head = ",{\"time\":" TIME ",\"uid\":" C[key][UID] ",\"tgid\":\"-\",\"tid\":\"" tid "\",\"pid\":" pid ","
  append_shared(head, tail_of(key, "|__" now["comm"]), now, base, NOW - base[AT])
}

function read_thread(key, pid, tid, now,    folder, switches) {
  folder = "/proc/" pid "/task/" tid
  if (!parse_stat(slurp(folder "/stat"))) return 0
  now["comm"] = NAME
  now["start"] = $20 / HERTZ
  take_stat(now)
  now[MEMORY] = C[key][MEMORY]
  switches = read_switches(folder)
  if (switches == "") return 0
  take_thread(now, switches, folder)
  if (parse_io(slurp(folder "/io"))) take_io(now)
  else now[RB] = now[WB] = now[CWB] = -1
  return 1
}

# A thread that began within its process's interval counts from its beginning, another one from now.
function base_thread(key, tid, now) {
  THREAD_BASE[key][tid][AT] = NOW
  if (now["start"] < B[key][AT] - 0.02) keep_counters(now, THREAD_BASE[key][tid])
  else count_from_start(THREAD_BASE[key][tid], now["start"])
}
