# The counters of an observed process, C[key]: what it has used since it started, in the kernel's units
# (clock ticks, bytes, nanoseconds), and what it holds now (KiB). "" is a counter that cannot be read.
# B[key] is what they were at B[key]["at"], where the next row's interval begins.

BEGIN {
  # Those that grow, and of which a row shows the growth.
  GROWING_COUNT = split("mnf cmnf mjf cmjf ut st cut cst gt cgt vcs ics wait rb wb cwb delay", GROWING, " ")
  # All of them. Each is there from the beginning: gawk 5.2 has been seen to corrupt its memory over elements
  # that came to be by being looked at.
  split("mnf cmnf mjf cmjf ut st cut cst gt cgt vcs ics wait rb wb cwb delay whole_rb whole_wb uid vsz rss stk threads cpu prio policy fds may_list is_hidden", ALL, " ")
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
  C[key]["fds"] = count_files(folder "/fd", C[key]["may_list"])
  if (B[key]["at"] == "") rebase(key)
  SHOWN[++SHOWN_COUNT] = key
}

# A process that started since the last look counts from its start; one that was there before, from now.
function enter(key, pid,    started, i) {
  PROCESSES_TOTAL++
  started = start_of(key)
  for (i in ALL) C[key][ALL[i]] = ""
  C[key]["hwm"] = CREDIT[key]["cpu"] = CREDIT[key]["rb"] = CREDIT[key]["wb"] = 0
  C[key]["may_list"] = may_list("/proc/" pid "/fd")
  B[key]["at"] = ""
  if (!LAST_LOOK || started < LAST_LOOK - 0.02) return
  for (i in GROWING) B[key][GROWING[i]] = 0
  B[key]["at"] = started < NOW ? started : NOW
}

# The next interval of a process begins now.
function rebase(key) {
  keep_counters(C[key], B[key])
}

function keep_counters(from, to,    i, field) {
  for (i = 1; i <= GROWING_COUNT; i++) {
    field = GROWING[i]
    to[field] = from[field]
  }
  to["at"] = NOW
}

# Takes the stat that was read last.
function take_stat(c) {
  c["mnf"] = $8 + 0
  c["cmnf"] = $9 + 0
  c["mjf"] = $10 + 0
  c["cmjf"] = $11 + 0
  c["ut"] = $12 + 0
  c["st"] = $13 + 0
  c["cut"] = $14 + 0
  c["cst"] = $15 + 0
  c["threads"] = $18 + 0
  c["cpu"] = $37 + 0
  c["prio"] = $38 + 0
  c["policy"] = $39 + 0
  c["delay"] = HAS_DELAYS ? $40 + 0 : ""
  c["gt"] = $41 + 0
  c["cgt"] = $42 + 0
}

# Takes the status that was read last. A zombie has no memory any more, and its peak stays what it was.
function take_status(c,    hwm) {
  c["uid"] = number_after("Uid:")
  c["vsz"] = number_after("VmSize:")
  c["rss"] = number_after("VmRSS:")
  c["stk"] = number_after("VmStk:")
  hwm = number_after("VmHWM:")
  if (hwm > c["hwm"]) c["hwm"] = hwm
}
