# The counters of an observed process, C[key]: what it has used since it started, in the kernel's units
# (clock ticks, bytes, nanoseconds), and what it holds now (KiB). -1 is a counter that cannot be read.
# B[key] is what they were at B[key][AT], where the next row's interval begins.

BEGIN {
  # Those that grow, and of which a row shows the growth. Numbers, since gawk finds them sooner than names.
  MINFLT = 1; CMINFLT = 2; MAJFLT = 3; CMAJFLT = 4
  UTIME = 5; STIME = 6; CUTIME = 7; CSTIME = 8; GTIME = 9; CGTIME = 10
  VCS = 11; ICS = 12; WAIT = 13
  RB = 14; WB = 15; CWB = 16; DELAY = 17
  GROWING = 17
  WHOLE_RB = 18; WHOLE_WB = 19
  VSZ = 20; RSS = 21; HWM = 22; STK = 23
  UID = 24; THREADS = 25; PROCESSOR = 26; PRIO = 27; POLICY = 28
  FDS = 29; MAY_LIST = 30; IS_HIDDEN = 31
  ALL = 31
  AT = 32
}

# Measures a process of which the stat was read last.
function measure(key, pid,    folder, n, tids) {
  folder = "/proc/" pid
  n = $18 > 1 ? list_numbers(folder "/task", tids) : 1
  if (n < 1) n = 1
  if (!(key in C)) enter(key, pid)
  PARENT[key] = $2 in KEY ? KEY[$2] : ""
  take_stat(C[key])
  if (!read_status(folder)) return
  take_status(C[key])
  sum_threads(key, pid, tids, n)
  sum_io(key, pid, tids, n)
  C[key][FDS] = count_files(folder "/fd", C[key][MAY_LIST])
  if (B[key][AT] < 0) rebase(key)
  SHOWN[++SHOWN_COUNT] = key
}

# A process that started since the last look counts from its start; one that was there before, from now.
function enter(key, pid,    started, i) {
  PROCESSES_TOTAL++
  started = start_of(key)
  # Each is there from the beginning: gawk 5.2 has been seen to corrupt its memory over elements that came to be by
  # being looked at.
  for (i = 1; i <= ALL; i++) C[key][i] = 0
  C[key][WAIT] = C[key][RB] = C[key][WB] = C[key][CWB] = C[key][DELAY] = C[key][RSS] = C[key][STK] = C[key][FDS] = -1
  CREDIT[key]["cpu"] = CREDIT[key]["rb"] = CREDIT[key]["wb"] = 0
  C[key][MAY_LIST] = may_list("/proc/" pid "/fd")
  B[key][AT] = -1
  if (!LAST_LOOK || started < LAST_LOOK - 0.02) return
  count_from_start(B[key], started)
}

# Where all that a process or a thread has used belongs to its first interval.
function count_from_start(base, started,    i) {
  for (i = 1; i <= GROWING; i++) base[i] = 0
  base[AT] = started < NOW ? started : NOW
}

# The next interval of a process begins now.
function rebase(key) {
  keep_counters(C[key], B[key])
}

# A loop over them takes gawk twice as long.
function keep_counters(from, to) {
  to[MINFLT] = from[MINFLT]
  to[CMINFLT] = from[CMINFLT]
  to[MAJFLT] = from[MAJFLT]
  to[CMAJFLT] = from[CMAJFLT]
  to[UTIME] = from[UTIME]
  to[STIME] = from[STIME]
  to[CUTIME] = from[CUTIME]
  to[CSTIME] = from[CSTIME]
  to[GTIME] = from[GTIME]
  to[CGTIME] = from[CGTIME]
  to[VCS] = from[VCS]
  to[ICS] = from[ICS]
  to[WAIT] = from[WAIT]
  to[RB] = from[RB]
  to[WB] = from[WB]
  to[CWB] = from[CWB]
  to[DELAY] = from[DELAY]
  to[AT] = NOW
}

# Takes the stat that was read last.
function take_stat(c) {
  c[MINFLT] = $8 + 0
  c[CMINFLT] = $9 + 0
  c[MAJFLT] = $10 + 0
  c[CMAJFLT] = $11 + 0
  c[UTIME] = $12 + 0
  c[STIME] = $13 + 0
  c[CUTIME] = $14 + 0
  c[CSTIME] = $15 + 0
  c[THREADS] = $18 + 0
  c[PROCESSOR] = $37 + 0
  c[PRIO] = $38 + 0
  c[POLICY] = $39 + 0
  c[DELAY] = HAS_DELAYS ? $40 + 0 : -1
  c[GTIME] = $41 + 0
  c[CGTIME] = $42 + 0
}

# Takes the status that was read last. A zombie has no memory any more, and its peak stays what it was.
function take_status(c) {
  c[UID] = $(AT_UID + 1) + 0
  c[VSZ] = HAS_MEMORY ? $(AT_VSZ + 1) + 0 : -1
  c[RSS] = HAS_MEMORY ? $(AT_RSS + 1) + 0 : -1
  c[STK] = HAS_MEMORY ? $(AT_STK + 1) + 0 : -1
  if (HAS_MEMORY && $(AT_HWM + 1) + 0 > c[HWM]) c[HWM] = $(AT_HWM + 1) + 0
}
