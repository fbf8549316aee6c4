# The counters of an observed process, C[key]: what it has used since it started, in the kernel's units
# (clock ticks, bytes, nanoseconds), and what it holds now, in the words of its rows. -1 is a counter that cannot be read.
# B[key] is what they were at B[key][AT], where the next row's interval begins.
#
# Most processes rest most of the time. A file that reads as it did at the last look is not taken again, and while
# C[key][MOVED] is 0 nothing but waiting and context switches has grown since B[key] was kept.

BEGIN {
  # Those that grow, and of which a row shows the growth. Numbers, since gawk finds them sooner than names.
  MINFLT = 1; CMINFLT = 2; MAJFLT = 3; CMAJFLT = 4
  UTIME = 5; STIME = 6; CUTIME = 7; CSTIME = 8; GTIME = 9; CGTIME = 10
  VCS = 11; ICS = 12; WAIT = 13
  RB = 14; WB = 15; CWB = 16; DELAY = 17
  GROWING = 17
  WHOLE_RB = 18; WHOLE_WB = 19
  HWM = 20; UID = 21; THREADS = 22; PROCESSOR = 23; FDS = 24
  IDS = 25; MEMORY = 26; STACK = 27; POLICY = 28
  MAY_LIST = 29; IS_HIDDEN = 30; MISSED = 31; MOVED = 32
  ALL = 32
  AT = 33
  # What no text of a file begins with.
  UNREAD = "\n"
}

# Measures a process of which the stat is taken.
function measure(key, pid,    folder, n, tids, text) {
  folder = "/proc/" pid
  n = C[key][THREADS] > 1 ? list_numbers(folder "/task", tids) : 1
  if (n < 1) n = 1
  text = slurp(folder "/status")
  if (text == "") return
  if (index(text, STATUS_TEXT[key]) != 1) take_status(key, pid, text)
  sum_threads(key, pid, substr(text, length(STATUS_TEXT[key]) + 1), tids, n)
  sum_io(key, pid, tids, n)
  C[key][FDS] = count_files(folder "/fd", C[key][MAY_LIST])
  if (B[key][AT] < 0) rebase(key)
  SHOWN[++SHOWN_COUNT] = key
}

# Takes the stat that was parsed last.
function count(key, pid) {
  if (!(key in C)) enter(key, pid)
  take_stat(C[key])
}

# A process that started since the last look counts from its start; one that was there before, from now.
function enter(key, pid,    started, i) {
  PROCESSES_TOTAL++
  started = START[key] / HERTZ
  # Each is there from the beginning: gawk 5.2 has been seen to corrupt its memory over elements that came to be by
  # being looked at.
  for (i = 1; i <= ALL; i++) C[key][i] = 0
  C[key][WAIT] = C[key][RB] = C[key][WB] = C[key][CWB] = C[key][DELAY] = C[key][FDS] = -1
  STATUS_TEXT[key] = IO_TEXT[key] = UNREAD
  if (!(key in CREDIT)) open_credit(key)
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
  if (C[key][MOVED]) keep_counters(C[key], B[key])
  else keep_restless(C[key], B[key])
  C[key][MOVED] = 0
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
  to[RB] = from[RB]
  to[WB] = from[WB]
  to[CWB] = from[CWB]
  to[DELAY] = from[DELAY]
  keep_restless(from, to)
}

# What grows in a process that rests, too.
function keep_restless(from, to) {
  to[VCS] = from[VCS]
  to[ICS] = from[ICS]
  to[WAIT] = from[WAIT]
  to[AT] = NOW
}

# Takes the stat that was parsed last.
function take_stat(c) {
  c[MOVED] = 1
  c[MINFLT] = $8 + 0
  c[CMINFLT] = $9 + 0
  c[MAJFLT] = $10 + 0
  c[CMAJFLT] = $11 + 0
  c[UTIME] = $12 + 0
  c[STIME] = $13 + 0
  c[CUTIME] = $14 + 0
  c[CSTIME] = $15 + 0
  c[THREADS] = $18
  c[PROCESSOR] = $37
  c[POLICY] = policy_body($38, $39)
  c[DELAY] = HAS_DELAYS ? $40 + 0 : -1
  c[GTIME] = $41 + 0
  c[CGTIME] = $42 + 0
}

# Takes a status, and keeps its text but for the context switches. A zombie has no memory any more, and its peak stays
# what it was.
function take_status(key, pid, text) {
  STATUS_TEXT[key] = substr(text, 1, end_of_status(text) - 1)
  parse_status(STATUS_TEXT[key])
  C[key][UID] = $(AT_UID + 1)
  C[key][IDS] = ids_body(C[key][UID], pid)
  C[key][MEMORY] = HAS_MEMORY ? memory_body($(AT_VSZ + 1), $(AT_RSS + 1)) : NO_MEMORY
  C[key][STACK] = stack_body(HAS_MEMORY ? $(AT_STK + 1) : "null")
  if (HAS_MEMORY && $(AT_HWM + 1) + 0 > C[key][HWM]) C[key][HWM] = $(AT_HWM + 1) + 0
}
